"""Writing tables of degrees: to which file, in which form, and with what beside the degrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np

from ldlearn.core.simplex import round_rows
from ldlearn.exceptions import ParameterError
from ldlearn.tables.columns import Columns
from ldlearn.tables.formats import check_output, format_of
from ldlearn.tables.uncertainty_columns import Uncertainty
from ldlearn.tables.values import import_pandas

_FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula
_TEXT_FORMATS = ("csv", "tsv")
_MOST_DIGITS = 15  # of a double


class Writing(TypedDict, total=False):
    """What may be said of the way degrees are written; `predict_table` tells what it means."""

    to: str | None
    round: int | None
    interval: float | None
    raters: float | None
    flag_far: bool
    keep: Columns | None
    safe_csv: bool
    overwrite: bool


@dataclass(frozen=True)
class WrittenTable:
    """A table of degrees that was written.

    Attributes
    ----------
    rows : int
    labels : list of str
    output : str
        The file; "-" for standard output.
    messages : list of str
        What the user should know.
    """

    rows: int
    labels: list[str]
    output: str
    messages: list[str]


@dataclass
class Writer:
    """Where degrees go, and in which form; refuses what would be lost or ignored before any work is done.

    Attributes
    ----------
    output : str
        The table to write.
    inputs : list
        What it is made from: files are never overwritten.
    to, round, interval, raters, flag_far, keep, safe_csv, overwrite
        See `Writing`.
    """

    output: str
    inputs: list[Any]
    to: str | None = None
    round: int | None = None
    interval: float | None = None
    raters: float | None = None
    flag_far: bool = False
    keep: Columns = None
    safe_csv: bool = False
    overwrite: bool = True
    format: str = field(init=False)

    def __post_init__(self) -> None:
        check_output(self.output, [name for name in self.inputs if isinstance(name, str)], overwrite=self.overwrite)
        self.format = format_of(self.output, self.to)
        if self.safe_csv and self.format not in _TEXT_FORMATS:
            raise ParameterError(f"safe_csv is for CSV and TSV; {self.format} needs no such thing, leave it out.")
        if self.round is not None and not 0 <= self.round <= _MOST_DIGITS:
            raise ParameterError(f"round must be from 0 to {_MOST_DIGITS} decimals, got {self.round}.")

    def uncertainty(self, labels: Sequence[str]) -> Uncertainty:
        """What is asked for besides the degrees of these labels."""
        return Uncertainty(labels, self.interval, self.flag_far, self.raters)

    def rows(self, frame: Any, degrees: Any, id: str | None, kept: Sequence[str], n_labels: int) -> Any:
        """Degrees with the ids of their rows and the kept columns before them, as they came; uncertainty follow."""
        if self.round is not None:
            labels = list(degrees.columns[:n_labels])
            shares = round_rows(degrees[labels].to_numpy(dtype=np.float64), self.round)
            # Ends of intervals are rounded one by one; only degrees have to sum to one.
            degrees = degrees.round(self.round)
            degrees[labels] = shares
        before = ([] if id is None else [id]) + list(kept)
        for place, name in enumerate(before):
            values = frame[name]
            numbers = name != id and values.dtype.kind in "iuf"
            degrees.insert(place, name, self._numbers(values) if numbers else self._texts(values))
        return degrees

    def _numbers(self, values: Any) -> Any:
        """Numbers; in files with types, pieces of a column must not differ in them."""
        return values.to_numpy() if self.format in _TEXT_FORMATS else values.to_numpy(dtype=np.float64)

    def _texts(self, values: Any) -> Any:
        """Texts; only a missing one stays empty."""
        missing = values.isna().to_numpy()
        texts = ["" if gone else str(value) for value, gone in zip(values.tolist(), missing, strict=True)]
        if self.safe_csv:
            texts = ["'" + text if text.startswith(_FORMULA_MARKS) else text for text in texts]
        # As objects: an array of texts gives each the room of the longest.
        return import_pandas().Series(texts, dtype=object).to_numpy()
