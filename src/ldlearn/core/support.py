"""Where the positive labels are: rows with equally many of them together, so that blocks of them have no holes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ldlearn.core.simplex import Array, Mask

_BLOCK_ENTRIES = 2**14  # positive labels in a block: a dozen arrays of this size stay in cache


_MANY_LABELS = 64
_FEW = 8  # times as many labels as positive ones


class Support:
    """The positive labels of each row, and the rows in blocks of equally many positive labels.

    Parameters
    ----------
    Y : boolean ndarray or csr_array of shape (n, c)
        At least one positive label in each row; of a sparse array, every stored entry is one.

    Attributes
    ----------
    shape : tuple of int
        (n, c).
    blocks : list of ndarray
        Row numbers; every row is in one block.

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
        self._where: dict[int, NDArray[np.intp]] = {}

    def equal_shares(self) -> sparse.csr_array:
        """Equal shares of the positive labels of each row."""
        counts = np.diff(self.indptr)
        return self.csr(np.repeat(1.0 / np.maximum(counts, 1), counts))

    def places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Numbers of the entries of these rows, one row a column, among all entries in the order of the rows."""
        count = self.indptr[rows[0] + 1] - self.indptr[rows[0]]
        return np.asarray(self.indptr[rows] + np.arange(count)[:, None])

    def labels(self, rows: NDArray[np.intp]) -> NDArray[np.int32]:
        """Their labels."""
        return np.asarray(self.indices[self.places(rows)])

    def where(self, k: int) -> NDArray[np.intp]:
        """Where the entries of block k are in an array in Fortran order; kept, since each D-step asks for it."""
        if k not in self._where:
            # In the widest integers: rows times labels may exceed 32 bits.
            self._where[k] = self.labels(self.blocks[k]) * np.intp(self.shape[0]) + self.blocks[k]
        return self._where[k]

    def take(self, A: Any, rows: NDArray[np.intp]) -> Array:
        """The entries of A (dense, or a csr_array of these very entries) of a block, one row a column."""
        return np.asarray(A.data[self.places(rows)] if sparse.issparse(A) else A[rows, self.labels(rows)])

    def mask(self) -> Mask:
        """A boolean array, True at the positive labels."""
        return np.asarray(self.csr(np.ones(len(self.indices), dtype=bool)).toarray())

    def csr(self, values: Array) -> sparse.csr_array:
        """A sparse array with these entries, in the order of the rows."""
        return sparse.csr_array((values, self.indices, self.indptr), shape=self.shape)


def has_few_positives(Y: Mask) -> bool:
    """Whether so few of many labels are positive that what belongs to them should be stored without the others."""
    n, c = Y.shape
    return c >= _MANY_LABELS and bool(_FEW * np.count_nonzero(Y) <= n * c)


def _blocks(counts: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    order = np.argsort(counts, kind="stable")
    ends = np.flatnonzero(np.diff(counts[order])) + 1
    blocks = []
    for rows in np.split(order, ends):
        if len(rows):
            size = max(1, _BLOCK_ENTRIES // max(int(counts[rows[0]]), 1))
            blocks += [rows[start : start + size] for start in range(0, len(rows), size)]
    return blocks
