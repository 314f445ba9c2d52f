"""Multi-label ARFF files, as Mulan and MEKA write them.

Own code because scipy.io.arff reads neither sparse rows nor labels, and the packages that do are no
longer maintained.
"""

import csv
import html
import re
from array import array
from collections.abc import Iterable, Mapping
from itertools import filterfalse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.arrays import ArraySource
from ldlearn.tables.columns import (
    LABEL_MARKS,
    check_distinct,
    find_columns,
    is_number,
    mark_if_ambiguous,
)
from ldlearn.tables.files import Budget, OpenInput, TableOutput
from ldlearn.tables.formats import DatasetContent, Format
from ldlearn.tables.values import has_leading_zero, import_pandas, to_numbers

_NUMERIC_TYPES = ("numeric", "real", "integer")
_ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.+)""", re.IGNORECASE
)
_MARK = "% label matrix of ldlearn: "
_CATEGORY_BYTES = 120  # a text in a list and in a dictionary
_ENTRY_BYTES = 16  # a number and its column
_MEKA_COUNT = re.compile(r"-C\s+(-?\d+)")
# A pattern, not an XML parser: a list of names is all that is wanted, and entities could be a trap.
_XML_LABEL = re.compile(r"""<label\s+name\s*=\s*("[^"]*"|'[^']*')""")


class _Attribute(NamedTuple):
    name: str
    categories: Mapping[str, str] | None  # to themselves; None if it is numeric

    def parse(self, cell: str, row: int) -> str | None:
        """A cell without quotes; None if the value is missing."""
        text = _unquote(cell.strip())
        if text == "?":
            return None
        if self.categories is None:
            return text
        if text not in self.categories:
            problem = f"{text[:30]!r} is no value of this attribute."
            raise TableError(problem, row=row, column=self.name)
        return self.categories[text]  # of which there is one in memory

    def parse_number(self, cell: str, row: int) -> float:
        """A cell as a number; NaN if the value is missing."""
        text = self.parse(cell, row)
        try:
            return float(text or "nan")
        except ValueError:
            return to_numbers(import_pandas().Series([text], [row]), self.name)[0]


def _open_arff(opened: OpenInput) -> ArraySource:
    """The attributes of an ARFF file.

    The labels are those of a Mulan file of the same name that ends in .xml, or those counted by the
    option -C that MEKA puts into the name of the relation.
    """
    budget = opened.budget
    with opened.path.open(encoding="utf-8-sig", newline="") as file:
        relation, field, attributes = _read_header(file, budget)
        budget.check_columns(len(attributes))
        names = [attribute.name for attribute in attributes]
        # The .xml names each label; the option only counts them.
        labels = _mulan_labels(opened.path, names) or _meka_labels(relation, len(names))
        arrays = _read_columns(file, attributes, budget)
    if all(attributes[i].categories is not None for i in labels):
        field = "Y"
    source = ArraySource(opened, *arrays)
    source.texts = {"name": _unquote(relation).split(": -C")[0]}
    if labels:
        source.labels = {field: labels}
    fields = dict.fromkeys(labels, field)
    source.names = []
    for i, name in enumerate(names):
        source.names.append(mark_if_ambiguous(name, fields.get(i, "X")))
    return source


def _read_header(lines: Iterable[str], budget: Budget) -> tuple[str, str, list[_Attribute]]:
    """The relation, what its labels hold, and its attributes."""
    relation = ""
    field = "auto"
    attributes = []
    for line in lines:
        text = line.strip()
        keyword = text[:10].lower()
        if keyword.startswith("@relation"):
            relation = text[len("@relation") :].strip()
        elif keyword.startswith("@attribute"):
            budget.spend(_CATEGORY_BYTES * (1 + text.count(",")))
            attributes.append(_parse_attribute(text))
        elif keyword.startswith("@data"):
            return relation, field, attributes
        elif text.startswith(_MARK) and text.removeprefix(_MARK) in LABEL_MARKS:
            field = text.removeprefix(_MARK)
        elif text and not text.startswith("%"):
            raise TableError(f"the line {text[:60]!r} stands before @data and is no attribute.")
    raise TableError("it has no line @data.")


def _parse_attribute(text: str) -> _Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise TableError(f"the attribute {text[:60]!r} cannot be understood.")
    name = _unquote(match[1])
    kind = match[2].strip()
    if kind.lower() in _NUMERIC_TYPES:
        return _Attribute(name, None)
    if not (kind.startswith("{") and kind.endswith("}")):
        problem = f"the attribute is of type {kind[:30]!r}, which is no number."
        raise TableError(problem, column=name)
    values = [_unquote(value.strip()) for value in _split_quoted(kind[1:-1])]
    return _Attribute(name, dict(zip(values, values, strict=True)))


def _mulan_labels(path: Path, names: list[str]) -> list[int]:
    companion = path.with_suffix(".xml")
    if not companion.is_file():
        return []
    found = _XML_LABEL.findall(companion.read_text(encoding="utf-8-sig"))
    labels = [html.unescape(name[1:-1]) for name in found]
    return find_columns(names, labels, companion.name) if labels else []


def _meka_labels(relation: str, n_attributes: int) -> list[int]:
    # The last one: the name of the set, which stands before it, may contain similar text.
    count = int((_MEKA_COUNT.findall(relation) or ["0"])[-1])
    positions = list(range(n_attributes))
    # Below 0 the labels stand last: MEKA's convention.
    return positions[count:] if count < 0 else positions[:count]


def _read_columns(
    lines: Iterable[str],
    attributes: list[_Attribute],
    budget: Budget,
) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """The cells as arrays, and the array and position of each attribute.

    The numbers of a sparse file stay sparse unless some are missing.
    """
    values = array("d")
    columns = array("q")
    starts = array("q", [0])
    texts: dict[int, list[str | None]] = {}
    for i, attribute in enumerate(attributes):
        categories = attribute.categories or ()
        # Codes such as 01 stay texts.
        if not all(map(is_number, categories)) or any(map(has_leading_zero, categories)):
            texts[i] = []
    is_sparse = False
    row = 0
    for line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        row += 1
        if row == 1:
            is_sparse = text.startswith("{")
        split = _sparse_cells if is_sparse else _dense_cells
        cells = split(text, row, len(attributes))
        budget.spend(_ENTRY_BYTES * (1 + len(cells) + len(texts)))
        for i in filterfalse(texts.__contains__, cells):
            values.append(attributes[i].parse_number(cells[i], row))
            columns.append(i)
        starts.append(len(values))
        for i, column in texts.items():
            column.append(attributes[i].parse(cells.get(i, "0"), row))
    parts = tuple(map(np.array, (values, columns, starts)))
    # The columns of texts are empty in it.
    numbers = scipy.sparse.csr_array(parts, shape=(row, len(attributes)))
    # A missing value is no zero.
    if not is_sparse or np.isnan(values).any():
        budget.check(8 * row * len(attributes))
        numbers = numbers.toarray()
    arrays = {"numbers": numbers}
    places = [("numbers", i) for i in range(len(attributes))]
    for i, column in texts.items():
        arrays[str(i)] = np.array(column, dtype=object).reshape(-1, 1)
        places[i] = (str(i), 0)
    return arrays, places


def _dense_cells(text: str, row: int, width: int) -> Mapping[int, str]:
    has_quotes = "'" in text or '"' in text
    cells = _split_quoted(text) if has_quotes else text.split(",")
    if len(cells) != width:
        raise TableError(f"it has {len(cells)} values for {width} attributes.", row=row)
    return dict(enumerate(cells))


def _sparse_cells(text: str, row: int, width: int) -> Mapping[int, str]:
    if not (text.startswith("{") and text.endswith("}")):
        raise TableError("it is not sparse like the first row.", row=row)
    found = {}
    for cell in filter(str.strip, text[1:-1].split(",")):
        number, *value = cell.split(None, 1)
        if not value or not number.isdecimal() or int(number) >= width:
            problem = f"it names the attribute {number[:20]!r}, which does not exist."
            raise TableError(problem, row=row)
        found[int(number)] = value[0]
    return found


def _split_quoted(text: str) -> list[str]:
    return next(csv.reader([text], quotechar="'", skipinitialspace=True), [])


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _write_arff(output: TableOutput, content: DatasetContent) -> None:
    """Write for MEKA: features, then the labels, counted by -C; degrees become numeric labels."""
    content.check_numbers_only()
    field, labels = next(iter(content.labels.items()))
    names = [*content.feature_names, *content.label_names]
    check_distinct(names)
    relation = f"{content.texts.get('name', 'table')}: -C -{len(content.label_names)}"
    for name in (relation, *names):
        if "\n" in name or "\r" in name:
            raise TableError(f"ARFF cannot hold the name {name!r}, which has a line break.")
    kinds = dict.fromkeys(content.feature_names, "numeric")
    kinds |= dict.fromkeys(content.label_names, "{0,1}" if field == "Y" else "numeric")
    lines = [f"{_MARK}{field}", f"@relation {_quote(relation)}", ""]
    lines += [f"@attribute {_quote(name)} {kind}" for name, kind in kinds.items()]
    output.file.write("\n".join([*lines, "", "@data", ""]).encode())
    for x, y in zip(content.X, labels, strict=True):
        output.file.write(_format_row(x, y).encode() + b"\n")


def _quote(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def _format_row(x: Any, y: NDArray[Any]) -> str:
    if not scipy.sparse.issparse(x):
        return ",".join(map(_format_number, [*x.tolist(), *y.tolist()]))
    row = x.tocsr()
    row.sort_indices()
    cells = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
    for j in np.flatnonzero(y).tolist():
        cells[x.shape[-1] + j] = y[j].item()
    return "{" + ", ".join(f"{i} {_format_number(value)}" for i, value in cells.items()) + "}"


def _format_number(value: Any) -> str:
    if value != value:
        return "?"
    # repr gives as few digits as read back the same number. True and 1.0 are written as 1, a
    # category of 0/1 labels.
    return repr(+value).removesuffix(".0")


ARFF = Format("ARFF", _open_arff, write_content=_write_arff)
