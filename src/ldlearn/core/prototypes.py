"""Class prototypes and the pseudo label distributions of fast label enhancement."""

from typing import Any

import numpy as np
from scipy import sparse

from ldlearn.core.simplex import (
    Array,
    Indices,
    Mask,
    SampleWeight,
    positive_or_one,
    row_weights,
    softmax,
)


def class_prototypes(X: Any, Y: Mask, weights: SampleWeight | None = None) -> Array:
    """Mean of the purest rows of every label.

    The purest rows of a label have this label and the fewest positive labels.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    Y : boolean ndarray of shape (n_samples, n_labels)
    weights : ndarray of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    Q : ndarray of shape (n_labels, n_features)
        The row of a label that never occurs is zero.

    Examples
    --------
    >>> import numpy as np
    >>> class_prototypes(np.eye(3), np.array([[1, 0], [1, 0], [1, 1]], dtype=bool))
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    weights = row_weights(Y, weights)
    counted = Y & (weights > 0)[:, None]  # ignore rows of weight 0
    sums, totals = prototype_sums(X, Y, fewest_positives(counted), weights)
    return sums / positive_or_one(totals)[:, None]


def fewest_positives(Y: Mask) -> Indices:
    """For each label, the smallest number of positive labels among its rows.

    The number is n_labels + 1 for a label without rows.
    """
    too_many = Y.shape[1] + 1
    counts = np.where(Y, Y.sum(axis=1)[:, None], too_many)
    return counts.min(axis=0, initial=too_many)


def prototype_sums(
    X: Any,
    Y: Mask,
    fewest: Indices,
    weights: SampleWeight | None = None,
) -> tuple[Array, Array]:
    """Weighted sum and number of the rows of each label with ``fewest`` positive labels."""
    is_purest = Y & (Y.sum(axis=1)[:, None] == fewest)
    weighted = is_purest * row_weights(Y, weights)[:, None]
    return (X.T @ weighted).T, weighted.sum(axis=0)


def pseudo_distributions(
    X: Any,
    Y: Mask,
    weights: SampleWeight | None = None,
    prototypes: Array | None = None,
) -> Array:
    r"""Pseudo label distributions of fast label enhancement: ``softmax(S + Y)``.

    S contains the cosines between the rows of X and the prototypes of the labels (0 where either is
    zero). For nearly collinear features all cosines are about 1 and the result is ``softmax(Y)``:
    standardise X first.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    Y : boolean ndarray of shape (n_samples, n_labels)
    weights : ndarray of shape (n_samples,), default=None
        Sample weights for the prototypes.
    prototypes : ndarray of shape (n_labels, n_features), default=None
        Computed from these rows by default (`class_prototypes`).

    Returns
    -------
    P : ndarray of shape (n_samples, n_labels)
        Strictly positive, rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> pseudo_distributions(np.eye(2), np.array([[1, 0], [1, 1]], dtype=bool)).round(4)
    array([[0.8808, 0.1192],
           [0.2689, 0.7311]])
    """
    if prototypes is None:
        prototypes = class_prototypes(X, Y, weights)
    lengths = _row_lengths(X)[:, None] * _row_lengths(prototypes)
    cosines = X @ prototypes.T / lengths
    return softmax(cosines + Y)


def _row_lengths(X: Any) -> Array:
    """Euclidean lengths, at least 1e-8, so that a zero row has cosine 0, not 0 / 0."""
    squares = X.multiply(X) if sparse.issparse(X) else np.square(X, dtype=np.float64)
    sums = np.asarray(squares.sum(axis=1), dtype=np.float64)
    return np.maximum(np.sqrt(sums.ravel()), 1e-8)
