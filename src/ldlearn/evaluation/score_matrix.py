"""The table all tests start from: one row per data set, one column per method."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldlearn.exceptions import InputError

FloatArray: TypeAlias = NDArray[np.float64]


class TooFewDatasetsWarning(UserWarning):
    """No outcome on so few data sets could be significant."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Checked scores with the names of their columns."""

    values: FloatArray
    methods: tuple[str, ...]

    @property
    def n_datasets(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_methods(self) -> int:
        """Number of columns."""
        return len(self.methods)

    def index(self, method: str | int) -> int:
        """Return the column of a method given by name or by number."""
        if isinstance(method, str) and method in self.methods:
            return self.methods.index(method)
        if isinstance(method, (int, np.integer)) and 0 <= method < self.n_methods:
            return int(method)
        raise InputError(f"There is no method {method!r}; the columns are {', '.join(self.methods)}.")

    def pairs(self, control: str | int | None) -> list[tuple[int, int]]:
        """Return the columns to compare: the control with each other one, or all pairs."""
        if control is None:
            return [(i, j) for i in range(self.n_methods) for j in range(i + 1, self.n_methods)]
        c = self.index(control)
        return [(c, j) for j in range(self.n_methods) if j != c]


def check_scores(scores: ArrayLike, methods: Sequence[str] | None = None) -> ScoreTable:
    """Return scores as a ``ScoreTable``, or say in one sentence what is wrong with them.

    Names come from ``methods``, else from the columns of a frame, else they are "0", "1", ...
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(f"scores must be 2-D (rows are data sets, columns are methods), got shape {values.shape}.")
    n_datasets, n_methods = values.shape
    if n_datasets < 2 or n_methods < 2:
        raise InputError(f"scores must cover at least 2 data sets and 2 methods, got {n_datasets} and {n_methods}.")
    columns = getattr(scores, "columns", range(n_methods)) if methods is None else methods
    names = tuple(str(name) for name in columns)
    if len(names) != n_methods or len(set(names)) != n_methods:
        raise InputError(f"methods must be {n_methods} different names, one per column, got {names}.")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"The score of method {names[column]!r} on data set {row} is {values[row, column]}; "
            "leave out that data set or that method."
        )
    return ScoreTable(values, names)


def round_off(values: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Round to twelve digits of the scale, so that scores equal but for rounding errors tie."""
    # scores that are all 0 have no scale, and are rounded as they are
    safe = np.where(np.asarray(scale) > 0, scale, 1.0)
    return np.asarray(np.round(values / safe, 12) * safe, dtype=np.float64)


def check_alpha(alpha: float) -> None:
    """Refuse a level of significance that is not between 0 and 1."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1, got {alpha!r}.")
