"""Delimited text: dialects, title lines, trailing separators, malformed cells and rows."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table
from hypothesis import given
from hypothesis import strategies as st

from ldlearn.cli.main import main
from ldlearn.datasets import DatasetError, read_dataset
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables import evaluate_table, fit_table, load_model, predict_table, save_model
from ldlearn.tables import source as source_module
from ldlearn.tables.delimited import _detect_dialect, _RowLengthCheck
from ldlearn.tables.files import Dialect, ReadingOptions, TableInput
from ldlearn.tables.formats import open_table, write_table
from ldlearn.tables.values import read_numbers

AUTO = Dialect()
PLAIN = "höhe,place,sky\n1.5,küste,1\n-2.25,land,0\n"
GERMAN = "höhe;place;sky\n1,5;küste;1\n-2,25;land;0\n"


def read_valid(path, **options):
    messages = []
    with open_table(
        TableInput(str(path), ReadingOptions(on_message=messages.append, **options))
    ) as table:
        frame = table.read({"höhe": "any", "place": "text", "sky": "any"})
    assert frame["höhe"].tolist() == [1.5, -2.25]
    assert frame["place"].tolist() == ["küste", "land"]
    assert frame["sky"].tolist() == [1, 0]
    return " ".join(messages)


@pytest.mark.parametrize(
    ("text", "encoding", "message"),
    [
        (PLAIN, "utf-8", ""),
        (PLAIN, "utf-8-sig", ""),
        (GERMAN, "utf-8", "separated by semicolons, and its numbers have decimal commas"),
        (PLAIN.replace(",", "\t"), "utf-8", "separated by tabs"),
        (PLAIN.replace(",", "|"), "utf-8", "separated by bars"),
        (PLAIN, "cp1252", "its text is cp1252, not UTF-8"),
        (
            GERMAN,
            "utf-16",
            "its text is utf-16, not UTF-8, and its columns are separated by semicolons, and its",
        ),
        (GERMAN.replace("\n", "\r\n"), "cp1252", "cp1252"),
    ],
)
def test_detected_dialect_is_reported(tmp_path, text, encoding, message):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode(encoding))
    found = read_valid(path)
    assert (message in found) if message else found == ""
    assert not message or found.startswith(str(path))


def test_explicit_dialect_is_not_reported(tmp_path):
    (tmp_path / "x.csv").write_bytes(GERMAN.encode("cp1252"))
    assert read_valid(tmp_path / "x.csv", dialect=Dialect(";", ",", "cp1252")) == ""
    assert read_valid(
        tmp_path / "x.csv", dialect=Dialect("semicolon", encoding="latin-1")
    ).endswith("decimal commas.")


@pytest.mark.parametrize("encoding", ["utf-16", "ascii"])
def test_wrong_encoding_raises_with_remedy(tmp_path, encoding):
    (tmp_path / "x.csv").write_text(PLAIN, encoding="utf-8")
    with pytest.raises(TableError, match=f"x.csv: .* is not {encoding}.*; name its encoding"):
        read_valid(tmp_path / "x.csv", dialect=Dialect(encoding=encoding))


def test_gzip_tables_are_read_and_written(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert read_valid(tmp_path / "x.csv.gz") == ""
    rows = {
        "höhe": np.array([1.5, -2.25]),
        "place": np.array(["küste", "land"]),
        "sky": np.array([1, 0]),
    }
    write_table(str(tmp_path / "y.tsv.gz"), [rows])
    assert read_valid(tmp_path / "y.tsv.gz") == ""
    with (
        pytest.raises(TableError, match=r"the ending '\.gz' is not supported"),
        open_table(TableInput(str(tmp_path / "x.npz.gz"))),
    ):
        pass


def test_decompression_bomb_is_rejected(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(
        gzip.compress(b"a,b\n" + b"0,0\n" * 30_000_000, compresslevel=9)
    )
    with pytest.raises(DatasetError, match="more than the limit"):
        read_dataset(tmp_path / "x.csv.gz", labels="b")


def test_read_dataset_warns_and_takes_options(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x;joy;fear\n1,5;0,25;0,75\n2,5;1,0;0,0\n")
    with pytest.warns(
        UserWarning, match="separated by semicolons, and its numbers have decimal commas"
    ):
        data = read_dataset(path, labels="joy,fear")
    np.testing.assert_array_equal(data.D, [[0.25, 0.75], [1, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explicit = read_dataset(path, labels="joy,fear", delimiter=";", decimal=",")
    np.testing.assert_array_equal(explicit.X, data.X)
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(DatasetError, match="are for text tables, not for JSON lines"):
        read_dataset(tmp_path / "x.jsonl", labels="a", delimiter=";")


def test_lists_of_numbers_have_no_decimal_commas(tmp_path):
    """A column with a list of three numbers, and the only label column: there 2,9 are two
    numbers."""
    for row in ("2,9", "7"):
        text = f"x;tags;y\n1;2,9;5\n2;{row};6\n3;4,9;7\n"
        assert (
            _detect_dialect(text.encode(), TableInput("x.csv", list_column="tags"), ";").decimal
            == "."
        )
        assert _detect_dialect(text.encode(), TableInput("x.csv"), ";").decimal == ","
    assert _detect_dialect(b"x;tags\n1;2,9\n2;1,2,3\n", TableInput("x.csv"), ";").decimal == "."
    path = tmp_path / "lists.csv"
    for separator, fraction in (
        (",", ""),
        (";", ",5"),
    ):  # with decimal commas in another column, or without
        rows = [f'{i * i}{fraction}{separator}"{"2,9" if i % 2 else "4,9"}"' for i in range(20)]
        path.write_text("\n".join([f"x{separator}tags", *rows]) + "\n")
        for labels in ("tags", ["tags"]):
            messages = []
            model = fit_table(
                str(path),
                labels,
                method="PriorLE+MeanLDL",
                holdout=0,
                reading=ReadingOptions(on_message=messages.append),
            )
            assert model.labels == ("2", "4", "9")
            assert any("decimal commas" in message for message in messages) == (separator == ";")
        assert (
            evaluate_table(
                str(path), model, reading=ReadingOptions(on_message=messages.append)
            ).rows
            == 20
        )


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal"),
    [
        (
            "a;b\n1,234;5\n2,345;6\n",
            ";",
            ".",
        ),  # possibly thousands separators: not parsed as decimals
        ("a;b\n0,234;5\n", ";", ","),
        ("a;b\n1,5;2.5\n", ";", "."),
        ("a;b\n1.234;0,5\n", ";", ","),
        ("length, m;width, m\n1,5;2,5\n3,5;4,5\n", ";", ","),
        ('a,b\n"x;y;z",1\n', ",", "."),
        ("a,b\n1,2,3\n", ",", "."),
        ("only\n1\n", ",", "."),
        ("", ",", "."),
    ],
)
def test_ambiguous_dialects_use_the_defaults(text, delimiter, decimal):
    dialect = _detect_dialect(text.encode(), TableInput("x.csv"), ",")
    assert (dialect.delimiter, dialect.decimal) == (delimiter, decimal)


@given(
    st.lists(
        st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 2)), min_size=3, max_size=3),
        min_size=2,
        max_size=9,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_dialect_of_numbers_with_decimal_points_is_detected(rows, delimiter):
    lines = [delimiter.join(["a", "b", "c"])] + [
        delimiter.join(f"{x:.2f}" for x in row) for row in rows
    ]
    dialect = _detect_dialect("\n".join(lines).encode(), TableInput("x.csv"), ",")
    assert (dialect.delimiter, dialect.decimal, dialect.encoding) == (delimiter, ".", "utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "ab"}, "one character or comma"),
        ({"decimal": ";"}, "'.' or ','"),
        ({"encoding": "klingon"}, "no encoding 'klingon'"),
    ],
)
def test_invalid_dialect_options_raise(options, message):
    with pytest.raises(ParameterError, match=message):
        Dialect(**options)


def test_spaces_around_names_are_stripped(tmp_path):
    (tmp_path / "x.csv").write_text("height, sky ,sea\n1,1,0\n")
    with open_table(TableInput(str(tmp_path / "x.csv"))) as table:
        assert table.names == ["height", "sky", "sea"]


def test_rows_beyond_the_sample_are_parsed_alike(tmp_path):
    rows = 200_000
    (tmp_path / "x.csv").write_text(
        "a;b\n" + "".join(f"{i},5;é\n" for i in range(rows)), encoding="cp1252"
    )
    messages = []
    with open_table(
        TableInput(str(tmp_path / "x.csv"), ReadingOptions(on_message=messages.append))
    ) as table:
        frame = table.read({"a": "any", "b": "text"})
    np.testing.assert_array_equal(frame["a"], np.arange(rows) + 0.5)
    assert set(frame["b"]) == {"é"}


def ldlearn(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_info:
        main([str(argument) for argument in arguments])
    assert exit_info.value.code == 0
    return capsys.readouterr().err


def test_every_command_reads_semicolons_and_decimal_commas(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = make_table()
    table.to_csv("plain.csv", index=False)
    table.to_csv("german.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    arguments = ("-l", ",".join(LABELS), "--id", "key", "-o")
    ldlearn(capsys, "fit", "plain.csv", *arguments, "plain.ldl")
    messages = ldlearn(capsys, "fit", "german.csv", *arguments, "german.ldl")
    found = (
        "note: german.csv: its columns are separated by semicolons, and its numbers have "
        "decimal commas.\n"
    )
    assert found in messages
    dialect_options = ("--delimiter", ";", "--decimal", ",", "--encoding", "cp1252")
    assert "note:" not in ldlearn(
        capsys, "fit", "german.csv", *arguments, "explicit.ldl", "--zeros", "none", *dialect_options
    )
    for model in ("german.ldl", "explicit.ldl"):
        np.testing.assert_allclose(
            load_model(model).predict(table), load_model("plain.ldl").predict(table), atol=1e-12
        )
    assert found in ldlearn(capsys, "predict", "german.csv", "-m", "plain.ldl", "-o", "p.csv")
    assert found in ldlearn(capsys, "enhance", "german.csv", "-m", "plain.ldl", "-o", "e.csv")
    assert found in ldlearn(capsys, "evaluate", "german.csv", "-m", "plain.ldl")
    degrees = pd.read_csv("p.csv")
    degrees.to_csv("p_german.csv", index=False, sep=";", decimal=",")
    assert "p_german.csv: its columns" in ldlearn(
        capsys, "compare", "p.csv", "p_german.csv", "--id", "key"
    )


def read_any(path, dialect=AUTO):
    messages = []
    with open_table(
        TableInput(str(path), ReadingOptions(on_message=messages.append, dialect=dialect))
    ) as table:
        frame = table.read(dict.fromkeys(table.names, "any"))
    return frame, " ".join(messages)


@pytest.mark.parametrize("cell", ["1,3", "1,234", "moist", "1,2,3"])
def test_quoted_commas_stay_text_beside_decimal_points(tmp_path, cell):
    (tmp_path / "x.csv").write_text(f'a,b\n"{cell}",0.5\n"{cell}",1.5\n')
    frame, messages = read_any(tmp_path / "x.csv")
    assert (frame["a"].tolist(), frame["b"].tolist(), messages) == ([cell] * 2, [0.5, 1.5], "")


@pytest.mark.parametrize("decimal", [",", None])
def test_decimal_commas_with_thousands_and_units(tmp_path, decimal):
    (tmp_path / "x.csv").write_text(
        "a;b;c\n0,5;12,5 kg;1.234\n1.234,5;1.000,0 kg;2.500\n7;3 kg;0,5\n"
    )
    frame, _ = read_any(tmp_path / "x.csv", Dialect(decimal=decimal))
    assert frame["a"].tolist() == [0.5, 1234.5, 7]
    assert read_numbers(frame["b"])[0].tolist() == [12.5, 1000, 3]
    assert frame["c"].tolist() == [1234, 2500, 0.5]


def test_dates_and_texts_are_unchanged_by_decimal_commas(tmp_path):
    rows = [("0,5", "31.03.2024", "a, b", "1.2.10"), ("1,5", "01.04.2024", "c", "v1,5,2")]
    (tmp_path / "x.csv").write_text(
        "a;when;text;version\n" + "\n".join(";".join(row) for row in rows)
    )
    frame, _ = read_any(tmp_path / "x.csv")
    assert frame["a"].tolist() == [0.5, 1.5]
    assert [tuple(row) for row in frame[["when", "text", "version"]].to_numpy()] == [
        row[1:] for row in rows
    ]


def read_table(path, kinds=None, **options):
    messages = []
    with open_table(
        TableInput(str(path), ReadingOptions(on_message=messages.append, **options))
    ) as source:
        names = list(source.names)
        frame = source.read(kinds or dict.fromkeys(names, "any"))
    return frame, [text.removeprefix(f"{path}: ") for text in messages]


@pytest.mark.parametrize(
    ("above", "message"),
    [
        ("Sales of the third quarter\n", "a line above its header skipped"),
        ("Sales, third quarter\n\n", "2 lines above its header skipped"),
        ("Sales,,,,\nall regions,,,,\n", "2 lines above its header skipped"),
        ('"Sales,\nthird quarter"\n', "2 lines above its header skipped"),
        (
            "# written by a sensor, 3 channels, 2 Hz, kept, forever, and ever\n# 2024\n",
            "2 lines above its header",
        ),
    ],
)
def test_title_lines_above_the_header_are_skipped_and_reported(tmp_path, above, message):
    path = tmp_path / "x.csv"
    path.write_text(above + "a,b,place,sky,sea\n1,2.5,coast,1,0\n3,4.5,land,0,1\n")
    frame, notes = read_table(path)
    assert list(frame) == ["a", "b", "place", "sky", "sea"]
    assert frame["b"].tolist() == [2.5, 4.5]
    assert len(notes) == 1
    assert message in notes[0]


@pytest.mark.parametrize("header", ["#a,b,c", "a,,c", ",b,c", "a b,b,c"])
def test_header_is_not_taken_for_a_title(tmp_path, header):
    path = tmp_path / "x.csv"
    path.write_text(header + "\n1,2,3\n4,5,6\n7,8,\n")
    messages = []
    with open_table(
        TableInput(str(path), ReadingOptions(on_message=messages.append)), by_name=False
    ) as source:
        assert source.names == header.split(",")
    assert messages == []


def test_title_above_and_comment_below_a_table(tmp_path):
    path = tmp_path / "x.csv"
    rows = "".join(f"{i},5;{i};a, b\n" for i in range(30))
    path.write_text("Bericht\n\nhöhe;count;text\n" + rows)
    frame, notes = read_table(path)
    assert frame["höhe"].tolist() == [i + 0.5 for i in range(30)]
    assert len(notes) == 1
    for term in ("semicolons", "decimal commas", "2 lines above"):
        assert term in notes[0]
    path.write_text("a;b;c\n" + "1;2;3\n" * 30 + "Source: the office\n")
    with pytest.raises(
        TableError, match=r"row 32: it has 1 values for 3 columns; .* a comment, delete it"
    ):
        read_table(path)


@pytest.mark.parametrize(
    "text", ["a,b,c,\n1,2,3,\n4,5,6,\n", "a,b,c\n1,2,3,\n4,5,6,\n", "a,b,c,,\n1,2,3,,\n4,5,6,,\n"]
)
def test_trailing_separator_adds_no_column(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    frame, notes = read_table(path)
    assert frame.to_dict("list") == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}
    assert notes == []


def test_unnamed_columns_are_named_by_position(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(",a\n0,5\n1,6\n")
    frame, notes = read_table(path)
    assert list(frame) == ["column0", "a"]
    assert len(notes) == 1
    assert "without a name" in notes[0]
    assert "'column0'" in notes[0]
    path.write_text("a,,b\n0,5,1\n1,6,1\n")
    assert list(read_table(path)[0]) == ["a", "column1", "b"]
    path.write_text(",column0\n0,5\n1,6\n")
    with pytest.raises(TableError, match="column 'column0': two columns have this name"):
        read_table(path)


ROWS = 40_000


@pytest.fixture(scope="module")
def late_text(tmp_path_factory):
    """A column whose only text occurs after the first chunks."""
    path = tmp_path_factory.mktemp("late") / "x.csv"
    rows = [f"{i},{i}.5,{i}" for i in range(ROWS)]
    rows[ROWS - 5] = f"{ROWS - 5},moist,7"
    path.write_text("a,b,c\n" + "\n".join(rows) + "\n")
    return path


def test_late_text_in_a_numeric_column_keeps_all_values(late_text, monkeypatch):
    frame, _ = read_table(late_text)
    assert frame["a"].tolist() == list(range(ROWS))
    numbers, malformed, *_ = read_numbers(frame["b"])
    assert np.flatnonzero(malformed).tolist() == [ROWS - 5]
    assert np.delete(numbers, ROWS - 5).tolist() == [i + 0.5 for i in range(ROWS) if i != ROWS - 5]
    assert frame["b"].iloc[ROWS - 5] == "moist"
    monkeypatch.setattr(source_module, "CHUNK_ROWS", 1000)
    with open_table(TableInput(str(late_text))) as source:
        pieces = list(source.chunks({"b": "any", "a": "any"}))
    assert len(pieces) == ROWS // 1000
    assert pieces[0]["b"].dtype == np.float64
    assert pieces[-1]["b"].dtype == object
    assert [int(row) for piece in pieces for row in piece["a"]] == list(range(ROWS))
    assert [row for piece in pieces for row in piece.index] == list(range(2, ROWS + 2))


def test_text_in_a_feature_column_is_reported_with_row_and_column(late_text):
    with pytest.raises(
        DatasetError, match=rf"row {ROWS - 3}, column 'b': 'moist' is not a finite number"
    ):
        read_dataset(late_text, "b", "a")


def table(rows, header="key,price,size,sky"):
    return "\n".join([header, *rows]) + "\n"


DATA = [f"k{i},{i * 1.5},{i},{i % 2}" for i in range(1, 9)]


def test_carriage_return_line_ends_are_rejected(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    with pytest.raises(TableError, match="its lines end in carriage returns alone"):
        read_table(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1 234,5", 1234.5),
        ("1.234,5", 1234.5),
        ("1'234,5", 1234.5),
        ("1\u202f234,50 €", 1234.5),
        ("12,5 kg", 12.5),
    ],
)
def test_decorated_numbers_with_decimal_commas(tmp_path, cell, number):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n" + f"{cell};0,5\n" * 8, encoding="utf-8")
    frame, notes = read_table(path)
    assert read_numbers(frame["a"])[0].tolist() == [number] * 8
    assert "decimal commas" in notes[0]


def test_utf_16_with_byte_order_mark(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(table(DATA).encode("utf-16"))
    frame, notes = read_table(path)
    assert frame["size"].tolist() == list(range(1, 9))
    assert len(notes) == 1
    assert "utf-16" in notes[0]


@pytest.mark.parametrize("magic_bytes", [b"PK\x03\x04", b"\x1f\x8b\x08", b"PAR1"])
def test_binary_files_are_rejected(tmp_path, magic_bytes):
    (tmp_path / "x.csv").write_bytes(magic_bytes + bytes(50))
    with pytest.raises(
        TableError, match=r"not a text table .*; give the file the ending .* --encoding"
    ):
        read_table(tmp_path / "x.csv")


def test_error_for_unclosed_quote_is_short(tmp_path):
    (tmp_path / "x.csv").write_text('"' + table(DATA * 9))
    with (
        open_table(TableInput(str(tmp_path / "x.csv"))) as source,
        pytest.raises(TableError, match="--delimiter") as caught,
    ):
        source.find("sky")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("last", ["7", "7,8,9", "7,8,9,10,11"])
@pytest.mark.parametrize("n_rows", [3, 60_000])
@pytest.mark.parametrize("row", ["1,2,3,4\n\n", '1,2,"x, ""y""\n","4"\n'])
def test_rows_of_wrong_length_are_rejected(tmp_path, row, last, n_rows):
    (tmp_path / "x.csv").write_text("a,b,c,d\n" + row * n_rows + last)
    number = 2 + n_rows * (2 if row.endswith("\n\n") else 1)  # a spreadsheet shows empty rows, too
    with pytest.raises(
        TableError, match=rf"row {number}: it has {last.count(',') + 1} values for 4 columns"
    ):
        read_table(tmp_path / "x.csv")
    with pytest.raises(TableError, match=rf"row {number}: it has"):
        read_table(tmp_path / "x.csv", {"b": "any"})


def test_quote_within_a_cell_is_literal(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + '5" pipe,2\n' * 300 + "6' pipe,3\n")
    frame, _ = read_table(tmp_path / "x.csv")
    assert frame["a"].tolist() == ['5" pipe'] * 300 + ["6' pipe"]
    assert frame["b"].tolist() == [2] * 300 + [3]


def test_quoted_cells_with_separators_and_line_breaks(tmp_path):
    cells = ["x", 'say "hi"', "a,b", "two\nlines", ""] * 20_000
    frame = pd.DataFrame({"a": range(len(cells)), "text": cells, "b": 0.5})
    frame.to_csv(tmp_path / "x.csv", index=False)
    found, messages = read_table(tmp_path / "x.csv")
    assert found["text"].fillna("").tolist() == cells
    assert found["a"].tolist() == list(range(len(cells)))
    assert messages == []


@pytest.mark.parametrize(
    "text",
    ["code,size\n12345,1\n01067,2\n0,3\n", "code;size\n12345;1,5\n01067;2,5\n0;3,5\n"],
)
def test_codes_with_leading_zeros_stay_text(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    frame, _ = read_table(tmp_path / "x.csv")
    assert frame["code"].tolist() == ["12345", "01067", "0"]
    assert frame["size"].dtype == np.float64


def test_numbers_are_read_exactly(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=5000) * 10.0 ** rng.integers(-300, 300, 5000)
    (tmp_path / "x.csv").write_text(
        "a,b\n" + "".join(f"{value!r},1\n" for value in values.tolist())
    )
    assert read_table(tmp_path / "x.csv")[0]["a"].tolist() == values.tolist()


@pytest.mark.parametrize("header", [b"a" * (5 << 20), b"," * 1_000_001, b'"' + b"\t" * 1_100_000])
def test_header_size_is_limited(tmp_path, header):
    path = tmp_path / "x.csv"
    path.write_bytes(header + b"\n1\n")
    with pytest.raises(TableError, match=r"first line is longer than 4 MB|columns"):
        open_table(TableInput(str(path))).__enter__()


@pytest.mark.parametrize("function", ["read", "_check"])
def test_keyboard_interrupt_propagates_through_pandas(tmp_path, monkeypatch, function):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_RowLengthCheck, function, interrupted)
    with pytest.raises(KeyboardInterrupt), open_table(TableInput(str(path))) as table:
        table.read({"a": "any"})


def test_ambiguous_numbers_are_parsed_with_the_decimal_mark_of_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i // 2},{5 * (i % 2)};{i % 2};1" for i in range(40)]
    Path("train.csv").write_text("\n".join(["x;a;b", *rows]))
    save_model(
        fit_table(
            "train.csv", "a,b", holdout=0, reading=ReadingOptions(on_message=lambda message: None)
        ),
        "model.ldl",
    )
    for name, cell in {"ambiguous": "12,125", "point": "12.125", "named": "12,125"}.items():
        Path(f"{name}.csv").write_text(f"x;note\n{cell};n\n")
        dialect = Dialect(decimal="," if name == "named" else None)
        predict_table(
            f"{name}.csv",
            "model.ldl",
            f"{name}.out.csv",
            reading=ReadingOptions(dialect=dialect, on_message=lambda message: None),
        )
    named, *others = (
        Path(f"{name}.out.csv").read_text() for name in ("named", "ambiguous", "point")
    )
    assert named == others[0]
    assert load_model("model.ldl").decimal == ","


@pytest.mark.parametrize("decimal", [None, ","])
def test_decimal_commas_before_units_are_no_thousands(tmp_path, monkeypatch, decimal):
    """Whether the decimal mark is found or given, in training and in a new table with ambiguous
    numbers."""
    monkeypatch.chdir(tmp_path)
    reading = ReadingOptions(dialect=Dialect(decimal=decimal), on_message=lambda message: None)
    rows = [f"{i // 2},{5 * (i % 2)} kg;{i % 2};1" for i in range(40)]
    Path("train.csv").write_text("\n".join(["x;a;b", *rows]))
    model = fit_table("train.csv", "a,b", holdout=0, reading=reading)
    np.testing.assert_allclose(model.preprocessing.means, np.arange(40).mean() / 2)
    Path("new.csv").write_text("x;note\n12,125 kg;n\n1.012,125 kg;n\n")
    predict_table("new.csv", model, "out.csv", reading=reading)
    expected = model.predict(pd.DataFrame({"x": [12.125, 1012.125]}))
    np.testing.assert_allclose(pd.read_csv("out.csv")[["a", "b"]], expected, rtol=1e-12)
