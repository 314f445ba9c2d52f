"""Equal rows, and groups of rows that belong together in splits and standard errors."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from ldlearn.core.scaling import row_batches

Groups = NDArray[np.intp]
Keys = NDArray[np.uint64]


def hash_rows(X: Any) -> Keys:
    """64-bit keys of rows, equal for equal rows and different for others.

    Only one pair of different rows in 1e19 has equal keys. Keys depend on nothing but the values: a
    dense and a sparse matrix of the same values have the same keys, and 0.0 and -0.0 are equal.

    Examples
    --------
    >>> import numpy as np
    >>> keys = hash_rows(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]]))
    >>> keys[0] == keys[2], keys[0] == keys[1]
    (np.True_, np.False_)
    """
    numbers = np.arange(1, X.shape[1] + 1, dtype=np.uint64)
    multipliers = _mix_bits(numbers) | np.uint64(1)
    if scipy.sparse.issparse(X):
        rows = X.tocsr()
        summands = _hash_values(rows.data) * multipliers[rows.indices]
        sums = np.append(np.uint64(0), np.cumsum(summands))
        return np.diff(sums[rows.indptr])
    X = np.asarray(X)
    keys = np.empty(len(X), dtype=np.uint64)
    for block in row_batches(*X.shape):
        summands = _hash_values(X[block]) * multipliers
        keys[block] = summands.sum(axis=1)
    return keys


def _hash_values(values: Any) -> Keys:
    """Mixed bits of floats; those of -0.0 are those of 0.0."""
    values = np.ascontiguousarray(values + 0.0, dtype=np.float64)
    return _mix_bits(values.view(np.uint64))


def _mix_bits(bits: Keys) -> Keys:
    """SplitMix64's finalizer: a bijection that keeps 0, where every bit depends on every other."""
    bits = bits ^ (bits >> np.uint64(30))
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def join_groups(*columns: ArrayLike) -> Groups:
    """Groups of rows that are equal in one of the columns, directly or through other rows.

    They are numbered in order of appearance.

    Examples
    --------
    >>> join_groups([7, 8, 7, 9, 9])
    array([0, 1, 0, 2, 2])
    >>> join_groups([7, 8, 7, 9, 9], [1, 1, 2, 3, 4])
    array([0, 0, 0, 1, 1])
    """
    first_rows = [_first_equal_row(column) for column in columns]
    n = len(first_rows[0])
    rows = np.tile(np.arange(n), len(columns))
    places = (rows, np.concatenate(first_rows))
    ones = np.ones(len(rows))
    links = scipy.sparse.coo_array((ones, places), shape=(n, n))
    _, component = connected_components(links, directed=False)
    _, groups = np.unique(_first_equal_row(component), return_inverse=True)
    return groups


def _first_equal_row(column: ArrayLike) -> Groups:
    """For each row, the first row with the same value."""
    _, first_row, value = np.unique(column, return_index=True, return_inverse=True)
    return first_row[value]


def count_groups(groups: Groups) -> int:
    """The number of groups, which are numbered from 0."""
    return int(groups.max(initial=-1)) + 1


def rows_of_groups(groups: Groups, chosen: Groups) -> Groups:
    """The rows of some groups, in the order in which the groups are given."""
    place_of_group = np.full(count_groups(groups), -1)
    place_of_group[chosen] = np.arange(len(chosen))
    places = place_of_group[groups]
    order = np.argsort(places, kind="stable")
    return order[places[order] >= 0]
