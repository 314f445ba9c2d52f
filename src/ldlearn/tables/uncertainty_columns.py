"""Columns that say how sure degrees are: ends of intervals, and a flag for rows far from the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlearn.exceptions import ParameterError, TableError, format_list

FAR = "far"


@dataclass(frozen=True)
class Uncertainty:
    """The columns about uncertainty that are asked for besides the degrees of some labels.

    Attributes
    ----------
    labels : sequence of str
    interval : float or None
        Share of the degrees that ``LABEL_low`` and ``LABEL_high`` are to hold; None for no such columns.
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
            raise ParameterError(f"interval must be above 0 and below 1, for example 0.9, got {self.interval:g}.")
        if self.raters is not None and self.interval is None:
            raise ParameterError(
                "raters are told for the sake of intervals; ask for these too, for example interval=0.9."
            )
        taken = [name for name in self.names if name in set(self.labels)]
        if taken:
            raise TableError(
                f"labels have the names of columns that would be added: {format_list(taken)}; rename them."
            )

    def __bool__(self) -> bool:
        return self.interval is not None or self.flag_far

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        ends = [] if self.interval is None else [f"{label}_{end}" for label in self.labels for end in ("low", "high")]
        return ends + [FAR] * self.flag_far

    def check(self, estimator: Any, verb: str) -> None:
        """Refuse an estimator that cannot say how sure it is, before any work is done; ``verb`` is what it will do."""
        if self and not hasattr(estimator, f"{verb}_interval"):
            raise ParameterError(
                f"{type(estimator).__name__} does not say how sure it is; use DLDL, DLDLCV or VoteLDL for "
                "intervals and the flag of far rows."
            )

    def of(self, estimator: Any, X: Any, Y: Any = None) -> list[tuple[str, Any]]:
        """The columns for rows whose degrees are predicted, or recovered from the labels Y."""
        if not self:
            return []
        verb, given = ("predict", (X,)) if Y is None else ("enhance", (X, Y))
        self.check(estimator, verb)
        columns: list[Any] = []
        if self.interval is not None:
            give = getattr(estimator, f"{verb}_interval")
            lower, upper = (np.asarray(end).T for end in give(*given, coverage=self.interval, n_raters=self.raters))
            columns += [end for pair in zip(lower, upper, strict=True) for end in pair]
        if self.flag_far:
            columns.append(estimator.far_from_training(X).astype(np.int8))
        return list(zip(self.names, columns, strict=True))
