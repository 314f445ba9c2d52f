"""Row numbers in messages are those that a spreadsheet shows: the header is row 1."""

import json

import numpy as np
import openpyxl
import pytest

from ldlearn.datasets import DatasetError, read_dataset
from ldlearn.exceptions import InputError, TableError
from ldlearn.tables import fit_table, prepare_table
from ldlearn.tables.files import ReadingOptions, TableInput
from ldlearn.tables.formats import open_table

# text before the first row of the table, and the number of that row
BEGINNINGS = {
    "a header": ("a,b,c\n", 2),
    "titles": ("Report\n\na,b,c\n", 4),
    "an empty line below": ("a,b,c\n\n", 3),
    "a name of two lines": ('a,"b\n",c\n', 2),
    "both": ('Report\n"a\nx",b,c\n\n', 4),
    "nothing": ("", 1),
    "an empty line above": ("\n", 2),
}


def rows_of(path, **options):
    with open_table(
        TableInput(str(path), ReadingOptions(on_message=lambda _: None, **options))
    ) as source:
        frame = source.read(dict.fromkeys(source.names, "any"))
    assert frame.index[0] == source.first_row
    return frame.index.tolist()


@pytest.mark.parametrize("name", BEGINNINGS)
def test_row_numbers_of_text_tables(tmp_path, name):
    beginning, first = BEGINNINGS[name]
    (tmp_path / "x.csv").write_text(beginning + "1,2,4\n5,6,9\n" * 3)
    assert rows_of(tmp_path / "x.csv") == list(range(first, first + 6))


@pytest.mark.parametrize("chunk", [1, 2, 8192])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_rows_are_counted(tmp_path, monkeypatch, chunk, end):
    monkeypatch.setattr("ldlearn.tables.source.CHUNK_ROWS", chunk)
    lines = ["a,b", "1,2", "", "", "3,4", "5,6", "  ", '"x', 'y",8', ""]
    (tmp_path / "x.csv").write_bytes(end.join(lines).encode())
    assert rows_of(tmp_path / "x.csv") == [2, 5, 6, 8]
    (tmp_path / "short.csv").write_bytes(end.join([*lines[:7], "7"]).encode())
    with pytest.raises(TableError, match="row 8: it has 1 values"):
        rows_of(tmp_path / "short.csv")


def test_row_numbers_of_workbooks(tmp_path):
    book = openpyxl.Workbook()
    for row in [["Survey"], [], ["a", "b"], [1, 2], [], [3, 4], [5, 6]]:
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    assert rows_of(tmp_path / "x.xlsx") == [4, 6, 7]


def test_row_numbers_without_header_start_at_1(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    np.savez(tmp_path / "x.npz", X=np.zeros((2, 1)))
    np.save(tmp_path / "x.npy", np.zeros((2, 1)))
    for name in ("x.jsonl", "x.npz", "x.npy"):
        assert rows_of(tmp_path / name) == [1, 2]


def test_label_errors_name_the_spreadsheet_row(tmp_path):
    path = str(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("x,p,q\n1,1,0\n2,0,1\n\n3,2,1\n4,1,1\n")
    with pytest.raises(TableError, match="row 5, column 'p': 2 is neither 0 nor 1"):
        fit_table(path, "p,q")
    (tmp_path / "x.csv").write_text("x,p,q\n1,1,0\n2,0,1\n3,2,1\n")
    with pytest.raises(DatasetError, match="row 4, column 'p': 2 is neither 0 nor 1"):
        read_dataset(path, labels=["p", "q"], kind="logical")
    (tmp_path / "x.csv").write_text("x,p,q\n1,0.5,0.5\n2,0.1,0.1\n")
    with pytest.raises(InputError, match="row 3: degrees that do not sum to 1"):
        prepare_table(path, "p,q", kind="distribution")
    (tmp_path / "x.csv").write_text("x,p,q\n1,0,1\n2,0,0\n3,1,0\n")
    with pytest.raises(InputError, match="row 3: no"):
        prepare_table(path, "p,q", kind="logical")


def test_json_lines_errors_name_the_line(tmp_path):
    (tmp_path / "x.jsonl").write_text(
        "\n".join(json.dumps({"x": i, "p": i, "q": 1}) for i in range(3))
    )
    with pytest.raises(TableError, match="row 3, column 'p': 2 is neither"):
        fit_table(str(tmp_path / "x.jsonl"), "p,q")
