"""Tables of degrees to write: file, format, and the columns beside the degrees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlearn._messages import format_list
from ldlearn.core.simplex import round_rows
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables.files import PIPE
from ldlearn.tables.formats import check_output, format_of
from ldlearn.tables.options import WritingOptions
from ldlearn.tables.values import import_pandas

_TEXT_FORMATS = ("csv", "tsv")


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
        labels = set(self.labels)
        if taken := [name for name in self.names if name in labels]:
            raise TableError(
                "labels have names of columns that would be added: "
                f"{format_list(taken)}; rename them."
            )

    def __bool__(self) -> bool:
        return self.interval is not None or self.flag_far

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        names = []
        if self.interval is not None:
            for label in self.labels:
                names += [f"{label}_low", f"{label}_high"]
        return names + ["far"] * self.flag_far

    def check(self, estimator: Any, verb: str) -> None:
        """Refuse an estimator without intervals before it is to "predict" or to "enhance"."""
        if self:
            check_gives_intervals(estimator, verb)

    def columns(self, estimator: Any, X: Any, Y: Any = None) -> dict[str, Any]:
        """The columns for rows whose degrees are predicted, or recovered from the labels Y."""
        verb = "predict" if Y is None else "enhance"
        self.check(estimator, verb)
        columns: dict[str, Any] = {}
        if self.interval is not None:
            inputs = (X,) if Y is None else (X, Y)
            give_interval = getattr(estimator, f"{verb}_interval")
            low, high = give_interval(*inputs, coverage=self.interval, n_raters=self.raters)
            for j, label in enumerate(self.labels):
                columns[f"{label}_low"] = low[:, j]
                columns[f"{label}_high"] = high[:, j]
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


class Writer:
    """Arranges degrees for a file; refuses what would be lost or ignored, before any work is done.

    Parameters
    ----------
    output : str
        The table to write.
    inputs : list
        What it is made from: files are never overwritten.
    options : WritingOptions
    """

    def __init__(self, output: str, inputs: list[Any], options: WritingOptions) -> None:
        files = [name for name in inputs if isinstance(name, str)]
        check_output(output, files, overwrite=options.overwrite)
        self.output = output
        self.options = options
        self.format = format_of(output, options.to)
        if options.raw and self.format not in _TEXT_FORMATS and output != PIPE:
            raise ParameterError(
                f"raw is for CSV, TSV and standard output; leave it out for {self.format}."
            )
        if options.round is not None and not 0 <= options.round <= np.finfo(np.float64).precision:
            raise ParameterError(f"round must be from 0 to 15 decimals, got {options.round}.")

    def uncertainty(self, labels: Sequence[str]) -> Uncertainty:
        """What is asked for besides the degrees of these labels."""
        options = self.options
        return Uncertainty(labels, options.interval, options.flag_far, options.raters)

    def arrange_columns(
        self, frame: Any, degrees: Any, id: str | None, kept: Sequence[str], n_labels: int
    ) -> Any:
        """Degrees after ids and kept columns of their rows, and followed by uncertainty columns."""
        decimals = self.options.round
        if decimals is not None:
            labels = list(degrees.columns[:n_labels])
            rounded = round_rows(degrees[labels].to_numpy(dtype=np.float64), decimals)
            # Ends of intervals are rounded one by one; only degrees have to sum to one.
            degrees = degrees.round(decimals)
            degrees[labels] = rounded
        beside = list(kept) if id is None else [id, *kept]
        for place, name in enumerate(beside):
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
