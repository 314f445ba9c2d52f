"""Excel workbooks."""

import datetime
import errno
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np
import openpyxl
import pandas as pd
import pytest

from ldlearn.datasets import DatasetError, load_uk_budget_shares, read_dataset, write_dataset
from ldlearn.exceptions import FileError, TableError
from ldlearn.tables.files import ReadingOptions, TableInput
from ldlearn.tables.formats import open_table, write_table


def workbook(path, rows, sheets=()):
    book = openpyxl.Workbook()
    sheet = book.active
    for title in sheets:
        sheet = book.create_sheet(title)
    for row in rows:
        sheet.append(row)
    book.save(path)
    return str(path)


def read(name):
    messages = []
    with open_table(TableInput(name, ReadingOptions(on_message=messages.append))) as table:
        return table.read(dict.fromkeys(table.names, "any")), messages


def test_title_above_the_header_is_skipped(tmp_path):
    rows = [["Survey of 2024"], [], ["id", "age", "when", "sky"]]
    rows += [
        ["a", 31, datetime.datetime(2024, 5, 1), 1],
        ["b", None, datetime.datetime(2024, 5, 2, 7, 30), 0],
    ]
    frame, messages = read(workbook(tmp_path / "x.xlsx", rows))
    assert list(frame.columns) == ["id", "age", "when", "sky"]
    assert frame["when"].tolist() == ["2024-05-01", "2024-05-02T07:30:00"]
    np.testing.assert_array_equal(frame["age"], [31, np.nan])
    assert len(messages) == 1
    assert messages[0].startswith(f"{tmp_path / 'x.xlsx'}: ")
    assert "row 3" in messages[0]


def test_chosen_sheet_is_reported(tmp_path):
    _, messages = read(workbook(tmp_path / "x.xlsx", [["a", "b"], [1, 2]], sheets=["data"]))
    assert len(messages) == 1
    assert "sheet 'data'" in messages[0]


def test_unnamed_columns_are_left_out_and_reported(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6], "d": [0, 1]}).to_excel(tmp_path / "x.xlsx")
    frame, messages = read(str(tmp_path / "x.xlsx"))
    assert list(frame.columns) == ["a", "b", "c", "d"]
    assert len(messages) == 1
    assert "without a name" in messages[0]
    assert "left out" in messages[0]


def test_reads_workbooks_of_pandas(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2.5], "place": ["é", None], "sky": [True, False]})
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    found, messages = read(str(tmp_path / "x.xlsx"))
    assert messages == []
    assert found["x"].tolist() == [1.5, 2.5]
    assert found["sky"].tolist() == [True, False]


def test_dataset_round_trip(tmp_path):
    data = load_uk_budget_shares()
    write_dataset(data, tmp_path / "b.xlsx")
    back = read_dataset(tmp_path / "b.xlsx", labels="food:other")
    np.testing.assert_array_equal(back.X, data.X)
    np.testing.assert_array_equal(back.D, data.D)


def test_workbook_from_standard_input(tmp_path, monkeypatch):
    with open(workbook(tmp_path / "x.xlsx", [["a", "b"], [1, 2]])) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with open_table(TableInput("-", ReadingOptions("xlsx"))) as table:
            assert table.read({"b": "any"})["b"].tolist() == [2]


def test_errors_name_row_and_column(tmp_path):
    name = workbook(tmp_path / "x.xlsx", [["a", "b"], [1, 2], ["tall", 3]])
    with pytest.raises(DatasetError, match="row 3, column 'a': 'tall' is not a finite number"):
        read_dataset(name, "a", "b")
    with (
        pytest.raises(TableError, match=r"e\.xlsx: the file is empty"),
        open_table(TableInput(workbook(tmp_path / "e.xlsx", []))),
    ):
        pass
    (tmp_path / "x.xlsx").write_bytes(b"nonsense")
    with pytest.raises(DatasetError, match="cannot be read as an Excel workbook"):
        read_dataset(tmp_path / "x.xlsx", labels="a")


def test_sheet_with_a_single_note_is_skipped(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["see the other sheet"])
    sheet = book.create_sheet("data")
    for row in (["a", "b"], [1, 2], [], [3, 4]):
        sheet.append(row)
    book.save(tmp_path / "x.xlsx")
    frame, messages = read(str(tmp_path / "x.xlsx"))
    assert frame["a"].tolist() == [1, 3]
    assert "the table is on the sheet 'data'" in messages[0]


def test_remote_cell_is_rejected_before_allocation(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", 1
    book.save(tmp_path / "x.xlsx")
    with (
        pytest.raises(TableError, match=r"549,755,813,888 bytes of memory"),
        open_table(TableInput(str(tmp_path / "x.xlsx"))),
    ):
        pass


SHEET = "xl/worksheets/sheet1.xml"
SHARED_TEXTS = """<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>{}</t></si></sst>"""


def repack(path, edit):
    """Change the parts of a workbook, a dict of names to texts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    edit(parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def add_cells(parts, cells):
    parts[SHEET] = parts[SHEET].replace("</sheetData>", f"{cells}</sheetData>")


def hide_far_cell(parts):
    add_cells(parts, '<row r = "1048576"><c r = "XFD1048576"><v>1</v></c></row>')
    parts["xl/other.xml"] = parts.pop(SHEET)
    for name in ("xl/_rels/workbook.xml.rels", "[Content_Types].xml"):
        parts[name] = parts[name].replace("worksheets/sheet1.xml", "other.xml")


def add_cells_without_references(parts):
    add_cells(parts, f'<row r="1000000">{"<c><v>1</v></c>" * 300}</row>')


def repeat_shared_text(parts):
    add_cells(
        parts, '<row r="4"><c r="A4" t="s"><v>0</v></c><c r="B4" t="s"><v> +00</v></c></row>' * 40
    )
    parts["xl/texts.xml"] = SHARED_TEXTS.format("x" * (30 << 20))
    parts["xl/decoy.xml"] = SHARED_TEXTS.format("</t></si><si><t>" * 5)


DOCTYPE = "<!DOCTYPE x [<!ENTITY a 'text'>]>"
BOMBS = {
    "a document type": (
        lambda parts: parts.update({SHEET: DOCTYPE + parts[SHEET]}),
        "document type",
    ),
    "one of lower case": (
        lambda parts: parts.update({"xl/t.xml": DOCTYPE.lower()}),
        "document type",
    ),
    "a long cell": (
        lambda parts: add_cells(parts, LONG_CELL.format("x" * 32_768)),
        "32,767 characters",
    ),
    "a far cell elsewhere": (hide_far_cell, "bytes of memory"),
    "cells without references": (add_cells_without_references, "9,600,000,000 bytes of memory"),
    "a text in many cells": (repeat_shared_text, "bytes of memory"),
}
LONG_CELL = '<row r="4"><c r="A4" t="inlineStr"><is><t>{}</t></is></c></row>'


@pytest.mark.parametrize("case", BOMBS)
def test_memory_bombs_are_rejected(tmp_path, case):
    edit, message = BOMBS[case]
    name = workbook(tmp_path / "x.xlsx", [["a", "b"], [1, 2], [3, 4]])
    repack(name, edit)
    with pytest.raises(TableError, match=message):
        read(name)


def test_cell_length_limit_of_excel(tmp_path):
    name = workbook(tmp_path / "x.xlsx", [["a", "b"], ["x", 2], ["&" * 32_767, 4]])
    assert read(name)[0]["a"].tolist()[1] == "&" * 32_767
    with pytest.raises(TableError, match="32,767 characters"):
        write_table(name, [{"a": np.array(["x" * 32_768], dtype=object)}])


def test_formula_like_texts_round_trip_as_text(tmp_path):
    texts = ["=1+1", "=", "#N/A", "#DIV/0!", "+1", "-1", "@x", "plain"]
    name = str(tmp_path / "x.xlsx")
    write_table(name, [{"=id": np.array(texts, dtype=object), "#N/A": np.arange(8.0)}])
    with open_table(TableInput(name)) as table:
        assert table.names == ["=id", "#N/A"]
        assert table.read({"=id": "text"})["=id"].tolist() == texts
    assert {cell.data_type for cell in openpyxl.load_workbook(name).active["A"]} == {"s"}


def test_integers_are_read_without_a_fraction(tmp_path):
    name = workbook(tmp_path / "x.xlsx", [["id", 2024], [7, 1.5], [8, 2]])
    with open_table(TableInput(name)) as table:
        assert table.names == ["id", "2024"]
        assert table.read({"id": "text"})["id"].tolist() == [7, 8]


def test_corrupted_workbooks_are_read_or_rejected(tmp_path):
    path = tmp_path / "x.xlsx"
    content = Path(
        workbook(path, [["a", "b"], *([i, f"text {i}"] for i in range(50))])
    ).read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for _ in range(150):
        damaged = bytearray(content)
        for i in rng.integers(0, len(content), 3):
            damaged[i] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            read(str(path))
        except TableError:
            refused += 1
    assert refused > 50


def test_full_disk_error_names_the_workbook(tmp_path):
    full = mock.patch(
        "openpyxl.worksheet._write_only.WriteOnlyWorksheet.append",
        side_effect=OSError(errno.ENOSPC, "No space"),
    )
    messages = pytest.raises(FileError, match=r"x\.xlsx: it cannot be written \(no space\)")
    with full, messages:
        write_table(str(tmp_path / "x.xlsx"), [{"a": np.arange(3)}])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a\x01b", "\x00", "tab\x0b", "\x1f"])
def test_writer_rejects_control_characters(tmp_path, text):
    name = str(tmp_path / "x.xlsx")
    with pytest.raises(
        TableError, match=r"x\.xlsx: the cell .* no workbook can hold: control characters"
    ):
        write_table(name, [{"id": np.array(["ok", text], dtype=object)}])
    assert list(tmp_path.iterdir()) == []
    write_table(name, [{"id": np.array(["a\tb\nc", "ok"], dtype=object)}])  # which are allowed
    assert read(name)[0]["id"].tolist() == ["a\tb\nc", "ok"]
