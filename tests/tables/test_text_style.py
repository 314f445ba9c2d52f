"""Text tables as people have them: other separators, decimal commas, encodings, packed; found, and said aloud."""

import csv
import gzip
import io
import threading
import warnings

import numpy as np
import pandas as pd
import pyarrow
import pytest
from example_tables import LABELS, make_table
from hypothesis import given, reject
from hypothesis import strategies as st

from ldlearn.cli.main import main
from ldlearn.datasets import DatasetError, read_dataset
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables import load_model
from ldlearn.tables.delimited import _blocks_of_rows
from ldlearn.tables.formats import open_output, open_table
from ldlearn.tables.source import CountedFile
from ldlearn.tables.text_style import TextStyle, find_style
from ldlearn.tables.values import read_numbers

PLAIN = "höhe,place,sky\n1.5,küste,1\n-2.25,land,0\n"
GERMAN = "höhe;place;sky\n1,5;küste;1\n-2,25;land;0\n"


def read(path, **options):
    said = []
    with open_table(str(path), say=said.append, **options) as table:
        frame = table.read({"höhe": "number", "place": "text", "sky": "any"})
    assert frame["höhe"].tolist() == [1.5, -2.25]
    assert frame["place"].tolist() == ["küste", "land"]
    assert frame["sky"].tolist() == [1, 0]
    return " ".join(said)


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        (PLAIN, "utf-8", ""),
        (PLAIN, "utf-8-sig", ""),
        (GERMAN, "utf-8", "separated by semicolons, and its numbers have decimal commas"),
        (PLAIN.replace(",", "\t"), "utf-8", "separated by tabs"),
        (PLAIN.replace(",", "|"), "utf-8", "separated by bars"),
        (PLAIN, "cp1252", "its text is cp1252, not UTF-8"),
        (GERMAN, "utf-16", "its text is utf-16, not UTF-8, and its columns are separated by semicolons, and its"),
        (GERMAN.replace("\n", "\r\n"), "cp1252", "cp1252"),
    ],
)
def test_what_is_found_is_said(tmp_path, text, encoding, said):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode(encoding))
    found = read(path)
    assert (said in found) if said else found == ""
    assert not said or found.startswith(str(path))


def test_what_is_told_is_not_questioned(tmp_path):
    (tmp_path / "x.csv").write_bytes(GERMAN.encode("cp1252"))
    assert read(tmp_path / "x.csv", style=TextStyle(";", ",", "cp1252")) == ""
    assert read(tmp_path / "x.csv", style=TextStyle("semicolon", encoding="latin-1")).endswith("decimal commas.")


@pytest.mark.parametrize("encoding", ["utf-16", "ascii"])
def test_a_wrong_encoding_is_one_sentence_with_advice(tmp_path, encoding):
    (tmp_path / "x.csv").write_text(PLAIN, encoding="utf-8")
    with pytest.raises(TableError, match=f"x.csv: its text is not {encoding}; tell another encoding, or none"):
        read(tmp_path / "x.csv", style=TextStyle(encoding=encoding))


def test_packed_tables_in_and_out(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert read(tmp_path / "x.csv.gz") == ""
    with open_output(str(tmp_path / "y.tsv.gz")) as sink:
        sink.write({"höhe": np.array([1.5, -2.25]), "place": np.array(["küste", "land"]), "sky": np.array([1, 0])})
    assert read(tmp_path / "y.tsv.gz") == ""
    with pytest.raises(TableError, match=r"the suffix '\.gz' is none of"), open_table(str(tmp_path / "x.npz.gz")):
        pass


def test_a_packed_bomb_is_refused(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * 30_000_000, compresslevel=9))
    with pytest.raises(DatasetError, match="broken or malicious"):
        read_dataset(tmp_path / "x.csv.gz", labels="b")


def test_read_dataset_warns_and_takes_options(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x;joy;fear\n1,5;0,25;0,75\n2,5;1,0;0,0\n")
    with pytest.warns(UserWarning, match="separated by semicolons, and its numbers have decimal commas"):
        data = read_dataset(path, labels="joy,fear")
    np.testing.assert_array_equal(data.D, [[0.25, 0.75], [1, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = read_dataset(path, labels="joy,fear", delimiter=";", decimal=",")
    np.testing.assert_array_equal(told.X, data.X)
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(DatasetError, match="are for text tables, not for JSON lines"):
        read_dataset(tmp_path / "x.jsonl", labels="a", delimiter=";")


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal"),
    [
        ("a;b\n1,234;5\n2,345;6\n", ";", "."),  # thousands, perhaps: not taken for fractions
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
def test_only_what_is_safe_is_found(text, delimiter, decimal):
    style = find_style(text.encode(), TextStyle(), ",")
    assert (style.delimiter, style.decimal) == (delimiter, decimal)


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 2)), min_size=3, max_size=3), min_size=2, max_size=9),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_tables_of_numbers_with_points_are_always_understood(rows, delimiter):
    lines = [delimiter.join(["a", "b", "c"])] + [delimiter.join(f"{x:.2f}" for x in row) for row in rows]
    style = find_style("\n".join(lines).encode(), TextStyle(), ",")
    assert (style.delimiter, style.decimal, style.encoding) == (delimiter, ".", "utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "ab"}, "one character or comma"),
        ({"decimal": ";"}, "'.' or ','"),
        ({"encoding": "klingon"}, "no encoding 'klingon'"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(ParameterError, match=message):
        TextStyle(**options)


def test_spaces_around_names_are_left_out(tmp_path):
    (tmp_path / "x.csv").write_text("height, sky ,sea\n1,1,0\n")
    said = []
    with open_table(str(tmp_path / "x.csv"), say=said.append) as table:
        assert table.names == ["height", "sky", "sea"]
    assert said == [f"{tmp_path / 'x.csv'}: spaces around the names of columns are left out: ' sky '."]
    (tmp_path / "x.csv").write_text("sky,sky \n1,0\n")
    with open_table(str(tmp_path / "x.csv"), say=said.append) as table:
        assert table.names == ["sky", "sky "]


def test_rows_on_both_sides_of_the_sample(tmp_path):
    rows = 200_000
    (tmp_path / "x.csv").write_text("a;b\n" + "".join(f"{i},5;é\n" for i in range(rows)), encoding="cp1252")
    said = []
    with open_table(str(tmp_path / "x.csv"), say=said.append) as table:
        frame = table.read({"a": "number", "b": "text"})
    np.testing.assert_array_equal(frame["a"], np.arange(rows) + 0.5)
    assert set(frame["b"]) == {"é"}


def ldlearn(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code == 0
    return capsys.readouterr().err


def test_a_german_spreadsheet_goes_through_every_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = make_table()
    table.to_csv("plain.csv", index=False)
    table.to_csv("german.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    words = ("-l", ",".join(LABELS), "--id", "key", "-o")
    ldlearn(capsys, "fit", "plain.csv", *words, "plain.ldl")
    said = ldlearn(capsys, "fit", "german.csv", *words, "german.ldl")
    found = "note: german.csv: its columns are separated by semicolons, and its numbers have decimal commas.\n"
    assert found in said
    told = ("--delimiter", ";", "--decimal", ",", "--encoding", "cp1252")
    assert "note:" not in ldlearn(capsys, "fit", "german.csv", *words, "told.ldl", *told)
    for model in ("german.ldl", "told.ldl"):
        np.testing.assert_allclose(load_model(model).predict(table), load_model("plain.ldl").predict(table), atol=1e-12)
    assert found in ldlearn(capsys, "predict", "german.csv", "-m", "plain.ldl", "-o", "p.csv")
    assert found in ldlearn(capsys, "enhance", "german.csv", "-m", "plain.ldl", "-o", "e.csv")
    assert found in ldlearn(capsys, "evaluate", "german.csv", "-m", "plain.ldl")
    degrees = pd.read_csv("p.csv")
    degrees.to_csv("p_german.csv", index=False, sep=";", decimal=",")
    assert "p_german.csv: its columns" in ldlearn(capsys, "compare", "p.csv", "p_german.csv")


def read_any(path, style=None):
    said = []
    with open_table(str(path), say=said.append, style=style) as table:
        frame = table.read(dict.fromkeys(table.names, "any"))
    return frame, " ".join(said)


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_one_column_may_have_decimal_commas(tmp_path, name):
    text = 'a,b,c\n"0,126",0.5,"1,234"\n"-1,536",1.5,"2,345"\n7,2.5,"3,456"\n'
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    frame, said = read_any(tmp_path / name)
    assert frame["a"].tolist() == [0.126, -1.536, 7]
    assert frame["b"].tolist() == [0.5, 1.5, 2.5]
    assert frame["c"].tolist() == ["1,234", "2,345", "3,456"]  # thousands, perhaps
    assert said.endswith("decimal commas in 'a', not in other columns.")
    assert read_any(tmp_path / name, TextStyle(decimal="."))[0]["a"].tolist() == ["0,126", "-1,536", "7"]


@pytest.mark.parametrize("cells", [("1,3", "0,12"), ("1,234", "2,345"), ("-0,5", "moist"), ("0,126", "1,2,3")])
def test_lists_thousands_and_texts_are_no_decimal_commas(tmp_path, cells):
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f'"{cell}",0.5\n' for cell in cells))
    frame, said = read_any(tmp_path / "x.csv")
    assert (frame["a"].tolist(), said) == (list(cells), "")


@pytest.mark.parametrize("cell", ["0.640", "0.64", "1.5 kg", "1,234.5", ".5", "<0.1"])
def test_a_column_has_one_decimal_mark(tmp_path, cell):
    (tmp_path / "x.csv").write_text(f"a;b\n0,5;1.304\n{cell};{cell}\n1.234,5;2.500\n")
    frame, said = read_any(tmp_path / "x.csv", TextStyle(decimal=","))
    for name, known in (("a", [0.5, 1234.5]), ("b", [1304, 2500])):
        numbers, junk = read_numbers(frame[name])
        assert junk.tolist() == [False, True, False]
        assert numbers[[0, 2]].tolist() == known
    assert ("decimal points, not commas as was said, in 'b';" in said) is (cell in ("0.640", "0.64", ".5"))


@pytest.mark.parametrize(
    ("cells", "doubtful"),
    [
        (["950", "1.234", "12.500"], True),
        (["1.234", "5.678"], False),  # three decimals in every row
        (["950", "1.234", "12.5"], False),
        (["950", "1.234", "0.123"], False),
        (["950", "1.234", "2500"], False),
    ],
)
def test_points_that_may_stand_between_thousands_are_said(tmp_path, cells, doubtful):
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{cell},0.5\n" for cell in cells))
    frame, said = read_any(tmp_path / "x.csv")
    assert frame["a"].tolist() == [float(cell) for cell in cells]
    assert ("points in 'a' are read as decimal points; if they stand between thousands" in said) is doubtful
    assert read_any(tmp_path / "x.csv", TextStyle(decimal="."))[1] == ""


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "latin.csv"])
def test_no_python_code_and_no_python_object_is_left_to_the_threads_of_arrow(tmp_path, monkeypatch, name):
    """A script may end while they read ahead, or let go of what they were given: that would abort it, or hang."""
    text = (PLAIN * 2).encode("latin-1" if name.startswith("latin") else "utf-8")
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    threads, buffers = [], []

    def counted_read(file, size=-1, read=CountedFile.read):
        threads.append(threading.get_ident())
        return read(file, size)

    def reader(given, make=pyarrow.BufferReader):
        buffers.append(given)
        return make(given)

    monkeypatch.setattr(CountedFile, "read", counted_read)
    monkeypatch.setattr(pyarrow, "BufferReader", reader)
    with open_table(str(tmp_path / name), say=print) as table:
        rows = table.chunks(dict.fromkeys(table.names, "text"))
        next(rows)
    assert set(threads) == {threading.get_ident()}
    assert all(buffer.is_mutable for buffer in buffers)  # Arrow's own, not a view of bytes


@given(
    st.lists(st.lists(st.text('a",\n\r', max_size=4), min_size=2, max_size=2), max_size=8), st.integers(1, 40),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, None]),
)  # fmt: skip
def test_blocks_end_where_rows_do(cells, size, quoting):
    text = io.StringIO()
    if quoting is None:  # as badly written as can be
        text.writelines(",".join(row) + "\n" for row in cells)
    else:
        csv.writer(text, quoting=quoting).writerows(cells)
    try:
        blocks = [
            block.decode() for block in _blocks_of_rows(CountedFile(io.BytesIO(text.getvalue().encode())), size, ",")
        ]
    except TableError:  # a row is longer than two blocks
        reject()
    assert "".join(blocks) == text.getvalue()
    assert all(len(block) <= 2 * size for block in blocks)
    rows = [row for block in blocks for row in csv.reader(io.StringIO(block, newline="")) if row]
    assert rows == [row for row in csv.reader(io.StringIO(text.getvalue(), newline="")) if row]
