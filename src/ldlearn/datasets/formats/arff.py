"""Multi-label ARFF files, as Mulan and MEKA write them."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats.columns import Columns, choose_columns
from ldlearn.datasets.formats.content import KIND_OF_FIELD, Content, distinct, matrices
from ldlearn.datasets.formats.limits import check_declared, check_total
from ldlearn.errors import DatasetError

_NUMERIC = ("numeric", "real", "integer")
_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.+)""", re.IGNORECASE)
_MARK = "% label matrix of ldlearn: "
_MEKA_COUNT = re.compile(r"-C\s+(-?\d+)")
# a pattern, not an XML parser: a list of names is all that is wanted, and entities could be a trap
_XML_LABEL = re.compile(r"""<label\s+name\s*=\s*("[^"]*"|'[^']*')""")


@dataclass(frozen=True)
class _Header:
    relation: str
    names: list[str]
    values: list[dict[str, float] | None]
    field: str


def read_arff(path: Path, features: Columns, labels: Columns, max_bytes: int) -> Content:
    """Features and labels of an ARFF file.

    Which attributes are the labels is told by `labels`, else by a Mulan file of the same name that ends in
    .xml, else by the option -C that MEKA puts into the name of the relation.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = _read_header(file)
        if labels is None:
            labels = _mulan_labels(path) or _meka_labels(header)
        choice = choose_columns(header.names, features, labels, str(path))
        matrix = _read_rows(file, header, path, max_bytes)
    label_columns = next(iter(choice.labels.values()))
    check_declared(8 * matrix.shape[0] * len(label_columns), 8 * path.stat().st_size, path)
    Y = matrix[:, label_columns]
    nominal = all(header.values[i] is not None for i in label_columns)
    kind = "logical" if nominal else KIND_OF_FIELD.get(header.field, "auto")
    return Content(
        X=matrix[:, choice.features],
        labels={kind: Y.toarray() if scipy.sparse.issparse(Y) else Y},
        feature_names=choice.feature_names,
        label_names=choice.label_names,
        texts={"name": _unquote(header.relation).split(": -C")[0]},
    )


def _read_header(file: IO[str]) -> _Header:
    relation, field, names, values = "", "", [], []
    for line in file:
        text = line.strip()
        keyword = text[:10].lower()
        if keyword.startswith("@relation"):
            relation = text[len("@relation") :].strip()
        elif keyword.startswith("@attribute"):
            name, value = _attribute(text)
            names.append(name)
            values.append(value)
        elif keyword.startswith("@data"):
            return _Header(relation, names, values, field)
        elif text.startswith(_MARK):
            field = text.removeprefix(_MARK)
        elif text and not text.startswith("%"):
            raise DatasetError(f"the line {text[:60]!r} stands before @data and is no attribute")
    raise DatasetError("it has no line @data")


def _attribute(text: str) -> tuple[str, dict[str, float] | None]:
    """Name of an attribute, and the numbers that its nominal values stand for (None if it is numeric)."""
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise DatasetError(f"the attribute {text[:60]!r} cannot be understood")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.lower() in _NUMERIC:
        return name, None
    if not (kind.startswith("{") and kind.endswith("}")):
        raise DatasetError(f"the attribute {name!r} is of type {kind[:30]!r}, which is no number")
    categories = [_unquote(cell.strip()) for cell in next(csv.reader([kind[1:-1]], quotechar="'"), [])]
    return name, {category: _category_number(category, name) for category in categories}


def _category_number(category: str, name: str) -> float:
    try:
        return float(category)
    except ValueError as error:
        raise DatasetError(
            f"the attribute {name!r} has the value {category!r}, which is no number; encode it first"
        ) from error


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _mulan_labels(path: Path) -> list[str | int] | None:
    companion = path.with_suffix(".xml")
    if not companion.is_file():
        return None
    found = _XML_LABEL.findall(companion.read_text(encoding="utf-8-sig"))
    return [html.unescape(name[1:-1]) for name in found] or None


def _meka_labels(header: _Header) -> slice | None:
    counts = _MEKA_COUNT.findall(header.relation)
    if not counts:
        return None
    count = int(counts[-1])
    return slice(count, None) if count < 0 else slice(0, count)


def _read_rows(file: IO[str], header: _Header, path: Path, max_bytes: int) -> Any:
    rows = ((number, text) for number, line in enumerate(file) if (text := line.strip()) and not text.startswith("%"))
    first = next(rows, None)
    if first is None:
        return np.empty((0, len(header.names)))
    read = _sparse_rows if first[1].startswith("{") else _dense_rows
    return read(_chain(first, rows), header, path, max_bytes)


def _chain(first: tuple[int, str], rows: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rows


def _dense_rows(rows: Iterator[tuple[int, str]], header: _Header, path: Path, max_bytes: int) -> NDArray[np.float64]:
    width, table = len(header.names), []
    for number, text in rows:
        cells = text.split(",")
        if len(cells) != width:
            raise DatasetError(f"data line {number} has {len(cells)} values for {width} attributes")
        table.append(np.array([_number(cell, header, i, number) for i, cell in enumerate(cells)]))
        check_total(len(table) * width * 8, max_bytes, path)
    return np.stack(table)


def _sparse_rows(rows: Iterator[tuple[int, str]], header: _Header, path: Path, max_bytes: int) -> Any:
    values: list[float] = []
    columns: list[int] = []
    starts = [0]
    for number, text in rows:
        if not (text.startswith("{") and text.endswith("}")):
            raise DatasetError(f"data line {number} is not sparse like the first one")
        cells = [cell.split(None, 1) for cell in text[1:-1].split(",") if cell.strip()]
        for cell in cells:
            column = int(cell[0])
            if len(cell) != 2 or not 0 <= column < len(header.names):
                raise DatasetError(f"data line {number} names the attribute {cell[0]!r}, which does not exist")
            columns.append(column)
            values.append(_number(cell[1], header, column, number))
        starts.append(len(values))
        check_total(len(values) * 16, max_bytes, path)
    shape = (len(starts) - 1, len(header.names))
    return scipy.sparse.csr_matrix((np.array(values), np.array(columns, dtype=np.int64), starts), shape=shape)


def _number(cell: str, header: _Header, column: int, line: int) -> float:
    text = _unquote(cell.strip())
    if text == "?":
        return float("nan")
    categories = header.values[column]
    try:
        return float(text) if categories is None else categories[text]
    except (ValueError, KeyError) as error:
        raise DatasetError(
            f"data line {line}: {text[:30]!r} is no value of the attribute {header.names[column]!r}"
        ) from error


def write_arff(data: LabelDataset, path: Path) -> None:
    """Write a data set for MEKA: features first, then the labels, as many as -C says.

    A set with distributions writes them (or the votes behind them) as numeric labels.
    """
    field, labels = next(iter(matrices(data).items()))
    kind = "{0,1}" if field == "Y" else "numeric"
    names = distinct([*data.feature_names, *data.label_names])
    kinds = ["numeric"] * data.n_features + [kind] * data.n_labels
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{_MARK}{field}\n")
        file.write(f"@relation {_quote(f'{data.name}: -C -{data.n_labels}')}\n\n")
        file.writelines(f"@attribute {_quote(n)} {k}\n" for n, k in zip(names, kinds, strict=True))
        file.write("\n@data\n")
        for x, y in zip(data.X, labels, strict=True):
            file.write(_row(x, y) + "\n")


def _quote(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise DatasetError(f"ARFF cannot hold the name {text!r}, which has a line break.")
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def _row(x: Any, y: NDArray[Any]) -> str:
    if not scipy.sparse.issparse(x):
        return ",".join(map(_digits, [*x.tolist(), *y.tolist()]))
    row, width = x.tocsr(), x.shape[-1]
    cells = sorted(zip(row.indices.tolist(), row.data.tolist(), strict=True))
    cells += [(width + j, value) for j, value in enumerate(y.tolist()) if value]
    return "{" + ", ".join(f"{column} {_digits(value)}" for column, value in cells) + "}"


def _digits(value: Any) -> str:
    return "?" if value != value else repr(value)
