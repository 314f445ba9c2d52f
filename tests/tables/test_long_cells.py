"""Cells and columns whose size or time a reader must bound."""

import time

import pytest

from ldlearn.exceptions import TableError
from ldlearn.tables.files import ReadingOptions, TableInput
from ldlearn.tables.formats import open_table
from ldlearn.tables.formulas import escape_formula
from ldlearn.tables.values import read_numbers


@pytest.mark.parametrize(
    "cell",
    ["1" * 60_000 + "x", "1" + " " * 60_000 + "x1", "(" + " " * 3000 + "x", ".1" * 60_000 + ",x"],
)
def test_time_to_read_a_long_cell_is_linear(tmp_path, cell):
    path = tmp_path / "t.csv"
    path.write_text("x;a;b\n" + f"{cell};1;0\n" * 3)
    start = time.process_time()
    with open_table(
        TableInput(str(path), ReadingOptions(on_message=lambda text: None)), "reading"
    ) as source:
        column = source.read({"x": "any"})["x"]
    assert read_numbers(column).malformed.all()
    assert escape_formula(f"-{cell}")[0] == "'"
    assert time.process_time() - start < 3


def test_texts_stored_as_differences_are_refused(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"x": ["word " * 1000] * 100, "a": list(range(100))})
    options = {"use_dictionary": False, "column_encoding": {"x": "DELTA_BYTE_ARRAY", "a": "PLAIN"}}
    parquet.write_table(table, tmp_path / "t.parquet", **options)
    read = open_table(TableInput(str(tmp_path / "t.parquet")), "reading")
    with pytest.raises(TableError, match="differences"), read as source:
        source.read({"x": "any"})
    with open_table(TableInput(str(tmp_path / "t.parquet")), "reading") as source:
        assert len(source.read({"a": "any"})) == 100
