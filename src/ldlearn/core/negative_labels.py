"""Negative labels that mean less instead of none: weighing a row's 0/1 labels and its features."""

from ldlearn.core.simplex import Array
from ldlearn.core.targets import positive_rates


def mean_positives(positives: Array, counts: Array, total: float) -> float:
    """Mean number of positive labels of a row; an unknown label counts as its rate of positives.

    Parameters
    ----------
    positives, counts : ndarray of shape (n_labels,)
        Numbers of rows in which each label is positive, and in which it is observed: see
        `count_positives`.
    total : float
        Number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> mean_positives(np.array([1.0, 2.0, 0.0]), np.array([2.0, 2.0, 2.0]), 2.0)
    1.5
    """
    filled = positives + (total - counts) * positive_rates(positives, counts)
    return float(filled.sum() / total)


def concentration(zeros: str | float, n_votes: float) -> float:
    """kappa: 0 if zeros mean none, the number of votes if they mean less, or as given.

    Examples
    --------
    >>> [concentration(zeros, 3.0) for zeros in ("none", "less", 5.0)]
    [0.0, 3.0, 5.0]
    """
    if zeros == "less":
        return n_votes
    if zeros == "none":
        return 0.0
    return float(zeros)


def mix_with_prediction(
    D: Array,
    P: Array,
    kappa: float,
    n_votes: float,
) -> Array:
    """``(1 - w) D + w P`` with ``w = kappa / (kappa + n_votes)``.

    The expected degrees of a row whose degrees are Dirichlet distributed around P with
    concentration kappa, and whose votes, of this number, have the shares D.
    """
    weight = kappa / (kappa + n_votes)
    return (1.0 - weight) * D + weight * P
