"""Tables of degrees to write: file, format, and the columns beside the degrees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import get_tags

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


def check_writing(output: str, inputs: list[Any], options: WritingOptions) -> WritingOptions:
    """Refuse what cannot be written or would be ignored, before any work is done.

    Parameters
    ----------
    output : str
        The table to write.
    inputs : list
        What it is made from: files are never overwritten.
    options : WritingOptions

    Returns
    -------
    WritingOptions
        With the format of the table.
    """
    check_output(output, inputs, overwrite=options.overwrite)
    format = format_of(output, options.to)
    if options.raw and format not in _TEXT_FORMATS and output != PIPE:
        raise ParameterError(f"raw is for CSV, TSV and standard output; leave it out for {format}.")
    if options.round is not None and not 0 <= options.round <= np.finfo(np.float64).precision:
        raise ParameterError(f"round must be from 0 to 15 decimals, got {options.round}.")
    return replace(options, to=format)


def name_uncertainty_columns(
    estimator: Any, labels: Sequence[str], options: WritingOptions, verb: str = "predict"
) -> list[str]:
    """The columns about uncertainty that are asked for besides the degrees of the labels.

    Refuses an estimator that cannot give them where it is to "predict" or to "enhance".
    """
    interval = options.interval
    names = []
    if interval is not None:
        if not 0 < interval < 1:
            raise ParameterError(
                f"interval must be above 0 and below 1, for example 0.9, got {interval:g}."
            )
        for label in labels:
            names += [f"{label}_low", f"{label}_high"]
    elif options.raters is not None:
        raise ParameterError(
            "raters only affect intervals; ask for these too, for example interval=0.9."
        )
    names += ["far"] * options.flag_far
    if taken := list(filter(set(labels).__contains__, names)):
        raise TableError(
            f"labels have names of columns that would be added: {format_list(taken)}; rename them."
        )
    if interval is not None:
        check_gives_intervals(estimator, verb)
        _check_takes_raters(estimator, options.raters)
    if options.flag_far and not hasattr(estimator, "far_from_training"):
        raise ParameterError(
            f"{type(estimator).__name__} flags no rows far from training; leave out flag_far "
            "(--flag-far), or use DLDL or VoteLDL."
        )
    return names


def uncertainty_columns(
    estimator: Any, labels: Sequence[str], options: WritingOptions, X: Any, Y: Any = None
) -> dict[str, Any]:
    """These columns for rows whose degrees are predicted, or recovered from the labels Y."""
    verb = "predict"
    inputs = [X]
    if Y is not None:
        verb = "enhance"
        inputs.append(Y)
    names = name_uncertainty_columns(estimator, labels, options, verb)
    columns: list[Any] = []
    if options.interval is not None:
        known = {}
        if not get_tags(estimator).counts:
            known["n_raters"] = options.raters
        interval = getattr(estimator, f"{verb}_interval")
        low, high = interval(*inputs, coverage=options.interval, **known)
        for ends in zip(low.T, high.T, strict=True):
            columns += ends
    if options.flag_far:
        columns.append(estimator.far_from_training(X).astype(np.int8))
    return dict(zip(names, columns, strict=True))


def check_gives_intervals(estimator: Any, verb: str = "predict") -> None:
    """Refuse an estimator without intervals of what it predicts, or enhances."""
    if not hasattr(estimator, f"{verb}_interval"):
        raise ParameterError(
            f"{type(estimator).__name__} gives no intervals; use DLDL, VoteLDL, or for counts of "
            "votes CountLDL."
        )


def _check_takes_raters(estimator: Any, raters: float | None) -> None:
    if raters is not None and get_tags(estimator).counts:
        raise ParameterError(
            f"{type(estimator).__name__} learns from counts of votes, which are as many as the "
            "raters of a row; leave out raters (--raters)."
        )


def arrange_columns(
    frame: Any,
    degrees: Any,
    id: str | None,
    kept: Sequence[str],
    n_labels: int,
    options: WritingOptions,
) -> Any:
    """Degrees after ids and kept columns of their rows, and followed by uncertainty columns."""
    if options.round is not None:
        labels = list(degrees.columns[:n_labels])
        rounded = round_rows(degrees[labels].to_numpy(dtype=np.float64), options.round)
        # Ends of intervals are rounded one by one; only degrees have to sum to one.
        degrees = degrees.round(options.round)
        degrees[labels] = rounded
    beside = list(kept) if id is None else [id, *kept]
    for place, name in enumerate(beside):
        values = frame[name]
        if name == id or values.dtype.kind not in "iuf":
            # As objects: an array of texts gives each the room of the longest.
            column = np.array(as_strings(values), dtype=object)
        else:  # in files with types, chunks of a column must not differ in them
            column = values.to_numpy(dtype=None if options.to in _TEXT_FORMATS else np.float64)
        degrees.insert(place, name, column)
    return degrees


def as_strings(values: Any) -> list[str]:
    """The cells of a column as texts, empty where a value is missing."""
    return values.astype(object).map(str).mask(values.isna(), "").tolist()
