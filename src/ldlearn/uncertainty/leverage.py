"""Leverages of rows: how far they are from the training rows, relative to their scatter."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ldlearn.core.simplex import Array, Mask
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.linear_predictor import centred_blocks
from ldlearn.solvers.spd import reciprocal


@dataclass(frozen=True)
class LeverageModel:
    """Mean and scatter of the training rows, and their leverages.

    The leverage of a row is ``(x - mean)' (scatter + ridge I)^-1 (x - mean)``: its squared
    Mahalanobis distance, up to a factor and a ridge. Training rows are treated as new rows, without
    their own contribution to the scatter: ``h / (1 - h)``.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> LeverageModel.from_features(CentredMatrix(rows)).is_far(
    ...     np.array([[0.0, 1.0, 0.0], [0.0, 9.0, 0.0]]), level=0.99
    ... )
    array([False,  True])
    """

    learned = {
        "mean": "float (n_features)",
        "scale": "float (n_features)",
        "basis": "float (n_features, n_features) | None",
        "inverse": "float (n_features)",
        "distances": "float (n_distances)",
    }

    mean: Array
    scale: Array  # of each column
    basis: Array | None  # of the scaled columns; None stands for the identity
    inverse: Array  # of the scatter in that basis
    distances: Array  # of at most 2,000 training rows, sorted

    @classmethod
    def from_features(cls, features: CentredMatrix) -> Self:
        """Compute the model of training rows."""
        # A direction without spread has the ridge instead: 1 % of the mean spread.
        ridge = max(0.01 * features.spread.mean(), np.finfo(float).tiny)
        scale, basis, scatter, identity = features.spectrum(ridge)
        if basis is not None:
            basis = basis.astype(np.float32)
        inverse = reciprocal(scatter + ridge * identity)
        model = cls(features.mean, scale, basis, inverse, np.empty(0))
        leverage = np.minimum(model.distance(features.X[features.sample_rows(2000)]), 1.0 - 1e-9)
        return replace(model, distances=np.sort(leverage / (1.0 - leverage)))

    def distance(self, X: Any) -> Array:
        """Leverage of each row as a new row."""
        found = np.empty(X.shape[0])
        for rows, centred in centred_blocks(X, self.mean, len(self.mean)):
            parts: Array = centred * self.scale
            if self.basis is not None:
                parts = parts @ self.basis
            found[rows] = parts**2 @ self.inverse
        return found

    def is_far(self, X: Any, level: float) -> Mask:
        """Whether the leverage of each row exceeds the quantile ``level`` of the training rows."""
        return self.distance(X) > np.quantile(self.distances, level)
