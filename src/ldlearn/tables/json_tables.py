"""JSON lines (.jsonl), one object a row, and JSON files (.json): a list of objects, or tasks.

Lines are parsed by Python's json module: pandas converts values (dates, long numbers) and names no
row in its errors.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from ldlearn.exceptions import TableError
from ldlearn.tables.annotation_formats import is_annotation_task
from ldlearn.tables.columns import find_marked_labels
from ldlearn.tables.files import Budget, OpenInput, TableOutput
from ldlearn.tables.formats import Format, Table
from ldlearn.tables.source import CHUNK_ROWS, RowSource, take_rows_within_budget

_LONGEST_LINE = 64 << 20


class _JsonSource(RowSource):
    """JSON objects, one a row; the columns are the keys of the first rows.

    Tasks of an annotation tool are the table that `read_annotations` makes of them.
    """

    def __init__(
        self,
        opened: OpenInput,
        parse: Callable[[OpenInput], Iterable[dict[str, Any]]],
    ) -> None:
        super().__init__(opened)
        rows = iter(parse(opened))
        # An object may leave out keys, so that one alone does not have all.
        first = take_rows_within_budget(rows, CHUNK_ROWS, self.budget)
        if not first:
            raise TableError("the file is empty; one JSON object per line is needed.")
        if is_annotation_task(first[0]):
            from ldlearn.tables.annotations import count_annotations

            found = count_annotations([*first, *rows], self.budget)
            self.input.log("; ".join(found.messages))
            first = found.table.to_dict("records")
        self.names = list(dict.fromkeys(chain.from_iterable(first)))
        self.labels = find_marked_labels(self.names)
        self._rows = chain(first, rows)

    def _cells(
        self,
        rows: list[dict[str, Any]],
        position: int,
        first: int,
    ) -> list[Any]:
        name = self.names[position]
        cells = [row.get(name) for row in rows]
        for number, cell in enumerate(cells, first):
            parts = cell if isinstance(cell, list) else ()
            if isinstance(cell, dict) or any(isinstance(part, dict | list) for part in parts):
                problem = "neither a number nor a text"
                advice = "`ldlearn import` makes a table of annotations."
                raise TableError(f"{problem}; {advice}", row=number, column=name)
        return cells


def parse_lines(opened: OpenInput) -> Iterator[dict[str, Any]]:
    """The objects of the lines; empty lines are skipped."""
    number = 0
    while line := opened.file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise TableError(f"the line is longer than {_LONGEST_LINE >> 20} MB.", row=number + 1)
        if line.strip():
            number += 1
            row = _parse_json(opened.budget, line, "line", number)
            if not isinstance(row, dict):
                raise TableError('the line is no JSON object such as {"age": 3}.', row=number)
            yield row


def parse_list(opened: OpenInput) -> list[dict[str, Any]]:
    """The objects of a JSON file: a list of them, or one."""
    opened.budget.check(opened.budget.size)
    found = _parse_json(opened.budget, opened.file.read(), "file")
    rows = found if isinstance(found, list) else [found]
    if not any(rows) or set(map(type, rows)) != {dict}:
        raise TableError('a list of JSON objects is needed, such as [{"id": 1, "label": "joy"}].')
    return rows


def _parse_json(
    budget: Budget,
    text: bytes,
    what: str,
    row: int | None = None,
) -> Any:
    try:
        return budget.parse_json(text)
    except TableError:
        raise
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it is not UTF-8 text or nested too deeply")
        raise TableError(f"the {what} is no JSON ({reason}).", row=row) from None


def _write_lines(output: TableOutput, tables: Iterator[Table]) -> None:
    """Write one JSON object a row; NaN becomes null."""
    for table in tables:
        columns = [column.tolist() for column in table.values()]
        for cells in zip(*columns, strict=True):
            row = {}
            for name, cell in zip(table, cells, strict=True):
                row[name] = cell if cell == cell else None
            try:
                line = json.dumps(row, ensure_ascii=False, allow_nan=False)
            except ValueError:
                problem = "JSON has no infinite numbers; use another format."
                raise TableError(problem, where=output.name) from None
            output.file.write(line.encode() + b"\n")


JSONL = Format("JSON lines", partial(_JsonSource, parse=parse_lines), _write_lines)
JSON = Format("JSON", partial(_JsonSource, parse=parse_list))
