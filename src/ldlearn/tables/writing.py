"""Tables of degrees to write: file, format, and the columns beside the degrees."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np

from ldlearn._messages import format_list
from ldlearn.core.simplex import round_rows
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables.columns import Columns
from ldlearn.tables.files import PIPE
from ldlearn.tables.formats import check_output, format_of
from ldlearn.tables.values import import_pandas

_TEXT_FORMATS = ("csv", "tsv")


class WritingOptions(TypedDict, total=False):
    """Options of the table that is written; see `predict_table`."""

    to: str | None
    round: int | None
    interval: float | None
    raters: float | None
    flag_far: bool
    keep: Columns | None
    raw: bool
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


@dataclass(frozen=True)
class Uncertainty:
    """The columns about uncertainty that are asked for besides the degrees of some labels.

    Attributes
    ----------
    labels : sequence of str
    interval : float or None
        Nominal coverage of the intervals ``LABEL_low`` to ``LABEL_high``; None for no such columns.
    flag_far : bool
        Whether there is a column ``far``, 1 for rows far from the training rows.
    raters : float or None
        How many raters voted on a row, if that is known.
    """

    labels: Sequence[str] = ()
    interval: float | None = None
    flag_far: bool = False
    raters: float | None = None

    def __post_init__(self) -> None:
        if self.interval is not None and not 0 < self.interval < 1:
            raise ParameterError(
                f"interval must be above 0 and below 1, for example 0.9, got {self.interval:g}."
            )
        if self.raters is not None and self.interval is None:
            raise ParameterError(
                "raters only affect intervals; ask for these too, for example interval=0.9."
            )
        taken = [name for name in self.names if name in set(self.labels)]
        if taken:
            raise TableError(
                f"labels have names of columns that would be added: {format_list(taken)}; rename them."
            )

    def __bool__(self) -> bool:
        return self.interval is not None or self.flag_far

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        ends = (
            []
            if self.interval is None
            else [f"{label}_{end}" for label in self.labels for end in ("low", "high")]
        )
        return ends + ["far"] * self.flag_far

    def check(self, estimator: Any, verb: str) -> None:
        """Refuse an estimator without intervals, before any work is done; ``verb`` is what it will
        do."""
        if self:
            check_gives_intervals(estimator, verb)

    def columns(self, estimator: Any, X: Any, Y: Any = None) -> dict[str, Any]:
        """The columns for rows whose degrees are predicted, or recovered from the labels Y."""
        verb, inputs = ("predict", (X,)) if Y is None else ("enhance", (X, Y))
        self.check(estimator, verb)
        columns: dict[str, Any] = {}
        if self.interval is not None:
            low, high = getattr(estimator, f"{verb}_interval")(
                *inputs, coverage=self.interval, n_raters=self.raters
            )
            for j, label in enumerate(self.labels):
                columns |= {f"{label}_low": low[:, j], f"{label}_high": high[:, j]}
        if self.flag_far:
            columns["far"] = estimator.far_from_training(X).astype(np.int8)
        return columns


def check_gives_intervals(estimator: Any, verb: str = "predict") -> None:
    """Refuse an estimator without intervals of what it predicts, or enhances."""
    if not hasattr(estimator, f"{verb}_interval"):
        name = type(estimator).__name__
        raise ParameterError(
            f"{name} gives no intervals and no flag of far rows; use DLDL or VoteLDL."
        )


@dataclass
class Writer:
    """Writes degrees to a file; refuses what would be lost or ignored, before any work is done.

    Attributes
    ----------
    output : str
        The table to write.
    inputs : list
        What it is made from: files are never overwritten.
    to, round, interval, raters, flag_far, keep, raw, overwrite
        See `WritingOptions`.
    """

    output: str
    inputs: list[Any]
    to: str | None = None
    round: int | None = None
    interval: float | None = None
    raters: float | None = None
    flag_far: bool = False
    keep: Columns = None
    raw: bool = False
    overwrite: bool = True
    format: str = field(init=False)

    def __post_init__(self) -> None:
        check_output(
            self.output,
            [name for name in self.inputs if isinstance(name, str)],
            overwrite=self.overwrite,
        )
        self.format = format_of(self.output, self.to)
        if self.raw and self.format not in _TEXT_FORMATS and self.output != PIPE:
            raise ParameterError(
                f"raw is for CSV, TSV and standard output; leave it out for {self.format}."
            )
        if self.round is not None and not 0 <= self.round <= np.finfo(np.float64).precision:
            raise ParameterError(f"round must be from 0 to 15 decimals, got {self.round}.")

    def uncertainty(self, labels: Sequence[str]) -> Uncertainty:
        """What is asked for besides the degrees of these labels."""
        return Uncertainty(labels, self.interval, self.flag_far, self.raters)

    def arrange_columns(
        self, frame: Any, degrees: Any, id: str | None, kept: Sequence[str], n_labels: int
    ) -> Any:
        """Degrees after the ids of their rows and the kept columns, and followed by uncertainty
        columns."""
        if self.round is not None:
            labels = list(degrees.columns[:n_labels])
            rounded = round_rows(degrees[labels].to_numpy(dtype=np.float64), self.round)
            # Ends of intervals are rounded one by one; only degrees have to sum to one.
            degrees = degrees.round(self.round)
            degrees[labels] = rounded
        for place, name in enumerate([*([] if id is None else [id]), *kept]):
            values = frame[name]
            if name == id or values.dtype.kind not in "iuf":
                # As objects: an array of texts gives each the room of the longest.
                column = import_pandas().Series(as_strings(values), dtype=object).to_numpy()
            else:  # in files with types, chunks of a column must not differ in them
                column = values.to_numpy(dtype=None if self.format in _TEXT_FORMATS else np.float64)
            degrees.insert(place, name, column)
        return degrees


def as_strings(values: Any) -> list[str]:
    """The cells of a column as texts, empty where a value is missing."""
    return [
        "" if missing else str(value)
        for value, missing in zip(values.tolist(), values.isna(), strict=True)
    ]
