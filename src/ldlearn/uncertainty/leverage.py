"""Where the training rows lie, so that rows far from them can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import Array
from ldlearn.solvers.features import Features, centred_blocks, reciprocal

Vector = NDArray[np.float64]
_MOST_ROWS = 2000  # whose distances are kept
_RIDGE = 0.01  # of the mean spread: how much a direction counts in which the training rows hardly differ


@dataclass(frozen=True)
class LeverageModel:
    """Mean and scatter of the training rows, and how far from their mean they lie themselves.

    The distance is the leverage of a row, ``(x - mean)' (scatter + ridge I)^-1 (x - mean)``: the squared Mahalanobis
    distance, but for a factor and a ridge. Training rows are measured as if they were new, without their own share
    in the scatter: ``h / (1 - h)``.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> LeverageModel.of(Features(rows)).is_far(np.array([[0.0, 1.0, 0.0], [0.0, 9.0, 0.0]]), level=0.99)
    array([False,  True])
    """

    mean: Vector
    scale: Vector  # of each column
    basis: NDArray[np.float32] | None  # of the scaled columns; None stands for the identity
    inverse: Vector  # of the scatter in that basis
    distances: Vector  # of training rows, sorted

    @classmethod
    def of(cls, features: Features) -> LeverageModel:
        """Of the rows of a matrix."""
        ridge = max(_RIDGE * float(features.spread.mean()), np.finfo(float).tiny)
        scale, basis, scatter, identity = features.spectrum(ridge)
        narrow = None if basis is None else basis.astype(np.float32)
        empty = cls(features.mean, scale, narrow, reciprocal(scatter + ridge * identity), np.empty(0))
        some = slice(None, None, -(-features.n // _MOST_ROWS))
        leverage = np.minimum(empty.distance(features.X[some]), 1.0 - 1e-9)
        return cls(empty.mean, scale, narrow, empty.inverse, np.sort(leverage / (1.0 - leverage)))

    def distance(self, X: Any) -> Vector:
        """Leverage of each row, were it new."""
        found = np.empty(X.shape[0])
        for rows, centred in centred_blocks(X, self.mean, len(self.mean)):
            parts: Array = centred * self.scale
            parts = parts if self.basis is None else parts @ self.basis
            found[rows] = parts**2 @ self.inverse
        return found

    def is_far(self, X: Any, level: float) -> NDArray[np.bool_]:
        """Whether each row is farther away than the share ``level`` of the training rows."""
        return np.asarray(self.distance(X) > np.quantile(self.distances, level))
