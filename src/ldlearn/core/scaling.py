"""Standardised features for solvers, and weights given back in the units of the user."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from ldlearn.core.simplex import Array, Weights


class Scaling(NamedTuple):
    """Centre and scale of each feature; a solver works on ``apply(X)``, the user gets ``undo(W, b)``.

    For a model that does not penalise its weights this only changes the coordinates, and so only how fast a
    solver gets there.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def apply(self, X: Any) -> NDArray[np.float64]:
        """``(X - mean) / scale``, dense; exactly zero for a column that is constant (or zero, without centring)."""
        X = X.toarray() if sparse.issparse(X) else X
        return np.asarray((X - self.mean) / self.scale, dtype=np.float64)

    def undo(self, W: Array, b: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights and intercept with ``X @ coef + intercept = apply(X) @ W + b``."""
        coef = W / self.scale[:, None]
        return np.asarray(coef), np.asarray(b - self.mean @ coef)


def feature_scaling(X: Any, center: bool = True, weights: Weights | None = None) -> Scaling:
    """Means and standard deviations of the columns, or zeros and root mean squares if ``center`` is False.

    Rows count as often as their weights say.

    A column without spread gets an infinite scale: its weights vanish, since nothing can be learned of them.

    Examples
    --------
    >>> import numpy as np
    >>> feature_scaling(np.array([[1.0, 7.0], [3.0, 7.0]]))
    Scaling(mean=array([2., 7.]), scale=array([ 1., inf]))
    """
    if sparse.issparse(X):
        mean, scale, largest = _sparse_moments(X.astype(np.float64), center, weights)
    else:
        X = np.asarray(X, dtype=np.float64)
        mean = np.average(X, axis=0, weights=weights) if center else np.zeros(X.shape[1])
        scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        largest = np.abs(X).max(axis=0, initial=0.0)
    # What rounding leaves of a constant column is no spread.
    return Scaling(mean, np.where(scale > 1e-12 * largest, scale, np.inf))


def _sparse_moments(X: Any, center: bool, weights: Weights | None) -> tuple[NDArray[np.float64], ...]:
    """Means, standard deviations (root mean squares without centring) and largest sizes of the columns."""
    mean, variance = mean_variance_axis(X, axis=0, weights=weights)
    if not center:
        mean, variance = np.zeros_like(mean), variance + mean**2
    return mean, np.sqrt(variance), np.asarray(abs(X).max(axis=0).toarray()).ravel()
