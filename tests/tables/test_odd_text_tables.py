"""Text tables as programs export them: titles above the header, separators at the end, row numbers without a name."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ldlearn.exceptions import TableError
from ldlearn.tables import delimited, jsonl
from ldlearn.tables.formats import open_table
from ldlearn.tables.values import read_numbers


def read(path, kinds=None, **options):
    said = []
    with open_table(str(path), say=said.append, **options) as source:
        names = list(source.names)
        frame = source.read(kinds or dict.fromkeys(names, "any"))
    return frame, [text.removeprefix(f"{path}: ") for text in said]


@pytest.mark.parametrize(
    ("above", "said"),
    [
        ("Sales of the third quarter\n", "a line above its header passed over"),
        ("Sales, third quarter\n\n", "2 lines above its header passed over"),
        ("Sales,,,,\nall regions,,,,\n", "2 lines above its header passed over"),
        ('"Sales,\nthird quarter"\n', "2 lines above its header passed over"),
        ("Person,,Marks,,\n", "a line above its header passed over"),
        ("# written by a sensor, 3 channels, 2 Hz, kept, forever, and ever\n# 2024\n", "2 lines above its header"),
    ],
)
def test_titles_above_the_header_are_passed_over_and_said(tmp_path, above, said):
    path = tmp_path / "x.csv"
    path.write_text(above + "a,b,place,sky,sea\n1,2.5,coast,1,0\n3,4.5,land,0,1\n")
    frame, notes = read(path)
    assert list(frame) == ["a", "b", "place", "sky", "sea"]
    assert frame["b"].tolist() == [2.5, 4.5]
    assert len(notes) == 1
    assert said in notes[0]


@pytest.mark.parametrize("header", ["#a,b,c", "a,,c", ",b,c", "a b,b,c"])
def test_a_header_is_no_title(tmp_path, header):
    path = tmp_path / "x.csv"
    path.write_text(header + "\n1,2,3\n4,5,6\n7,8,\n")
    said = []
    with open_table(str(path), by_name=False, say=said.append) as source:
        assert source.names == header.split(",")
    assert said == []


def test_titles_above_a_table_with_semicolons_and_a_note_below_it(tmp_path):
    path = tmp_path / "x.csv"
    rows = "".join(f"{i},5;{i};a, b\n" for i in range(30))
    path.write_text("Bericht\n\nhöhe;count;text\n" + rows)
    frame, notes = read(path)
    assert frame["höhe"].tolist() == [i + 0.5 for i in range(30)]
    assert notes == [
        "its columns are separated by semicolons, and its numbers have decimal commas, and 2 lines above its header "
        "passed over."
    ]
    path.write_text("a;b;c\n" + "1;2;3\n" * 30 + "Source: the office\n")
    with pytest.raises(TableError, match=r"row 31: it has 1 values for 3 columns; .* a note and no row, delete it"):
        read(path)


@pytest.mark.parametrize("text", ["a,b,c,\n1,2,3,\n4,5,6,\n", "a,b,c\n1,2,3,\n4,5,6,\n", "a,b,c,,\n1,2,3,,\n4,5,6,,\n"])
def test_a_separator_at_the_end_makes_no_column(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    frame, notes = read(path)
    assert frame.to_dict("list") == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}
    assert notes == []


def test_row_numbers_without_a_name_get_one(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(",a\n0,5\n1,6\n")
    frame, notes = read(path)
    assert list(frame) == ["column1", "a"]
    assert notes == ["its first column has no name in the header, and is called column1."]
    path.write_text("a,,b\n0,5,1\n1,6,1\n")
    with pytest.raises(TableError, match="column 2 has no name in the header"):
        read(path)


ROWS = 40_000


@pytest.fixture(scope="module")
def late_text(tmp_path_factory):
    """A column whose only text comes after some pieces have been given out already."""
    path = tmp_path_factory.mktemp("late") / "x.csv"
    rows = [f"{i},{i}.5,{i}" for i in range(ROWS)]
    rows[ROWS - 5] = f"{ROWS - 5},moist,7"
    path.write_text("a,b,c\n" + "\n".join(rows) + "\n")
    return path


def test_a_text_far_down_loses_nothing(late_text, monkeypatch):
    monkeypatch.setattr(delimited, "_SMALLEST_BLOCK", 1 << 14)
    frame, _ = read(late_text)
    assert frame["a"].tolist() == list(range(ROWS))
    assert frame["b"].tolist() == [f"{i}.5" if i != ROWS - 5 else "moist" for i in range(ROWS)]
    monkeypatch.setattr(delimited, "CHUNK_ROWS", 1000)
    with open_table(str(late_text)) as source:
        pieces = list(source.chunks({"b": "any", "a": "any"}))
    assert len(pieces) > 10
    assert pieces[0]["b"].dtype == np.float64
    assert pieces[-1]["b"].dtype == object
    assert [int(row) for piece in pieces for row in piece["a"]] == list(range(ROWS))
    assert [row for piece in pieces for row in piece.index] == list(range(1, ROWS + 1))


def test_a_text_where_a_number_must_be_is_named(late_text):
    with pytest.raises(TableError, match=rf"row {ROWS - 4}, column 'b': 'moist' is not a number"):
        read(late_text, {"a": "any", "b": "number"})


def table(rows, header="key,price,size,sky"):
    return "\n".join([header, *rows]) + "\n"


DATA = [f"k{i},{i * 1.5},{i},{i % 2}" for i in range(1, 9)]


@pytest.mark.parametrize("units", ["[id],EUR,m²,", "text,USD,cm,0/1"])
def test_units_below_the_header_are_no_row(tmp_path, units):
    path = tmp_path / "x.csv"
    path.write_text(table([units, *DATA]))
    frame, notes = read(path)
    assert frame.index.tolist() == list(range(2, 10))
    assert len(notes) == 1
    assert f"its first row holds no numbers but units ('{units.split(',')[1]}'" in notes[0]


@pytest.mark.parametrize("first", ["k0,?,-,", "k0,moist,7,1", "k0,,,", "k0,$5,moist,", "k0,moist,(3),"])
def test_a_first_row_with_junk_is_a_row(tmp_path, first):
    path = tmp_path / "x.csv"
    path.write_text(table([first, *DATA]))
    assert len(read(path)[0]) == 9


@pytest.mark.parametrize(
    "last",
    [
        ["Total,54,36,4"],
        ["Summe:,,,"],
        ["k9,1,2,0", "Total,55,,", "Grand total,55,38,"],
        [",54,36,"],
        ["Total,54,4.5,0"],
    ],
)
def test_totals_at_the_end_are_no_rows(tmp_path, last):
    path = tmp_path / "x.csv"
    path.write_text(table(DATA + last))
    frame, notes = read(path)
    assert frame["key"].tolist()[-1] in ("k8", "k9")
    assert "total" in notes[0]
    with open_table(str(path), say=notes.append) as source:
        assert sum(map(len, source.chunks({"key": "text", "price": "any"}))) >= 8


@pytest.mark.parametrize(
    "rows",
    [
        ["partial,1,2,0", *DATA, "total,3,4,1"],
        [*DATA, "total,1,,0", "k9,1,2,0"],
        ["total,2,,1", *DATA, "total,1,,0"],
        [*DATA, "Total,1.5,,1"],  # a customer of that name
        [*DATA, ",54,37,1"],  # a row without a name
        [*DATA, ",54,,"],
    ],
)
def test_the_word_alone_makes_no_total(tmp_path, rows):
    path = tmp_path / "x.csv"
    path.write_text(table(rows))
    frame, notes = read(path)
    assert len(frame) == len(rows)
    assert notes == []


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        (
            [*DATA[:4], "Subtotal,15,10,2", *DATA[4:], "Subtotal,39,26,2", "k9,7,7,1"],
            "rows 5, 10 look like totals ('Subtotal') of those above, but may be data, and stay;",
        ),
        ([*DATA[:4], "SUBTOTAL:,,,", *DATA[4:]], "row 5 looks like a total ('SUBTOTAL:')"),
        ([*DATA[:6], "sum,3.5,7,0", *DATA[6:]], None),  # a category of that name
        ([*DATA[:6], "sum,3.5,7,3", *DATA[6:]], None),  # of which one number happens to be a sum
        (
            ["k1,1,2,1", "k2,2.5,3,0", "sum,5,5,1", *DATA],
            None,
        ),  # of which two numbers are, and one of them of a single one
    ],
)
def test_totals_between_the_rows_are_named_and_kept(tmp_path, rows, named):
    path = tmp_path / "x.csv"
    path.write_text(table(rows))
    frame, notes = read(path)
    assert len(frame) == len(rows)
    assert [named in note for note in notes] == [True] if named else notes == []


def test_lines_that_end_as_on_an_old_computer_are_said(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    with pytest.raises(TableError, match="its lines end in carriage returns alone"):
        read(tmp_path / "x.csv")


def test_empty_rows_at_the_end_are_no_rows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(table([*DATA, ",,,", ",,,"]))
    frame, notes = read(path)
    assert len(frame) == len(DATA)
    assert notes == ["its last 2 rows are empty and passed over."]
    with open_table(str(path)) as source:  # a row to be predicted may lack all that is asked for
        assert sum(map(len, source.chunks({"price": "any"}))) == len(DATA) + 2


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1 234,5", 1234.5),
        ("1.234,5", 1234.5),
        ("1'234,5", 1234.5),
        ("1\u202f234,50 €", 1234.5),
        ("12,5 kg", 12.5),
        ("<0,1", 0.1),
    ],
)
def test_numbers_with_decimal_commas_may_be_decorated(tmp_path, cell, number):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n" + f"{cell};0,5\n" * 8, encoding="utf-8")
    frame, notes = read(path)
    assert read_numbers(frame["a"])[0].tolist() == [number] * 8
    assert "decimal commas" in notes[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_letters_of_two_or_four_bytes(tmp_path, encoding):
    path = tmp_path / "x.csv"
    path.write_bytes(table(DATA).encode(encoding))
    frame, notes = read(path)
    assert frame["size"].tolist() == list(range(1, 9))
    assert notes == [f"its text is {encoding}, not UTF-8."]


@pytest.mark.parametrize(
    ("beginning", "said"), [(b"PK\x03\x04", "Excel"), (b"\x1f\x8b\x08", ".csv.gz"), (b"PAR1", "Parquet")]
)
def test_what_is_no_text_table_is_called_by_its_name(tmp_path, beginning, said):
    (tmp_path / "x.csv").write_bytes(beginning + bytes(50))
    with pytest.raises(TableError, match=f"no text table but .*{said}.*; give it the ending that says so"):
        read(tmp_path / "x.csv")


def test_an_open_quote_does_not_print_the_table(tmp_path):
    (tmp_path / "x.csv").write_text('"' + table(DATA * 9))
    with open_table(str(tmp_path / "x.csv")) as source, pytest.raises(TableError, match="--delimiter") as caught:
        source.find("sky")
    assert len(str(caught.value)) < 300


CELLS = st.sampled_from(["1", "-2.5", "1e3", "", "NA", " 7 ", "01067", "sky", "0,126", "1.234", "True"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12))
def test_first_cells_only_spare_work(tmp_path, rows):
    """Columns are numbers or texts by all of their cells, however few are looked at first."""
    path = tmp_path / "x.csv"
    lines = [",".join(f'"{cell}"' for cell in row) for row in [("a", "b", "c"), *rows, ("end", "end", "end")]]
    found = []
    for rows_of_text, count in ((lines, 1), (lines, 10**6), (lines[:-1], 1), (lines[:-1], 10**6)):
        path.write_text("\n".join(rows_of_text) + "\n")
        with pytest.MonkeyPatch.context() as patched, open_table(str(path), say=lambda words: None) as source:
            patched.setattr(delimited, "_FIRST_CELLS", count)
            patched.setattr(source, "_numeric", set())  # all columns come as texts
            found.append(source.read(dict.fromkeys(source.names, "any")))
    for few, many in (found[:2], found[2:]):
        pd.testing.assert_frame_equal(few, many)


@pytest.mark.parametrize(("last", "kept"), [(sum(range(25)), 25), (300.5, 26)])
def test_a_total_of_several_chunks_is_no_row(tmp_path, monkeypatch, last, kept):
    """The rows that it sums up are gone when it comes; a customer called Total stays."""
    monkeypatch.setattr(jsonl, "CHUNK_ROWS", 9)
    rows = [{"key": f"row {i}", "a": float(i), "b": 2.0 * i} for i in range(25)]
    rows.append({"key": "Total", "a": float(last), "b": 2.0 * last})
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = []
    with open_table(str(tmp_path / "x.jsonl"), say=said.append) as source:
        frames = list(source.chunks(dict.fromkeys(source.names, "any")))
    assert [cell for frame in frames for cell in frame["a"]] == [row["a"] for row in rows[:kept]]
    assert len(said) == (kept == 25)


@pytest.mark.parametrize("size", [2, 5, 7, 8, 26])
@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("row", {"key": "Total", "a": 300.0, "b": 600.0}),
        ("row", {"key": None, "a": 300.0, "b": 600.0}),
        ("row", {"key": "Total", "a": 300.5, "b": 7.0}),
        ("Total", {"key": "Total", "a": None, "b": None}),
    ],
)
def test_chunks_of_any_size_have_the_rows_of_the_whole(tmp_path, monkeypatch, size, first, last):
    """However few are in the last: and a word is a value like others if it stands in an earlier chunk, too."""
    monkeypatch.setattr(jsonl, "CHUNK_ROWS", size)
    rows = [{"key": f"{first}", "a": 0.0, "b": 0.0}] + [{"key": f"row {i}", "a": i, "b": 2.0 * i} for i in range(25)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, [*rows, last])))
    found = []
    for way in ("read", "chunks"):
        with open_table(str(tmp_path / "x.jsonl"), say=lambda sentence: None) as source:
            frames = getattr(source, way)(dict.fromkeys(source.names, "any"))
            found.append([len(frame) for frame in ([frames] if way == "read" else frames)])
    assert sum(found[0]) == sum(found[1])
    assert all(found[1])  # no model predicts nothing
