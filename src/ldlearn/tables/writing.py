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
    options : WritingOptions
        Of these ``interval``, ``raters`` and ``flag_far``.
    """

    labels: Sequence[str] = ()
    options: WritingOptions = WritingOptions()

    def __post_init__(self) -> None:
        interval = self.options.interval
        if interval is not None and not 0 < interval < 1:
            raise ParameterError(
                f"interval must be above 0 and below 1, for example 0.9, got {interval:g}."
            )
        if self.options.raters is not None and interval is None:
            raise ParameterError(
                "raters only affect intervals; ask for these too, for example interval=0.9."
            )
        if taken := list(filter(set(self.labels).__contains__, self.names)):
            raise TableError(
                "labels have names of columns that would be added: "
                f"{format_list(taken)}; rename them."
            )

    def __bool__(self) -> bool:
        return self.options.interval is not None or self.options.flag_far

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        names = []
        if self.options.interval is not None:
            for label in self.labels:
                names += [f"{label}_low", f"{label}_high"]
        return names + ["far"] * self.options.flag_far

    def check(self, estimator: Any, verb: str) -> None:
        """Refuse an estimator without intervals before it is to "predict" or to "enhance"."""
        if self:
            check_gives_intervals(estimator, verb)

    def columns(self, estimator: Any, X: Any, Y: Any = None) -> dict[str, Any]:
        """The columns for rows whose degrees are predicted, or recovered from the labels Y."""
        verb = "predict" if Y is None else "enhance"
        self.check(estimator, verb)
        columns: list[Any] = []
        if self.options.interval is not None:
            inputs = (X,) if Y is None else (X, Y)
            low, high = getattr(estimator, f"{verb}_interval")(
                *inputs,
                coverage=self.options.interval,
                n_raters=self.options.raters,
            )
            for ends in zip(low.T, high.T, strict=True):
                columns += ends
        if self.options.flag_far:
            columns.append(estimator.far_from_training(X).astype(np.int8))
        return dict(zip(self.names, columns, strict=True))


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

    def __init__(
        self,
        output: str,
        inputs: list[Any],
        options: WritingOptions,
    ) -> None:
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

    def arrange_columns(
        self,
        frame: Any,
        degrees: Any,
        id: str | None,
        kept: Sequence[str],
        n_labels: int,
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
                column = np.array(as_strings(values), dtype=object)
            else:  # in files with types, chunks of a column must not differ in them
                column = values.to_numpy(dtype=None if self.format in _TEXT_FORMATS else np.float64)
            degrees.insert(place, name, column)
        return degrees


def as_strings(values: Any) -> list[str]:
    """The cells of a column as texts, empty where a value is missing."""
    return values.astype(object).map(str).mask(values.isna(), "").tolist()
