"""JSON lines: one object per row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.cli.tables.source import CHUNK_ROWS, CountedFile, Kind, Source
from ldlearn.io.values import import_pandas, to_numbers
from ldlearn.models import TableError

_LONGEST_LINE = 64 << 20


class JsonLinesSource(Source):
    """A file of JSON objects, one a line; the columns are the keys of the first rows."""

    def __init__(self, file: CountedFile) -> None:
        self._rows = _parse_lines(file)
        self._first = list(islice(self._rows, CHUNK_ROWS))
        if not self._first:
            raise TableError("the file is empty; one JSON object per line is needed.")
        self.names = list(dict.fromkeys(name for row in self._first for name in row))

    def chunks(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """See `Source.chunks`."""
        rows, start = self._first, 1
        while rows:
            yield _frame(rows, kinds, start)
            start += len(rows)
            rows = list(islice(self._rows, CHUNK_ROWS))


def _parse_lines(file: CountedFile) -> Iterator[dict[str, Any]]:
    number = 0
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise TableError(f"the line is longer than {_LONGEST_LINE >> 20} MB.", row=number + 1)
        if not line.strip():
            continue
        number += 1
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "it is not UTF-8 text or nested too deeply")
            raise TableError(f"the line is no JSON ({reason}).", row=number) from None
        if not isinstance(row, dict):
            raise TableError('the line is no JSON object such as {"age": 3}.', row=number)
        yield row


def _frame(rows: list[dict[str, Any]], kinds: Mapping[str, Kind], start: int) -> Any:
    pandas = import_pandas()
    index = pandas.RangeIndex(start, start + len(rows))
    columns = {}
    for name, kind in kinds.items():
        values = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            values[i] = row.get(name)
            if isinstance(values[i], dict | list):
                kind_found = type(values[i]).__name__
                raise TableError(f"a {kind_found} is neither a number nor a text.", row=start + i, column=name)
        column = pandas.Series(_floats_if_numbers(values) if kind == "any" else values, index=index)
        columns[name] = pandas.Series(to_numbers(column, name), index=index) if kind == "number" else column
    return pandas.DataFrame(columns, index=index)


def _floats_if_numbers(values: NDArray[np.object_]) -> NDArray[Any]:
    """Floats if there are only numbers and nulls; texts, truth values and mixtures stay as they are."""
    if not {type(value) for value in values} <= {int, float, type(None)}:
        return values
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except OverflowError:  # an integer no float can hold
        return values


class JsonLinesSink:
    """Writes frames as JSON lines."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, frame: Any) -> None:
        """Append the rows of a frame."""
        names = [str(name) for name in frame.columns]
        columns = [_plain_values(frame[name]) for name in frame.columns]
        for values in zip(*columns, strict=True):
            line = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False, allow_nan=False)
            self._file.write(line.encode() + b"\n")

    def close(self) -> None:
        """Nothing is left to write."""


def _plain_values(series: Any) -> list[Any]:
    return [None if missing else value for value, missing in zip(series.tolist(), series.isna(), strict=True)]
