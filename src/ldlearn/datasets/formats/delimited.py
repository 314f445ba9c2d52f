"""Text tables: .csv and .tsv."""

from __future__ import annotations

import csv
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.errors import DatasetError
from ldlearn.datasets.formats.columns import Columns, choose_columns, headings
from ldlearn.datasets.formats.content import KIND_OF_FIELD, Content, distinct, matrices
from ldlearn.datasets.formats.limits import check_total

_BLOCK_ROWS = 50_000


def import_pandas() -> Any:
    """Import the package pandas, or say what to install."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError('Text tables need the package pandas: pip install "ldlearn[io]".') from error
    return pandas


def read_delimited(path: Path, features: Columns, labels: Columns, max_bytes: int) -> Content:
    """Features and labels of a text table whose first line names the columns, unless it holds numbers only."""
    pandas = import_pandas()
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = _heading(file, _separator(path))
    choice = choose_columns(names, features, labels, str(path))
    parts = {"X": choice.features, **choice.labels}
    columns = [i for positions in parts.values() for i in positions]
    try:
        table = _read_numbers(pandas, path, columns, max_bytes)
    except ValueError as error:
        _raise_first_text(pandas, path, names, columns)
        raise DatasetError(f"{path} is no table of {len(names)} columns: {error}") from error
    cuts = np.cumsum([len(positions) for positions in parts.values()])[:-1]
    blocks = dict(zip(parts, np.split(table, cuts, axis=1), strict=True))
    return Content(
        X=np.ascontiguousarray(blocks.pop("X")),
        labels={KIND_OF_FIELD.get(field, "auto"): block for field, block in blocks.items()},
        feature_names=choice.feature_names,
        label_names=choice.label_names,
    )


def _separator(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _heading(file: IO[str], separator: str) -> list[str]:
    """Names of the columns; the file is then at the first row of numbers."""
    first = next(csv.reader(file, delimiter=separator), None)
    if first is None:
        raise DatasetError("it is empty")
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


def _blocks(pandas: Any, path: Path, dtype: Any) -> Iterator[Any]:
    """Blocks of rows below the heading, as frames."""
    with path.open(encoding="utf-8-sig", newline="") as file, warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # rows that are too long
        names = _heading(file, _separator(path))
        reader = pandas.read_csv(
            file,
            sep=_separator(path),
            header=None,
            names=range(len(names)),
            index_col=False,
            dtype=dtype,
            float_precision="round_trip",
            chunksize=_BLOCK_ROWS,
        )
        yield from reader


def _read_numbers(pandas: Any, path: Path, columns: list[int], max_bytes: int) -> NDArray[np.float64]:
    blocks, rows = [np.empty((0, len(columns)))], 0
    dtypes: dict[int, Any] = defaultdict(lambda: str)
    dtypes.update(dict.fromkeys(columns, np.float64))
    try:
        for block in _blocks(pandas, path, dtypes):
            blocks.append(block[columns].to_numpy(dtype=np.float64))
            rows += len(block)
            check_total(rows * len(columns) * 8, max_bytes, path)
    except pandas.errors.EmptyDataError:
        return blocks[0]
    return np.concatenate(blocks)


def _raise_first_text(pandas: Any, path: Path, names: list[str], columns: list[int]) -> None:
    """Name the first cell that is no number, if that is what is wrong."""
    rows = 0
    for block in _blocks(pandas, path, str):
        for column in columns:
            bad = pandas.to_numeric(block[column], errors="coerce").isna() & block[column].notna()
            if bad.any():
                row = int(np.argmax(bad))
                raise DatasetError(
                    f"{path}: row {rows + row} (counted from 0), column {names[column]!r}: "
                    f"{block[column].iloc[row]!r} is no number."
                )
        rows += len(block)


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
