"""Negative labels that mean less instead of none: how much a row's 0/1 labels count against its features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldlearn.core.simplex import Array, Mask, SampleWeight
from ldlearn.core.targets import fill_unknown

_SELECTION = 0.5  # largest dispersion of the number of positive labels that is taken for a selection
# kappa over the mean number of positive labels, if they are a selection and if not (benchmarks/negative_labels.py).
_CONCENTRATIONS = (2.0, 0.25)


Moments = tuple[float, Array, float]


def count_moments(
    Y: Mask, observed: Mask | None = None, sample_weight: SampleWeight | None = None, rates: Array | None = None
) -> Moments:
    """Sums over rows: weights, positive labels, and squares of the number of positive labels of a row.

    An unknown label counts as its rate of positives: see `fill_unknown`. With given ``rates``, the sums of blocks of
    rows add up.

    Examples
    --------
    >>> count_moments(np.array([[True, True, False], [False, True, False]]))
    (2.0, array([1., 2., 0.]), 5.0)
    """
    filled = fill_unknown(Y, observed, sample_weight, rates)
    weights = np.ones(len(Y)) if sample_weight is None else sample_weight
    return float(weights.sum()), weights @ filled, float(weights @ filled.sum(axis=1) ** 2)


def prediction_weight(kappa: float, n_votes: float) -> float:
    """w of a row with this number of votes whose degrees are concentrated around the prediction by kappa."""
    return kappa / (kappa + n_votes)


def mix_distributions(D: Array, P: Array, weight: float | Array) -> Array:
    """``(1 - weight) D + weight P``."""
    return np.asarray((1.0 - weight) * D + weight * P)


@dataclass(frozen=True)
class PositiveLabels:
    """How many labels of a row are positive, and which.

    Attributes
    ----------
    per_row : float
        Mean number of positive labels.
    shares : ndarray of shape (n_labels,)
        Shares of the labels among all positive labels.
    dispersion : float
        Variance of the number of positive labels of a row over that of independent labels with the same frequencies: 0
        if all rows have equally many, 1 if labels do not influence each other or never vary.

    Examples
    --------
    >>> found = PositiveLabels.from_moments(*count_moments(~np.eye(3, dtype=bool)))
    >>> found.per_row, found.dispersion, found.is_selection
    (2.0, 0.0, True)
    """

    per_row: float
    shares: Array
    dispersion: float

    @classmethod
    def from_moments(cls, total: float, positives: Array, squares: float) -> PositiveLabels:
        """From the sums of `count_moments`."""
        frequencies, per_row = positives / total, float(positives.sum() / total)
        independent = float((frequencies * (1.0 - frequencies)).sum())
        variance = max(squares / total - per_row**2, 0.0)
        return cls(per_row, frequencies / per_row, variance / independent if independent > 1e-12 else 1.0)

    @property
    def is_selection(self) -> bool:
        """Whether the number of positive labels varies so little that they compete for few places."""
        return self.dispersion <= _SELECTION

    def concentration(self, zeros: str | float) -> float:
        """kappa: 0 if zeros mean none, 2 or 0.25 times the mean number of positive labels if less, or as given."""
        if zeros == "less":
            return _CONCENTRATIONS[0 if self.is_selection else 1] * self.per_row
        return 0.0 if zeros == "none" else float(zeros)
