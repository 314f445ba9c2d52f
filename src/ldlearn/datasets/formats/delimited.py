"""Text tables: .csv and .tsv."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats.arrow import import_pyarrow
from ldlearn.datasets.formats.columns import Columns, choose_columns, headings
from ldlearn.datasets.formats.content import KIND_OF_FIELD, Content, distinct, matrices
from ldlearn.datasets.formats.limits import check_total
from ldlearn.errors import DatasetError

_BLOCK_ROWS = 50_000
_MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")


def read_delimited(path: Path, features: Columns, labels: Columns, max_bytes: int) -> Content:
    """Features and labels of a text table whose first line names the columns, unless it holds numbers only."""
    pyarrow = import_pyarrow()
    with path.open("rb") as file:
        names = _heading(file, _separator(path))
    choice = choose_columns(names, features, labels, str(path))
    parts = {"X": choice.features, **choice.labels}
    columns = [i for positions in parts.values() for i in positions]
    try:
        table = _read_numbers(pyarrow, path, columns, max_bytes)
    except pyarrow.ArrowInvalid as error:
        _raise_first_fault(path, columns)
        raise DatasetError(f"{path} is no table of numbers: {error}") from error
    cuts = np.cumsum([len(positions) for positions in parts.values()])[:-1]
    blocks = dict(zip(parts, np.split(table, cuts, axis=1), strict=True))
    return Content(
        X=blocks.pop("X"),
        labels={KIND_OF_FIELD.get(field, "auto"): block for field, block in blocks.items()},
        feature_names=choice.feature_names,
        label_names=choice.label_names,
    )


def _separator(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _heading(file: IO[bytes], separator: str) -> list[str]:
    """Names of the columns; the file is then at the first row of numbers."""
    lines = (line.decode("utf-8") for line in iter(file.readline, b""))
    first = next(csv.reader(lines, delimiter=separator), None)
    if not first:
        raise DatasetError("its first line is empty")
    first[0] = first[0].removeprefix("\ufeff")  # the mark that some editors put before the text
    if all(_is_number(cell) for cell in first):
        file.seek(0)
        return [f"column{i}" for i in range(len(first))]
    return first


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_numbers(pyarrow: Any, path: Path, columns: list[int], max_bytes: int) -> NDArray[np.float64]:
    blocks, rows = [np.empty((0, len(columns)))], 0
    for block in _blocks(pyarrow, path, columns):
        blocks.append(np.column_stack([column.to_numpy(zero_copy_only=False) for column in block.columns]))
        rows += block.num_rows
        check_total(rows * len(columns) * 8, max_bytes, path)
    return np.concatenate(blocks)


def _blocks(pyarrow: Any, path: Path, columns: list[int]) -> Iterator[Any]:
    """Blocks of rows below the heading, only the chosen columns."""
    import pyarrow.csv as arrow_csv

    with path.open("rb") as file:
        names = [str(i) for i in range(len(_heading(file, _separator(path))))]
        if not file.read(1):
            return
        file.seek(-1, 1)
        wanted = [names[i] for i in columns]
        reader = arrow_csv.open_csv(
            file,
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=_separator(path)),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, pyarrow.float64()),
                null_values=_MISSING,
            ),
        )
        yield from reader


def _raise_first_fault(path: Path, columns: list[int]) -> None:
    """Name the first row or cell that is wrong, which the fast parser does not do well."""
    with path.open("rb") as file:
        names = _heading(file, _separator(path))
        lines = (line.decode("utf-8") for line in iter(file.readline, b""))
        rows = (row for row in csv.reader(lines, delimiter=_separator(path)) if row)
        for number, row in enumerate(rows):
            where = f"{path}: row {number} (counted from 0)"
            if len(row) != len(names):
                raise DatasetError(f"{where} has {len(row)} cells for {len(names)} columns.")
            for i in columns:
                if row[i] not in _MISSING and not _is_number(row[i]):
                    raise DatasetError(f"{where}, column {names[i]!r}: {row[i][:40]!r} is no number.")


def write_delimited(data: LabelDataset, path: Path) -> None:
    """Write a data set as a text table with enough digits to read the same numbers back."""
    labels = matrices(data)
    names = distinct(headings(data.feature_names, data.label_names, list(labels)))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=_separator(path))
        writer.writerow(names)
        for start in range(0, data.n_samples, _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            parts = [data.X[rows].tolist(), *(matrix[rows].tolist() for matrix in labels.values())]
            writer.writerows([cell for cells in row for cell in cells] for row in zip(*parts, strict=True))
