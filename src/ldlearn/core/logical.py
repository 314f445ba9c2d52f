"""Logical labels, computed or sampled from label distributions."""

from numbers import Integral
from typing import Any

import numpy as np

from ldlearn._messages import describe_rows
from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError

RULES = ("threshold", "cumulative", "top-k")


def binarize(
    D: Any,
    rule: str = "threshold",
    *,
    delta: float = 0.01,
    total: float = 0.5,
    k: int | None = None,
) -> Array:
    """Logical labels (0/1) of label distributions.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_labels)
        Description degrees.
    rule : {"threshold", "cumulative", "top-k"}, default="threshold"
        * ``"threshold"``: positive iff the degree exceeds ``delta`` (strictly; the DLDL paper).
          Every row has a positive label if ``delta < 1 / c``.
        * ``"cumulative"``: labels in descending order of degree until their sum exceeds ``total``,
          the one that crosses it included (the label enhancement benchmark).
        * ``"top-k"``: the ``k`` largest degrees. Ties go to the label that comes first.
    delta, total, k
        The parameter of the respective rule.

    Returns
    -------
    Y : ndarray of shape (n_samples, n_labels), int8

    Examples
    --------
    >>> binarize([[0.6, 0.395, 0.005], [0.2, 0.45, 0.35]])
    array([[1, 1, 0],
           [1, 1, 1]], dtype=int8)
    >>> binarize([[0.6, 0.395, 0.005], [0.2, 0.45, 0.35]], rule="cumulative")
    array([[1, 0, 0],
           [0, 1, 1]], dtype=int8)
    """
    try:
        D = np.asarray(D, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            "Label distributions must contain numbers only, equally many in each row."
        ) from None
    if D.ndim != 2:
        raise InputError(
            f"Label distributions must be a 2-D array (rows x labels), got {D.ndim} dimension(s)."
        )
    unknown = np.isnan(D).any(axis=1)
    if unknown.any():  # NaN compares with nothing
        raise InputError(
            f"Label distributions must be known, but there is NaN in {describe_rows(unknown)}."
        )
    if rule == "threshold":
        return (delta < D).astype(np.int8)
    order = np.argsort(-D, axis=1, kind="stable")
    if rule == "cumulative":
        descending = np.take_along_axis(D, order, axis=1)
        taken = np.cumsum(descending, axis=1) - descending <= total  # the sum before this label
    elif rule == "top-k":
        c = D.shape[1]
        if not (isinstance(k, Integral) and 1 <= k <= c):
            raise InputError(
                f"rule='top-k' needs a whole k from 1 to the number of labels {c}, got {k!r}."
            )
        taken = np.broadcast_to(np.arange(c) < k, D.shape)
    else:
        raise InputError(f"rule must be one of {', '.join(RULES)}, got {rule!r}.")
    Y = np.zeros(D.shape, dtype=np.int8)
    np.put_along_axis(Y, order, taken.astype(np.int8), axis=1)
    return Y


def draw_labels(D: Array, n_draws: int, rng: Any) -> Array:
    """Counts of the pairs (row i, label j) in ``n_draws`` draws with probabilities ``d_ij / n``.

    Equivalent to drawing ``n_draws`` times a row uniformly and then one of its labels, by one
    multinomial draw.

    Parameters
    ----------
    D : ndarray of shape (n_samples, n_labels)
        Rows sum to one.
    n_draws : int
    rng : numpy.random.RandomState or numpy.random.Generator

    Returns
    -------
    counts : ndarray of shape (n_samples, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> draw_labels(np.array([[1.0, 0.0], [0.5, 0.5]]), 100, np.random.default_rng(0))
    array([[51,  0],
           [28, 21]])
    """
    degrees = np.asarray(D, dtype=np.float64).ravel()
    return rng.multinomial(n_draws, degrees / degrees.sum()).reshape(D.shape)
