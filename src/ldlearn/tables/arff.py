"""Multi-label ARFF files, as Mulan and MEKA write them.

Own code because scipy.io.arff reads neither sparse rows nor labels, and the packages that do are no
longer maintained.
"""

import csv
import html
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import MARKS, check_distinct, is_number, mark_if_ambiguous
from ldlearn.tables.files import OpenInput, Output
from ldlearn.tables.formats import DatasetContent, Format
from ldlearn.tables.source import (
    CHUNK_ROWS,
    Kind,
    RowSource,
    SparseTable,
    make_frame,
    rows_per_chunk,
    take_rows,
)
from ldlearn.tables.values import import_pandas, to_numbers

_NUMERIC = ("numeric", "real", "integer")
_ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.+)""", re.IGNORECASE
)
_MARK = "% label matrix of ldlearn: "
_CATEGORY_BYTES = 120  # a text in a list and in a set
_CELL_BYTES = 130  # a text and its position in a dictionary
_MEKA_COUNT = re.compile(r"-C\s+(-?\d+)")
# a pattern, not an XML parser: a list of names is all that is wanted, and entities could be a trap
_XML_LABEL = re.compile(r"""<label\s+name\s*=\s*("[^"]*"|'[^']*')""")

Categories = frozenset[str] | None  # None: the attribute is numeric
Cells = Mapping[int, str]


class ArffSource(RowSource):
    """The attributes of an ARFF file.

    The labels are those of a Mulan file of the same name that ends in .xml, or those counted by the
    option -C that MEKA puts into the name of the relation.
    """

    def __init__(self, opened: OpenInput) -> None:
        super().__init__(opened)
        self._file = opened.stack.enter_context(opened.path.open(encoding="utf-8-sig", newline=""))
        self._relation, self._label_field = "", "auto"
        self.names = []
        self._categories: list[Categories] = []
        self._read_header()
        self.texts = {"name": _unquote(self._relation).split(": -C")[0]}
        # The .xml names each label; the option only counts them.
        labels = self._mulan_labels() or self._meka_labels()
        field = "Y" if all(self._categories[i] is not None for i in labels) else self._label_field
        self.labels = {field: labels} if labels else {}
        marked = set(labels)
        self.names = [
            mark_if_ambiguous(name, field if i in marked else "X")
            for i, name in enumerate(self.names)
        ]
        lines = (text for line in self._file if (text := line.strip()) and text[0] != "%")
        first = list(islice(lines, 1))
        self._is_sparse = bool(first) and first[0].startswith("{")
        cells = self._sparse_cells if self._is_sparse else self._dense_cells
        self._rows = (cells(text, row) for row, text in enumerate(chain(first, lines), start=1))
        self.budget.check_columns(len(self.names))

    def _read_header(self) -> None:
        for line in self._file:
            text = line.strip()
            keyword = text[:10].lower()
            if keyword.startswith("@relation"):
                self._relation = text[len("@relation") :].strip()
            elif keyword.startswith("@attribute"):
                self.budget.spend(_CATEGORY_BYTES * (1 + text.count(",")))
                name, categories = _parse_attribute(text)
                self.names.append(name)
                self._categories.append(categories)
            elif keyword.startswith("@data"):
                return
            elif text.startswith(_MARK) and text.removeprefix(_MARK) in MARKS:
                self._label_field = text.removeprefix(_MARK)
            elif text and not text.startswith("%"):
                raise TableError(f"the line {text[:60]!r} stands before @data and is no attribute.")
        raise TableError("it has no line @data.")

    def _mulan_labels(self) -> list[int]:
        companion = Path(self.input.table).with_suffix(".xml")
        if not self.input.has_path or not companion.is_file():
            return []
        found = _XML_LABEL.findall(companion.read_text(encoding="utf-8-sig"))
        return (
            self.find([html.unescape(name[1:-1]) for name in found], companion.name)
            if found
            else []
        )

    def _meka_labels(self) -> list[int]:
        # The last one: the name of the set, which stands before it, may contain similar text.
        count = int((_MEKA_COUNT.findall(self._relation) or ["0"])[-1])
        positions = list(range(len(self.names)))
        # Below 0 the labels stand last: MEKA's convention.
        return positions[count:] if count < 0 else positions[:count]

    def _dense_cells(self, text: str, row: int) -> Cells:
        cells = text.split(",") if "'" not in text and '"' not in text else _split_quoted(text)
        if len(cells) != len(self.names):
            raise TableError(
                f"it has {len(cells)} values for {len(self.names)} attributes.", row=row
            )
        self.budget.spend(_CELL_BYTES * len(cells))
        return dict(enumerate(cells))

    def _sparse_cells(self, text: str, row: int) -> Cells:
        if not (text.startswith("{") and text.endswith("}")):
            raise TableError("it is not sparse like the first row.", row=row)
        found = {}
        for cell in (cell.split(None, 1) for cell in text[1:-1].split(",") if cell.strip()):
            if len(cell) != 2 or not cell[0].isdecimal() or int(cell[0]) >= len(self.names):
                raise TableError(
                    f"it names the attribute {cell[0][:20]!r}, which does not exist.", row=row
                )
            found[int(cell[0])] = cell[1]
        self.budget.spend(_CELL_BYTES * len(found))
        return found

    def _column(self, rows: list[Cells], position: int, kind: Kind, first: int) -> NDArray[Any]:
        # A sparse row leaves out zeros.
        texts = [
            self._read_cell(cells.get(position, "0"), position, row)
            for row, cells in enumerate(rows, first)
        ]
        values = np.array(texts, dtype=object)
        if kind == "text" or not self._is_numeric(position):
            return values
        with suppress(ValueError):
            return np.array([np.nan if text is None else text for text in texts], dtype=np.float64)
        pandas = import_pandas()
        return to_numbers(
            pandas.Series(values, pandas.RangeIndex(first, first + len(rows))), self.names[position]
        )

    def _is_numeric(self, position: int) -> bool:
        return all(map(is_number, self._categories[position] or ()))

    def _read_cell(self, cell: str, position: int, row: int) -> str | None:
        text, categories = _unquote(cell.strip()), self._categories[position]
        if text == "?":
            return None
        if categories is not None and text not in categories:
            raise TableError(
                f"{text[:30]!r} is no value of this attribute.",
                row=row,
                column=self.names[position],
            )
        return text

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`; the numbers of a sparse file stay sparse, but for its labels."""
        dense = {i for positions in self.labels.values() for i in positions}
        dense |= {i for i, kind in kinds.items() if kind == "text" or not self._is_numeric(i)}
        numbers = [i for i in kinds if i not in dense]
        others = {i: kind for i, kind in kinds.items() if i in dense}
        if not self._is_sparse or not numbers:
            yield from super().blocks(kinds)
            return
        first = 1
        while rows := take_rows(self._rows, rows_per_chunk(128 * (1 + len(others))), self.budget):
            columns = {i: self._column(rows, i, kind, first) for i, kind in others.items()}
            frame = make_frame(columns, first).reindex(range(first, first + len(rows)))
            table = SparseTable(frame, self._to_csr(rows, numbers, first), numbers, self.budget)
            # A missing value is no zero.
            yield table.to_frame() if np.isnan(table.matrix.data).any() else table
            first += len(rows)

    def read_matrices(self, groups: Mapping[str, list[int]]) -> dict[str, Any]:
        """See `Source.read_matrices`; features of a sparse file stay sparse."""
        if not self._is_sparse:
            return super().read_matrices(groups)
        blocks = []
        n_rows = 0
        while rows := take_rows(self._rows, CHUNK_ROWS, self.budget):
            blocks.append(self._to_csr(rows, list(range(len(self.names))), n_rows + 1))
            n_rows += len(rows)
        whole = scipy.sparse.vstack(
            [scipy.sparse.csr_matrix((0, len(self.names))), *blocks], format="csr"
        )
        made: dict[str, Any] = {}
        for field, positions in groups.items():
            # Labels become dense.
            if field != "X":
                self.budget.check(8 * n_rows * len(positions))
            made[field] = whole[:, positions] if field == "X" else whole[:, positions].toarray()
        return made

    def _to_csr(self, rows: list[Cells], positions: list[int], first: int) -> Any:
        """These columns of some rows; ``first`` is the number of the first of them, for
        messages."""
        places = {position: j for j, position in enumerate(positions)}
        values: list[float] = []
        columns: list[int] = []
        starts = [0]
        for row, cells in enumerate(rows, first):
            wanted = [i for i in cells if i in places]
            columns += [places[i] for i in wanted]
            values += [float(self._read_cell(cells[i], i, row) or "nan") for i in wanted]
            starts.append(len(values))
        shape = (len(rows), len(positions))
        return scipy.sparse.csr_array(
            (np.array(values), np.array(columns, dtype=np.int64), starts), shape=shape
        )


def _parse_attribute(text: str) -> tuple[str, Categories]:
    """Name of an attribute, and the values it can have (None if it is numeric)."""
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise TableError(f"the attribute {text[:60]!r} cannot be understood.")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.lower() in _NUMERIC:
        return name, None
    if not (kind.startswith("{") and kind.endswith("}")):
        raise TableError(
            f"the attribute is of type {kind[:30]!r}, which is no number.", column=name
        )
    return name, frozenset(_unquote(value.strip()) for value in _split_quoted(kind[1:-1]))


def _split_quoted(text: str) -> list[str]:
    return next(csv.reader([text], quotechar="'", skipinitialspace=True), [])


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _write_arff(output: Output, content: DatasetContent) -> None:
    """Write for MEKA: features first, then the labels, counted by -C; degrees, or votes, become
    numeric labels."""
    content.check_numbers_only()
    field, labels = next(iter(content.labels.items()))
    names = [*content.feature_names, *content.label_names]
    check_distinct(names)
    relation = f"{content.texts.get('name', 'table')}: -C -{len(content.label_names)}"
    for name in (relation, *names):
        if "\n" in name or "\r" in name:
            raise TableError(f"ARFF cannot hold the name {name!r}, which has a line break.")
    kinds = ["numeric"] * len(content.feature_names) + [
        "{0,1}" if field == "Y" else "numeric"
    ] * labels.shape[1]
    head = [f"{_MARK}{field}", f"@relation {_quote(relation)}", ""]
    head += [f"@attribute {_quote(name)} {kind}" for name, kind in zip(names, kinds, strict=True)]
    output.file.write("\n".join([*head, "", "@data", ""]).encode())
    for x, y in zip(content.X, labels, strict=True):
        output.file.write(_format_row(x, y).encode() + b"\n")


def _quote(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def _format_row(x: Any, y: NDArray[Any]) -> str:
    if not scipy.sparse.issparse(x):
        return ",".join(map(_format_number, [*x.tolist(), *y.tolist()]))
    row, width = x.tocsr(), x.shape[-1]
    cells = sorted(zip(row.indices.tolist(), row.data.tolist(), strict=True))
    cells += [(width + j, value) for j, value in enumerate(y.tolist()) if value]
    return "{" + ", ".join(f"{column} {_format_number(value)}" for column, value in cells) + "}"


def _format_number(value: Any) -> str:
    # repr gives as few digits as read back the same number. True and 1.0 are written as 1, a
    # category of 0/1 labels.
    return "?" if value != value else repr(+value).removesuffix(".0")


ARFF = Format("ARFF", ArffSource, write_content=_write_arff)
