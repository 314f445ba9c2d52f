"""JSON files: a list of objects, one a row, or the tasks of an annotation tool."""

from __future__ import annotations

from typing import NoReturn

from ldlearn.exceptions import TableError
from ldlearn.tables.annotation_labels import is_task
from ldlearn.tables.annotations import count_tasks
from ldlearn.tables.formats import Format
from ldlearn.tables.jsonl import JsonLinesSource, parse_list
from ldlearn.tables.sink import Output
from ldlearn.tables.source import Input


class JsonSource(JsonLinesSource):
    """A list of objects, as lines would hold them; of tasks, the table that `read_annotations` makes."""

    def __init__(self, given: Input) -> None:
        rows = parse_list(given)
        if is_task(rows[0]):
            found = count_tasks(rows)
            given.log("; ".join(found.notes))
            rows = found.table.to_dict("records")
        super().__init__(given, iter(rows))


def _refuse(output: Output) -> NoReturn:
    raise TableError("a .json file can only be read; write JSON lines, .jsonl.", where=output.name)


JSON = Format("JSON", JsonSource, _refuse, is_stream=True)
