"""Logical labels: computed or sampled from label distributions, and stored by their positive entries."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from ldlearn.core.simplex import Array, Indices, Mask
from ldlearn.exceptions import InputError, describe_rows

RULES = ("threshold", "cumulative", "top-k")


def binarize(
    D: Any, rule: str = "threshold", *, delta: float = 0.01, total: float = 0.5, k: int | None = None
) -> Array:
    """Logical labels (0/1) of label distributions.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_labels)
        Description degrees.
    rule : {"threshold", "cumulative", "top-k"}, default="threshold"
        * ``"threshold"``: positive iff the degree exceeds ``delta`` (strictly; the DLDL paper). Every row has a
          positive label if ``delta < 1 / c``.
        * ``"cumulative"``: labels in descending order of degree until their sum exceeds ``total``, the one
          that crosses it included (the label enhancement benchmark).
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
        raise InputError("Label distributions must contain numbers only, equally many in each row.") from None
    if D.ndim != 2:
        raise InputError(f"Label distributions must be a 2-D array (rows x labels), got {D.ndim} dimension(s).")
    unknown = np.isnan(D).any(axis=1)
    if unknown.any():  # NaN compares with nothing
        raise InputError(f"Label distributions must be known, but there is NaN in {describe_rows(unknown)}.")
    if rule == "threshold":
        return np.asarray(delta < D, dtype=np.int8)
    order = np.argsort(-D, axis=1, kind="stable")
    if rule == "cumulative":
        descending = np.take_along_axis(D, order, axis=1)
        taken = np.cumsum(descending, axis=1) - descending <= total  # the sum before this label
    elif rule == "top-k":
        if not (isinstance(k, Integral) and 1 <= k <= D.shape[1]):
            raise InputError(f"rule='top-k' needs a whole k from 1 to the number of labels {D.shape[1]}, got {k!r}.")
        taken = np.broadcast_to(np.arange(D.shape[1]) < k, D.shape)
    else:
        raise InputError(f"rule must be one of {', '.join(RULES)}, got {rule!r}.")
    Y = np.zeros(D.shape, dtype=np.int8)
    np.put_along_axis(Y, order, taken.astype(np.int8), axis=1)
    return Y


def draw_labels(D: Array, n_draws: int, rng: Any) -> Array:
    """Sample counts of the pairs (row i, label j) in ``n_draws`` draws with probabilities ``d_ij / n``.

    Equivalent to drawing ``n_draws`` times a row uniformly and then one of its labels, by one multinomial draw.

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
    return np.asarray(rng.multinomial(n_draws, degrees / degrees.sum()).reshape(D.shape))


_BLOCK_ENTRIES = 2**14  # positive labels in a block: a dozen arrays of this size stay in cache


class Support:
    """The positive labels of each row, and blocks of rows with the same number of positive labels.

    Parameters
    ----------
    Y : boolean ndarray or csr_array of shape (n_samples, n_labels)
        At least one positive label in each row; every stored entry of a sparse array is positive.

    Attributes
    ----------
    shape : tuple of int
        (n_samples, n_labels).
    blocks : list of ndarray
        Row indices; every row is in one block.

    Examples
    --------
    >>> import numpy as np
    >>> support = Support(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1]], dtype=bool))
    >>> [rows.tolist() for rows in support.blocks]
    [[1], [0, 2]]
    >>> support.labels(support.blocks[1])
    array([[0, 1],
           [1, 2]], dtype=int32)
    """

    def __init__(self, Y: Any) -> None:
        self.shape: tuple[int, int] = Y.shape
        if sparse.issparse(Y):
            self.indptr, self.indices = Y.indptr, Y.indices
        else:
            rows, labels = np.nonzero(Y)
            self.indices = labels.astype(np.int32)
            self.indptr = np.searchsorted(rows, np.arange(len(Y) + 1))
        self.blocks = _blocks(np.diff(self.indptr))
        self._where: dict[int, Indices] = {}

    def equal_shares(self) -> sparse.csr_array:
        """Equal degrees of the positive labels of each row."""
        counts = np.diff(self.indptr)
        return self.csr(np.repeat(1.0 / np.maximum(counts, 1), counts))

    def places(self, rows: Indices) -> Indices:
        """Positions of the entries of these rows in ``indices``, one column per row."""
        count = self.indptr[rows[0] + 1] - self.indptr[rows[0]]
        return np.asarray(self.indptr[rows] + np.arange(count)[:, None])

    def labels(self, rows: Indices) -> Indices:
        """Label indices of the entries of these rows, one column per row."""
        return np.asarray(self.indices[self.places(rows)])

    def where(self, k: int) -> Indices:
        """Flat positions of the entries of block k in an array in Fortran order; cached for repeated D-steps."""
        if k not in self._where:
            # Rows times labels may exceed 32 bits.
            self._where[k] = self.labels(self.blocks[k]) * np.intp(self.shape[0]) + self.blocks[k]
        return self._where[k]

    def take(self, A: Any, rows: Indices) -> Array:
        """Entries of A (dense, or a csr_array with these entries) in a block, one column per row."""
        return np.asarray(A.data[self.places(rows)] if sparse.issparse(A) else A[rows, self.labels(rows)])

    def mask(self) -> Mask:
        """A boolean array, True at the positive labels."""
        return np.asarray(self.csr(np.ones(len(self.indices), dtype=bool)).toarray())

    def csr(self, values: Array) -> sparse.csr_array:
        """A sparse array with these values, given row by row."""
        return sparse.csr_array((values, self.indices, self.indptr), shape=self.shape)


def has_few_positives(Y: Mask) -> bool:
    """Whether sparse storage pays: at least 64 labels, of which at most one in 8 is positive."""
    n, c = Y.shape
    return c >= 64 and bool(8 * np.count_nonzero(Y) <= n * c)


def _blocks(counts: Indices) -> list[Indices]:
    order = np.argsort(counts, kind="stable")
    ends = np.flatnonzero(np.diff(counts[order])) + 1
    blocks = []
    for rows in np.split(order, ends):
        if len(rows):
            size = max(1, _BLOCK_ENTRIES // max(int(counts[rows[0]]), 1))
            blocks += [rows[start : start + size] for start in range(0, len(rows), size)]
    return blocks
