"""Column types: numbers with malformed cells, dates, text, identifiers, constant columns, and
user-specified types."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from ldlearn import DLDL, VoteLDL
from ldlearn.exceptions import ModelFileError, TableError
from ldlearn.tables import (
    ColumnOptions,
    ReadingOptions,
    TableModel,
    describe_model,
    export_onnx,
    fit_enhance_table,
    fit_table,
    load_model,
    predict_table,
    save_model,
)
from ldlearn.tables.column_types import (
    CellReport,
    find_column_types,
    find_datetime_format,
    split_datetimes,
)
from ldlearn.tables.files import Dialect
from ldlearn.tables.labelled_table import read_labelled
from ldlearn.tables.values import read_numbers

N = 120
QUICK = DLDL(beta=10.0, gamma=1.0)  # selecting beta and gamma takes most of the time
WORDS = "the food was very good but service slow we came late and left soon".split()  # noqa: SIM905


def column(cells) -> pd.Series:
    return pd.Series(list(cells), dtype=object)


def with_columns(**columns) -> pd.DataFrame:
    return make_table(N).drop(columns="key").assign(**columns).astype(object)


def sample_texts(seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 9)) for _ in range(N)]


def sample_dates(date_format: str = "%Y-%m-%d", seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        d.strftime(date_format)
        for d in pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 600, N), "D")
    ]


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1,234.5", 1234.5),
        ("1,234,567", 1234567),
        ("12%", 0.12),
        ("12.5 %", 0.125),
        ("$1,000", 1000),
        ("5.50 €", 5.5),
        ("(1,200.00)", -1200),
        ("-$3", -3),
        ("−7", -7),
        ("1'234", 1234),
        ("1\u202f234.5", 1234.5),
        (" 4 ", 4),
        ("EUR 3", 3),
        ("1 234,5", 1234.5),
        ("1.234,56 €", 1234.56),
        ("12,5", 12.5),
        ("0,126", 0.126),
        ("1,2345", 1.2345),
    ],
)
def test_decorated_numbers_are_parsed(cell, number):
    numbers, malformed, *_ = read_numbers(column([cell, "2"]))
    assert numbers.tolist() == [number, 2]
    assert not malformed.any()


@pytest.mark.parametrize(
    "cell",
    [
        "1,23",
        "0,126",
        "-0,536",
        "1,2345",
        "1.234,5",
        "12,34.5",
        "a",
        "1 2",
        "3 apples",
        "1-2",
        "$",
        "%",
        "()",
        True,
        "12)",
    ],
)
def test_malformed_cells_beside_decimal_points_are_missing(cell):
    numbers, malformed, *_ = read_numbers(column([cell, "2.5"]))
    assert np.isnan(numbers[0])
    assert malformed.tolist() == [True, False]


def test_commas_have_one_meaning_per_column():
    assert read_numbers(column(["1,234", "-0,5", "7", "1'000"]))[0].tolist() == [
        1.234,
        -0.5,
        7,
        1000,
    ]
    assert read_numbers(column(["1,234", "-0,5", "7.5"]))[1].tolist() == [True, True, False]
    assert read_numbers(column(["1,234,567", "12,5"]))[1].tolist() == [False, True]
    assert read_numbers(column(["1,234", "5,678"]))[0].tolist() == [1234, 5678]


def test_minority_units_are_malformed():
    numbers, malformed, *_ = read_numbers(column(["12 kg", "3 kg", "30 lb", "5", "7 kg"]))
    assert malformed.tolist() == [False, False, True, False, False]
    assert numbers[~malformed].tolist() == [12, 3, 5, 7]
    assert read_numbers(column(["12 kg", "3 kg", "30 lb", "40 lb"]))[1].all()


def test_percentages_are_not_a_row_counter():
    table = with_columns(share=[f"{i}%" for i in range(N)])
    assert find_column_types(table, ["share"], {}, CellReport()).columns == {"share": "numeric"}


@pytest.mark.parametrize(
    "cells",
    [
        ["12,5", "3,25", "7,0"],
        ["15%", "$3.50", "1 234.5", "(12)"],
        ["(12)", "3.5", "40"],
        ["1,234", "2,345"],
    ],
)
def test_columns_of_decorated_numbers_are_numeric(cells):
    table = with_columns(amount=[cells[i % len(cells)] for i in range(N)])
    assert find_column_types(table, ["amount"], {}, CellReport()).columns == {"amount": "numeric"}


def test_cells_with_mixed_currencies_are_malformed():
    assert read_numbers(column(["$5", "6 USD", "7"]))[0].tolist() == [5, 6, 7]
    assert read_numbers(column(["$5", "€5", "7"]))[1].tolist() == [True, True, False]


@given(st.floats(-1e12, 1e12))
def test_thousands_separators_do_not_change_values(number):
    numbers, malformed, *_ = read_numbers(column([f"{number:,.3f}"]))
    assert not malformed.any()
    assert numbers[0] == float(f"{number:.3f}")


@pytest.mark.parametrize("word", ["?", "-", "n/a", "N.A.", "unknown", "#DIV/0!", "moist"])
def test_few_malformed_cells_are_missing_values(word):
    table = with_columns()
    table.loc[[3, 40], "height"] = word
    model = fit_table(table, LABELS, method=QUICK)
    assert model.numeric == ("height", "wet")
    assert model.facts["missing"]["height"] == 2
    (message,) = [text for text in model.facts["warnings"] if "'height'" in text]
    for term in ("2 cells", "missing", f"row 3 {word!r}", f"row 40 {word!r}"):
        assert term in message
    clean = table.copy()
    clean.loc[[3, 40], "height"] = None
    same = TableModel.fit(clean, LABELS, estimator=QUICK)
    np.testing.assert_array_equal(model.predict(table, CellReport()), same.predict(clean))


def test_column_with_many_texts_is_categorical():
    table = with_columns(size=["large" if i % 4 == 0 else str(i % 3) for i in range(N)])
    assert "size" in TableModel.fit(table, LABELS, estimator=QUICK).categorical
    assert (
        "size"
        in TableModel.fit(
            table, LABELS, estimator=QUICK, columns=ColumnOptions(numeric=["size"])
        ).numeric
    )


def test_malformed_cells_of_new_rows_trigger_a_warning():
    model = TableModel.fit(with_columns(), LABELS, estimator=QUICK)
    new = with_columns()
    new.loc[[1, 2, 5, 8], "wet"] = "?"
    with pytest.warns(
        UserWarning,
        match="'wet': 4 cells count as missing: row 1 .*, row 2 .*, row 5 .* and 1 more",
    ):
        found = model.predict(new)
    new["wet"] = new["wet"].where(new["wet"] != "?", None)
    np.testing.assert_array_equal(found, model.predict(new))


@pytest.mark.parametrize(
    "date_format",
    [
        "%Y-%m-%d",
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%d.%m.%Y",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%d %b %Y",
        "%B %d, %Y",
        "%d-%b-%Y",
        "%d.%m.%y",
    ],
)
def test_dates_become_year_month_weekday_and_days(date_format):
    iso, local = column(sample_dates()), column(sample_dates(date_format))
    assert find_datetime_format(local, "when") == (
        "%Y-%m-%d" if date_format.startswith("%Y") else date_format
    )
    parts, malformed = split_datetimes(local, date_format)
    when = pd.to_datetime(iso)
    assert not malformed.any()
    assert list(parts) == ["year", "month", "weekday", "days"]
    np.testing.assert_array_equal(parts["year"], when.dt.year)
    np.testing.assert_array_equal(parts["month"], when.dt.month)
    np.testing.assert_array_equal(parts["weekday"], when.dt.day_of_week)
    np.testing.assert_array_equal(parts["days"] - parts["days"].min(), (when - when.min()).dt.days)


@pytest.mark.parametrize(
    "cell",
    [
        "2024-05-06T15:30:00",
        "2024-05-06 15:30",
        "2024-05-06 3:30 pm",
        "2024-05-06T17:30:00+02:00",
        "2024-05-06 15:30:00Z",
    ],
)
def test_times_give_hours_and_fractional_days(cell):
    date_format = find_datetime_format(column([cell]), "when")
    parts = split_datetimes(column([cell, None]), date_format)[0]
    assert parts["hour"][0] == pytest.approx(15.5)
    assert parts["days"][0] == pytest.approx(
        (pd.Timestamp("2024-05-06 15:30") - pd.Timestamp(0)) / pd.Timedelta("1D")
    )
    assert np.isnan(parts["days"][1])


def test_ambiguous_day_month_order_is_rejected():
    table = with_columns(when=[f"{i % 12 + 1:02d}/{i % 11 + 1:02d}/2024" for i in range(N)])
    with pytest.raises(
        TableError, match="column 'when': its dates may begin with the day or with the month"
    ):
        TableModel.fit(table, LABELS, estimator=QUICK)
    explicit = TableModel.fit(
        table, LABELS, estimator=QUICK, columns=ColumnOptions(datetime={"when": "%d/%m/%Y"})
    )
    assert explicit.types.formats == {"when": "%d/%m/%Y"}
    assert (
        "when"
        not in TableModel.fit(
            table, LABELS, estimator=QUICK, columns=ColumnOptions(ignore=["when"])
        ).features
    )


def test_ambiguous_dates_in_other_formats_than_in_training_are_rejected():
    model = TableModel.fit(with_columns(when=sample_dates("%d.%m.%Y")), LABELS, estimator=QUICK)
    with pytest.raises(
        TableError,
        match=r"column 'when': .* \('\d\d/\d\d/\d{4}'\); dates were written as 31.03.2024 in "
        r"training",
    ):
        model.predict(with_columns(when=sample_dates("%m/%d/%Y")))
    iso = model.predict(with_columns(when=sample_dates()))
    np.testing.assert_array_equal(iso, model.predict(with_columns(when=sample_dates("%d.%m.%Y"))))
    assert split_datetimes(column(["13.05.2024"]), "%m.%d.%Y")[
        1
    ].all()  # the format is given by the user


def test_dates_outside_the_nanosecond_range():
    old = pd.Series(np.array(["1500-01-01", "1500-01-02T06:00"], dtype="datetime64[us]"))
    assert np.diff(split_datetimes(old, find_datetime_format(old, "when"))[0]["days"]).tolist() == [
        1.25
    ]
    parts, malformed = split_datetimes(column(["1500-01-01", "2024-01-02T06:00"]), "%Y-%m-%d %H:%M")
    assert np.isnan(parts["days"]).tolist() == malformed.tolist()


def test_unseen_categories_are_reported_and_surrounding_spaces_ignored():
    model = TableModel.fit(with_columns(), LABELS, estimator=QUICK)
    new = with_columns()
    plain = model.predict(new)
    np.testing.assert_array_equal(model.predict(new.assign(place=" " + new["place"] + " ")), plain)
    new.loc[[2, 5], "place"] = "moon"
    cell_report = CellReport()
    model.predict(new, cell_report)
    (message,) = cell_report.messages()
    for term in ("'place'", "2 cells", "not seen in training", "row 2 'moon'", "row 5 'moon'"):
        assert term in message
    model.predict(new)  # no warning for so few
    with pytest.warns(UserWarning, match="Column 'place': 120 cells count as a category not seen"):
        model.predict(new.assign(place="moon"))


@pytest.mark.parametrize("checked_value", ["x", 1.0, True])
def test_check_box_columns_have_two_values(tmp_path, checked_value):
    table = with_columns(agreed=[checked_value if i % 3 else None for i in range(N)])
    model = TableModel.fit(table, LABELS, estimator=QUICK)
    assert "agreed" in model.categorical
    X = np.asarray(model.transform(table))[
        :, [name.startswith("agreed_") for name in model.preprocessing.feature_names()]
    ]
    assert X.sum(axis=1).tolist() == [1.0] * N
    assert len(np.unique(X[[i for i in range(N) if i % 3 == 0]], axis=0)) == 1
    assert not (X[0] == X[1]).any()
    always = with_columns(agreed=checked_value)
    assert "agreed" not in TableModel.fit(always, LABELS, estimator=QUICK).features


def test_dates_texts_and_constant_columns_together(tmp_path):
    table = with_columns(when=sample_dates(), comment=sample_texts(), flat="x", empty=None)
    table.loc[7, "when"] = "soon"
    model = fit_table(table, LABELS, method=QUICK)
    assert {name: kind.partition(":")[0] for name, kind in model.facts["columns"].items()} == {
        "height": "numeric",
        "wet": "numeric",
        "place": "categorical",
        "when": "datetime (%Y-%m-%d)",
        "comment": "text",
        "flat": "left out",
        "empty": "left out",
    }
    assert any(
        "'when'" in message and "row 7 'soon'" in message for message in model.facts["warnings"]
    )
    assert not {"flat", "empty"} & set(model.features)
    strongest = [
        name for found in describe_model(model)["strongest_features"].values() for name, _ in found
    ]
    assert any(name.startswith("comment: ") for name in strongest)
    save_model(model, tmp_path / "m.ldl")
    again = load_model(tmp_path / "m.ldl")
    new = table.drop(columns=["flat", "empty"])
    np.testing.assert_array_equal(
        again.predict(new, CellReport()), model.predict(new, CellReport())
    )
    assert (again.types, again.facts) == (model.types, model.facts)
    with pytest.raises(ModelFileError, match="dates and texts such as 'when' cannot be exported"):
        export_onnx(model, tmp_path / "m.onnx")


def test_datetime_columns_of_data_frames():
    table = with_columns()
    table["when"] = pd.to_datetime(sample_dates())
    native = TableModel.fit(table, LABELS, estimator=QUICK)
    texts = TableModel.fit(with_columns(when=sample_dates()), LABELS, estimator=QUICK)
    np.testing.assert_allclose(
        native.predict(table), texts.predict(with_columns(when=sample_dates())), atol=1e-12
    )


@pytest.mark.parametrize("n", [15, 60, 1500])
def test_identifiers_are_rejected_at_any_number_of_rows(n):
    table = make_table(n)
    with pytest.raises(
        TableError,
        match=f"column 'key': {n:,} different texts in {n:,} rows, such as 'r0', look like",
    ):
        TableModel.fit(table, LABELS, estimator=QUICK)
    for option, expected in (("ignore", ()), ("text", ("key",))):
        columns = ColumnOptions(**{option: ["key"]})
        labelled = read_labelled(table, LABELS, columns, ReadingOptions())
        model, *_ = TableModel.learn_columns(labelled, QUICK)  # without the slow fit on 1,500 words
        assert model.features == ("height", "wet", "place", *expected)


def long_numbers(low: float, high: float, step: int = 1) -> list[int]:
    return [int(x) // step * step for x in np.random.default_rng(3).uniform(low, high, N)]


def test_long_repeated_texts_are_categorical():
    answers = [
        "I strongly agree with the statement above",
        "I do not agree with the statement at all",
    ]
    table = with_columns(answer=[answers[i % 2] for i in range(N)])
    assert TableModel.fit(table, LABELS, estimator=QUICK).categorical == ("place", "answer")


def test_scripts_without_spaces_are_text():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("今日天気良店員親切料理遅味悪"), 12)) for _ in range(N)]
    model = TableModel.fit(with_columns(comment=texts), LABELS, estimator=QUICK)
    assert model.types.select("text") == ("comment",)


def test_informative_word_has_the_largest_coefficient():
    comment = column(sample_texts(1))
    table = with_columns(comment=comment)
    table["sea"] = comment.str.contains("slow").astype(int)
    table.loc[(table[LABELS] == 0).all(axis=1), "sky"] = 1
    model = TableModel.fit(
        table, LABELS, estimator=QUICK, columns=ColumnOptions(features=["comment"])
    )
    assert describe_model(model)["strongest_features"]["sea"][0][0] == "comment: slow"


def test_custom_embedding():
    table = with_columns(comment=sample_texts())
    hashed = TableModel.fit(
        table, LABELS, estimator=QUICK, embedding=HashingVectorizer(n_features=16)
    )
    assert hashed.transform(table).shape[1] == 2 + 3 + 16
    piped = TableModel.fit(
        table, LABELS, estimator=QUICK, embedding=make_pipeline(TfidfVectorizer(max_features=5))
    )
    assert piped.transform(table).shape[1] == 2 + 3 + 5


def test_unnamed_embedding_cannot_be_saved(tmp_path):
    model = TableModel.fit(
        with_columns(comment=sample_texts()), LABELS, embedding=HashingVectorizer(n_features=4)
    )
    with pytest.raises(ModelFileError, match="HashingVectorizer"):
        save_model(model, tmp_path / "m.ldl")


def test_only_constant_columns_is_an_error():
    with pytest.raises(
        TableError,
        match=r"no column is left for the features \(the same value in every row: 'flat'",
    ):
        TableModel.fit(
            make_table(20).assign(flat=1),
            LABELS,
            estimator=QUICK,
            columns=ColumnOptions(features=["flat"]),
        )


def fit_and_predict(cells, decimal: str):
    """Fit and predict column `a` from files: the model, its messages and the predicted degrees."""
    with_columns(a=cells).infer_objects().to_csv("data.csv", index=False, sep=";", decimal=decimal)
    reading = ReadingOptions(dialect=Dialect(";", decimal), on_message=lambda _: None)
    given = {"beta": 10.0, "gamma": 1.0}
    model = fit_table("data.csv", LABELS, method="DLDL", params=given, holdout=0, reading=reading)
    written = predict_table("data.csv", model, "out.csv", reading=reading)
    return model, [*model.facts["warnings"], *written.messages], pd.read_csv("out.csv")[LABELS]


def test_explicit_decimal_mark_is_the_only_one(tmp_path, monkeypatch):
    """Cells with the other mark are text, in training and in new rows: categories or
    identifiers."""
    monkeypatch.chdir(tmp_path)
    decimal, other = ".", ","
    few = [f"{i % 4}{other}5" for i in range(N)]
    model, messages, degrees = fit_and_predict(few, decimal)
    assert "a" in model.categorical
    assert model.preprocessing.categories["a"] == sorted(set(few))
    assert not [text for text in messages if "'a'" in text]  # no unseen category
    np.testing.assert_allclose(
        degrees, fit_and_predict([f"s{cell}" for cell in few], decimal)[2], atol=1e-6
    )
    with pytest.raises(TableError, match=rf"such as '0\{other}5', look like an identifier"):
        fit_and_predict([f"{i}{other}5" for i in range(N)], decimal)
    model, messages, _ = fit_and_predict([f"{i % 4}{decimal}5" for i in range(N)], decimal)
    assert "a" in model.numeric
    with_columns(a=few).infer_objects().to_csv("new.csv", index=False, sep=";", decimal=decimal)
    with pytest.raises(TableError, match="120 of 120 values do not have the type of the column"):
        predict_table(
            "new.csv",
            model,
            "out.csv",
            reading=ReadingOptions(dialect=Dialect(";", decimal), on_message=lambda _: None),
        )


def test_commas_are_thousands_separators_if_points_are_decimal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [f"{i % 9 + 1},{i:03d}" for i in range(N)]
    model, messages, _ = fit_and_predict(cells, ".")
    assert model.preprocessing.medians[model.numeric.index("a")] == np.median(
        [int(c.replace(",", "")) for c in cells]
    )
    assert not [text for text in messages if "'a'" in text]
    assert "a" in fit_and_predict([*cells[:-1], "0,5"], ".")[0].numeric  # "0,5" is malformed


def test_column_type_options_of_fit(tmp_path, monkeypatch, capfd):
    from ldlearn.cli.main import main

    monkeypatch.chdir(tmp_path)
    table = with_columns(
        when=sample_dates(), zone=[str(i % 5) for i in range(N)], code=[f"c{i}" for i in range(N)]
    )
    table.loc[[3, 5], "zone"] = "NA"
    table.to_csv("data.csv", index=False)
    arguments = ["fit", "data.csv", "-l", ",".join(LABELS), "-o", "m.ldl", "--holdout", "0"]
    with pytest.raises(SystemExit) as exit_info:
        main(
            [
                *arguments,
                "--categorical",
                "zone",
                "--ignore",
                "code",
                "--numeric",
                "height",
                "--datetime",
                "when",
                "--text",
                "place",
            ]
        )
    assert exit_info.value.code == 0
    out = capfd.readouterr().out
    for line in (
        "numeric: 'height', 'wet'",
        "categorical: 'zone'",
        "datetime (%Y-%m-%d): 'when'",
        "text: 'place'",
    ):
        assert line in out
    assert "missing values: 4, in 'wet', 'zone'" in out
    model = load_model("m.ldl")
    assert set(model.features) == {"height", "wet", "zone", "when", "place"}
    assert model.facts["source"]["file"] == "data.csv"
    with_columns(when=sample_dates(), zone="1", flat=0).to_csv("flat.csv", index=False)
    for line in (
        ["fit", "flat.csv", *arguments[2:]],
        ["predict", "flat.csv", "-m", "m.ldl", "-o", "out.csv"],
    ):
        with pytest.raises(SystemExit):
            main(line)
    assert "ignored" not in capfd.readouterr().err  # no warning about columns that the fit left out
    with pytest.raises(SystemExit) as exit_info:
        main([*arguments, "--categorical", "zone", "--numeric", "zone"])
    assert exit_info.value.code == 2
    assert "numeric and categorical both name 'zone'" in capfd.readouterr().err


def test_enhance_without_model_reports_left_out_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = with_columns(flat=1)
    table.loc[4, "wet"] = "moist"
    table.to_csv("data.csv", index=False)
    malformed, left_out = fit_enhance_table(
        "data.csv", LABELS, "out.csv", method="PriorLE"
    ).messages
    for term in ("'wet'", "missing", "row 6 'moist'"):
        assert term in malformed
    for term in ("left out", "same value", "'flat'"):
        assert term in left_out


def test_no_advice_to_standardise_features_that_are():
    """The variance of a standardised number is more than 1,000 times that of a rare word."""
    rng = np.random.default_rng(0)
    words = ["".join(letters) for letters in rng.choice(list("abcdefghij"), size=(N * 10, 6))]
    texts = [" ".join(words[10 * i : 10 * i + 10]) for i in range(N)]
    table = make_table(N)[["height", *LABELS]].assign(text=texts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TableModel.fit(table, LABELS, estimator=VoteLDL())
    with pytest.warns(
        UserWarning, match=r"Column 0 .*standardise"
    ):  # for features that the user scales
        VoteLDL().fit(model.transform(table), table[LABELS])


def test_no_warnings_for_clean_tables():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit_table(with_columns(), LABELS, method=QUICK)
        model.predict(with_columns())
    assert not any("Column" in text for text in model.facts["warnings"])


ROWS = np.arange(N)
SHUFFLED = np.random.default_rng(1).permutation(N)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n", ROWS),
        ("row", ROWS + 1),
        ("anything", SHUFFLED + 1),
    ],
)
def test_row_counters_are_left_out(name, values):
    table = with_columns(**{name: values}).infer_objects()
    model = TableModel.fit(table, LABELS, estimator=QUICK)
    assert name not in model.features
    assert "row counter" in model.facts["columns"][name]
    assert any("row counter" in text and repr(name) in text for text in model.facts["warnings"])
    assert (
        name
        in TableModel.fit(
            table, LABELS, estimator=QUICK, columns=ColumnOptions(numeric=[name])
        ).features
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("seconds", 1_700_000_000 + ROWS),
        ("price", 7919 * SHUFFLED),
        ("monkey", 7919 * SHUFFLED),
        ("key_size", SHUFFLED % 9),
        ("id_score", SHUFFLED + 0.5),
        ("even", 2 * ROWS),
    ],
)
def test_other_integer_columns_stay_features(name, values):
    assert (
        name
        in TableModel.fit(
            with_columns(**{name: values}).infer_objects(), LABELS, estimator=QUICK
        ).features
    )


GAPS = np.cumsum(np.random.default_rng(2).integers(2, 90, size=N))


@pytest.mark.parametrize(
    "name",
    ["movieId", "MovieID", "movie_id", "Movie ID", "id", "ID", "uuid", "Index", "Unnamed: 0"],
)
def test_integer_identifiers_are_left_out(name):
    values = GAPS.copy()
    values[:10] = values[0]  # nearly unique
    table = with_columns(**{name: np.random.default_rng(3).permutation(values)}).infer_objects()
    model = TableModel.fit(table, LABELS, estimator=QUICK)
    assert name not in model.features
    assert any("identifier" in text and repr(name) in text for text in model.facts["warnings"])
    assert not any("used as numbers" in text for text in model.facts["warnings"])
    assert (
        name
        in TableModel.fit(
            table, LABELS, estimator=QUICK, columns=ColumnOptions(numeric=[name])
        ).features
    )


@pytest.mark.parametrize(
    ("name", "values", "doubtful"),
    [
        ("movieid", GAPS, True),
        ("paid", GAPS, True),  # also the end of a word
        ("userId", GAPS % 7, True),  # repeated
        ("paid", GAPS % 7, False),
        ("user_id", GAPS + 0.5, False),
        ("income", GAPS, False),
        ("timestamp", 1_700_000_000 + GAPS, False),
        ("price_index", GAPS, False),
        ("id_count", GAPS, False),
    ],
)
def test_doubtful_identifiers_stay_features_with_a_message(name, values, doubtful):
    table = with_columns(**{name: values}).infer_objects()
    model = TableModel.fit(table, LABELS, estimator=QUICK)
    assert name in model.features
    messages = [text for text in model.facts["warnings"] if "used as numbers" in text]
    assert [repr(name) in text for text in messages] == [True] * doubtful
    given = TableModel.fit(table, LABELS, estimator=QUICK, columns=ColumnOptions(numeric=[name]))
    assert not any("used as numbers" in text for text in given.facts["warnings"])


def test_only_a_row_counter_is_an_error():
    table = make_table(N)[LABELS].assign(n=ROWS)
    with pytest.raises(
        TableError, match=r"no column is left for the features \(a row counter.*'n'"
    ):
        TableModel.fit(table, LABELS, estimator=QUICK)


@pytest.mark.parametrize(
    "cells",
    [
        ["<18", ">=18", "<18", ">= 18"],  # two sides of a limit
        ["1080p", "720p", "4K", "1080p"],  # neither p nor K is a unit of the others
        ["5m", "3m", "7m", "20k"],  # millions, not metres
        ["3/4", "1/2", "5/8", "1/3"],
        ["1", "2-", "3", "3-"],  # school grades
    ],
)
def test_number_like_texts_stay_categorical(cells):
    table = with_columns(a=[cells[i % 4] for i in range(N)])
    assert find_column_types(table, ["a"], {}, CellReport()).columns == {"a": "categorical"}


def test_unique_digit_codes_are_identifiers():
    table = with_columns(phone=[f"030{i}" for i in long_numbers(10**6, 10**7)])
    with pytest.raises(TableError, match=r"column 'phone': .* look like an identifier"):
        find_column_types(table, ["phone"], {}, CellReport())


def test_unit_of_most_cells_is_stripped():
    numbers, malformed, *_ = read_numbers(column(["12.5 kg", "3kg", "(2) kg", "7", "1 kg"]))
    assert malformed.tolist() == [False, False, True, False, False]
    assert numbers[~malformed].tolist() == [12.5, 3, 7, 1]
    for cells in (["5 m", "3 cm"], ["1st", "2nd", "3rd"], ["1", "2", "3 kg"], ["10 am", "3 pm"]):
        assert [
            bad
            for bad, cell in zip(read_numbers(column(cells))[1], cells, strict=True)
            if not cell.isdigit()
        ] == [True] * sum(not cell.isdigit() for cell in cells)


def test_too_many_categories_are_rejected_ignoring_spaces():
    cells = [f"{' ' * (i % 2)}place {i // 2}" for i in range(2000)]
    labels = pd.DataFrame({"a": 1, "b": [0, 1] * 1001})

    def clean(last: str) -> pd.DataFrame:
        table = labels.assign(place=[*cells, last, None])
        columns = ColumnOptions(categorical=["place"])
        return read_labelled(table, ["a", "b"], columns, ReadingOptions()).clean()[0]

    assert clean("")["place"].nunique() == 1000
    with pytest.raises(
        TableError, match=r"column 'place': 1,001 different texts in 2,002 rows are too many"
    ):
        clean("elsewhere")


def test_codes_with_leading_zeros_are_categorical(tmp_path):
    zips = [f"{900 + 30 * (i % 7):05d}" for i in range(N)]
    table = with_columns(zip=zips)
    assert "zip" in TableModel.fit(table, LABELS, estimator=QUICK).categorical
    assert (
        "zip"
        in TableModel.fit(
            table, LABELS, estimator=QUICK, columns=ColumnOptions(numeric=["zip"])
        ).numeric
    )
    table.to_csv(tmp_path / "x.csv", index=False)
    model = fit_table(str(tmp_path / "x.csv"), LABELS, holdout=0)
    assert model.preprocessing.categories["zip"] == sorted(set(zips))
    assert (
        "x"
        in TableModel.fit(
            with_columns(x=[f"{0.5 + i % 9:06.2f}" for i in range(N)]), LABELS, estimator=QUICK
        ).numeric
    )


def test_too_many_malformed_numbers_are_rejected():
    cells = [f"{i}.5" if i % 5 else f"?{i}" for i in range(N)]
    with pytest.raises(
        TableError,
        match=rf"row 0, column 'a': {N // 5} of {N} values are not numbers \('\?0'\).*numeric",
    ):
        find_column_types(with_columns(a=cells), ["a"], {}, CellReport())
    assert (
        "a"
        in TableModel.fit(
            with_columns(a=cells), LABELS, estimator=QUICK, columns=ColumnOptions(numeric=["a"])
        ).numeric
    )


def test_new_tables_must_have_the_units_of_training(tmp_path, monkeypatch):
    """Independent of the other rows of the new table."""
    monkeypatch.chdir(tmp_path)
    kilograms = [f"{50 + i} kg" for i in range(N)]
    fitted = fit_table(with_columns(a=kilograms), LABELS, holdout=0)
    save_model(fitted, "model.ldl")
    assert fitted.types.units == {"a": "kg"}
    model = load_model("model.ldl")
    expected = model.predict(with_columns(a=kilograms)[:12])
    np.testing.assert_array_equal(model.predict(with_columns(a=range(50, 50 + N))[:12]), expected)
    for cells in (["70 kg"], ["70 kg", "70", "70", "70"]):
        assert model.transform(with_columns(a=(cells * N)[:N])[: len(cells)])[
            0, 0
        ] == pytest.approx(model.transform(with_columns(a=[70.0] * N)[:1])[0, 0])
    with pytest.warns(UserWarning, match="'a': 1 cell counts as missing: row 0 '70000 g'"):
        model.transform(with_columns(a=["70000 g"] * N)[:1])
    with pytest.raises(
        TableError, match=r"120 of 120 values .*'70000 g'.* with the unit kg as in training"
    ):
        model.predict(with_columns(a=["70000 g"] * N))
    plain = TableModel.fit(with_columns(a=range(50, 50 + N)), LABELS, estimator=QUICK)
    with pytest.raises(TableError, match="with no unit as in training"):
        plain.predict(with_columns(a=kilograms))


def test_partial_units_trigger_a_warning():
    cells = [f"{i}k" if i % 5 < 3 else str(100 * i) for i in range(N)]
    warnings = TableModel.fit(with_columns(a=cells), LABELS, estimator=QUICK).facts["warnings"]
    assert any("'a': 72 of 120 numbers have the unit k" in warning for warning in warnings)
    cells = [f"{i}%" if i % 5 < 3 else str(i) for i in range(N)]
    warnings = TableModel.fit(with_columns(a=cells), LABELS, estimator=QUICK).facts["warnings"]
    assert any("'a': 72 of 120 numbers have the unit %" in warning for warning in warnings)
    report = CellReport()
    report.read_numbers(column(["5%", "5"]), "a", unit="")  # in a new table
    assert "1 of 2 numbers have the unit %" in report.messages()[0]


@pytest.mark.parametrize("dtype", [float, object])
def test_percent_signs_must_be_those_of_training(dtype, tmp_path):
    signs = with_columns(share=[f"{i % 50}%" for i in range(N)])
    plain = with_columns(share=np.arange(N) % 50).astype({"share": dtype})
    fitted, other = (TableModel.fit(table, LABELS, estimator=QUICK) for table in (signs, plain))
    fitted.predict(signs)
    save_model(fitted, tmp_path / "m.ldl")
    for model, table in (
        (fitted, plain),
        (load_model(tmp_path / "m.ldl"), plain[:1]),
        (other, signs),
    ):
        with pytest.raises(TableError, match=r"column 'share': .*percent sign.* in training"):
            model.predict(table)
    for share in ("", "5%"):  # missing, or with a sign
        fitted.predict(signs[:1].assign(share=share))
    with pytest.warns(
        UserWarning, match="'share': 1 of 2 numbers have the unit %, the others count as they are"
    ):
        fitted.predict(signs[:2].assign(share=["5%", "5"]))


def test_percentages_are_parsed_as_fractions():
    assert read_numbers(column(["4.5%", "0.045", "-12 %"])).values == pytest.approx(
        [0.045, 0.045, -0.12]
    )
