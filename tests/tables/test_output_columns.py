"""Additional output columns and rounding of degrees."""

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table
from hypothesis import given
from hypothesis import strategies as st

from ldlearn.core.simplex import round_rows
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables import (
    ColumnOptions,
    ReadingOptions,
    WritingOptions,
    enhance_table,
    fit_enhance_table,
    fit_table,
    predict_table,
    save_model,
)


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 10**6))
def test_rounded_rows_sum_to_one(c, digits, seed):
    D = np.random.default_rng(seed).dirichlet(np.full(c, 0.5), size=5)
    rounded = round_rows(D, digits)
    units = rounded * 10**digits
    np.testing.assert_allclose(units, np.rint(units), atol=1e-6)
    np.testing.assert_allclose(rounded.sum(axis=1), 1.0, atol=1e-12)
    assert (np.abs(rounded - D) < 10.0**-digits + 1e-8).all()
    assert (rounded >= 0).all()
    np.testing.assert_array_equal(round_rows(rounded, digits), rounded)
    for row, near in zip(D * 10**digits, units, strict=True):
        up = near > row + 1e-6
        remainder = row - np.floor(row + 1e-9)
        assert not up.any() or remainder[up].min() >= remainder[~up].max(initial=0.0) - 1e-6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("outputs")
    table = make_table()
    table["count"] = np.arange(len(table))
    table.to_csv(path / "data.csv", index=False)
    table.to_parquet(path / "data.parquet")
    save_model(
        fit_table(
            str(path / "data.csv"),
            LABELS,
            holdout=0,
            columns=ColumnOptions(id="key", ignore="count"),
        ),
        str(path / "m.ldl"),
    )
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_kept_columns_come_between_identifier_and_degrees(folder, tmp_path, source, suffix):
    table = make_table()
    feature = next(name for name in table.columns if name not in (*LABELS, "key"))
    out = str(tmp_path / f"out.{suffix}")
    predict_table(
        str(folder / f"data.{source}"),
        str(folder / "m.ldl"),
        out,
        writing=WritingOptions(keep=["count", feature], round=3),
        reading=ReadingOptions(on_message=print),
    )
    found = {
        "csv": pd.read_csv,
        "parquet": pd.read_parquet,
        "jsonl": lambda p: pd.read_json(p, lines=True),
    }[suffix](out)
    assert list(found.columns) == ["key", "count", feature, *LABELS]
    assert found["count"].astype(float).tolist() == list(range(len(table)))
    degrees = found[LABELS].to_numpy()
    np.testing.assert_allclose(degrees.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(degrees * 1000, np.rint(degrees * 1000), atol=1e-9)


def test_enhance_keeps_columns_with_and_without_a_model(folder, tmp_path):
    data, out = str(folder / "data.csv"), str(tmp_path / "out.csv")
    enhance_table(data, str(folder / "m.ldl"), out, writing=WritingOptions(keep="count", round=2))
    assert list(pd.read_csv(out).columns) == ["key", "count", *LABELS]
    assert pd.read_csv(out, dtype=str)["count"].tolist()[:3] == ["0", "1", "2"]
    fit_enhance_table(
        data,
        LABELS,
        out,
        method="UniformLE",
        columns=ColumnOptions(id="key", ignore="count"),
        writing=WritingOptions(keep="key,count", round=2),
    )
    assert list(pd.read_csv(out).columns) == ["key", "count", *LABELS]


def test_empty_table_has_all_output_columns(folder, tmp_path):
    (tmp_path / "none.csv").write_text((folder / "data.csv").read_text().splitlines()[0] + "\n")
    predict_table(
        str(tmp_path / "none.csv"),
        str(folder / "m.ldl"),
        str(tmp_path / "out.csv"),
        writing=WritingOptions(keep="count", round=2),
    )
    assert (tmp_path / "out.csv").read_text().strip() == ",".join(["key", "count", *LABELS])


def test_formulas_in_kept_columns_are_escaped(folder, tmp_path):
    table = make_table().assign(remark="=1+1").rename(columns={"sky": "@sky"})
    data, out = str(tmp_path / "data.csv"), str(tmp_path / "out.csv")
    table.assign(**{"=cmd": 5}).to_csv(data, index=False)
    predict_table(data, str(folder / "m.ldl"), out, writing=WritingOptions(keep="remark,=cmd"))
    assert set(pd.read_csv(out)["remark"]) == {"'=1+1"}
    assert set(pd.read_csv(out)["'=cmd"]) == {5}
    columns = ColumnOptions(features="height")
    fit_enhance_table(data, "@sky,mountain,sea", out, method="UniformLE", columns=columns)
    assert list(pd.read_csv(out)) == ["'@sky", "mountain", "sea"]
    fit_enhance_table(
        data,
        "@sky,mountain,sea",
        out,
        method="UniformLE",
        columns=columns,
        writing=WritingOptions(raw=True),
    )
    assert list(pd.read_csv(out)) == ["@sky", "mountain", "sea"]


def test_invalid_keep_and_round_raise(folder, tmp_path):
    arguments = str(folder / "data.csv"), str(folder / "m.ldl"), str(tmp_path / "out.csv")
    with pytest.raises(TableError, match=f"keep names the label '{LABELS[0]}'"):
        predict_table(*arguments, writing=WritingOptions(keep=LABELS[0]))
    with pytest.raises(TableError, match="keep: there is no column 'counts'; did you mean count"):
        predict_table(*arguments, writing=WritingOptions(keep="counts"))
    with pytest.raises(ParameterError, match="round must be from 0 to 15 decimals, got -1"):
        predict_table(*arguments, writing=WritingOptions(round=-1))


def test_unsupported_enhance_options_raise(folder, tmp_path):
    out, params = str(tmp_path / "out.csv"), {"beta": 0.1, "gamma": 0.1}
    with pytest.raises(ParameterError, match="interval and flag_far are for 0/1 labels"):
        fit_enhance_table(
            str(folder / "data.csv"),
            LABELS,
            out,
            method="DLDL",
            params=params,
            columns=ColumnOptions(kind="votes", id="key"),
            writing=WritingOptions(interval=0.9),
        )
    model = fit_table(
        make_table(), LABELS, method="PriorLE+SABFGS", holdout=0, columns=ColumnOptions(id="key")
    )
    with pytest.raises(
        TableError, match=r"^the model: EnhanceThenLearn gives degrees only to the rows"
    ):
        enhance_table(str(folder / "data.csv"), model, out)


def test_label_list_column_can_be_kept(tmp_path):
    x = np.linspace(-1, 1, 40)
    tags = np.where(x < -0.3, "low", np.where(x < 0.3, "low|high", "high"))
    data, out = str(tmp_path / "data.csv"), str(tmp_path / "out.csv")
    pd.DataFrame({"x": x, "tags": tags}).to_csv(data, index=False)
    reading = ReadingOptions(on_message=print)
    writing = WritingOptions(interval=0.9, round=2, keep="tags")
    params = {"alpha": 0.0, "beta": 0.1, "gamma": 0.1}
    fit_enhance_table(data, "tags", out, params=params, writing=writing, reading=reading)
    fitted = pd.read_csv(out)
    assert list(fitted.columns) == [
        "tags",
        "high",
        "low",
        "high_low",
        "high_high",
        "low_low",
        "low_high",
    ]
    assert fitted["tags"].tolist() == tags.tolist()
    model = fit_table(
        data, "tags", params=params, holdout=0, reading=ReadingOptions(on_message=print)
    )
    enhance_table(data, model, out, writing=writing, reading=reading)
    pd.testing.assert_frame_equal(pd.read_csv(out), fitted, atol=0.011)
    columns = ColumnOptions(id="tags")
    writing = WritingOptions(interval=0.9, round=2)
    enhance_table(data, model, out, columns=columns, writing=writing, reading=reading)
    assert pd.read_csv(out)["tags"].tolist() == tags.tolist()
