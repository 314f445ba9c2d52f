"""The neighbours of the rows of a matrix, found once for all who ask for the same within a block of code."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextvars import ContextVar, Token
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ldlearn.core.exact_neighbors import exact_neighbors

_FEW_FEATURES = 15  # scikit-learn's own limit for trees
Found: TypeAlias = tuple[NDArray[np.floating], NDArray[np.integer]]


class SharedNeighbors:
    """Remembers the neighbours that are looked up while it is entered; can be entered again, and then still knows them.

    Parameters
    ----------
    most_bytes : int, default=2**28
        What is remembered at most; what was not asked for the longest is forgotten first.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.core import knn_graph
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> with SharedNeighbors() as shared:
    ...     graphs = [knn_graph(X, 5, sigma) for sigma in (1.0, 2.0)]
    >>> shared.n_searches
    1
    """

    def __init__(self, most_bytes: int = 2**28) -> None:
        self.most_bytes = most_bytes
        self.n_searches = 0
        self._found: OrderedDict[tuple[str, int], Found] = OrderedDict()
        self._tokens: list[Token[SharedNeighbors | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_active.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _active.reset(self._tokens.pop())

    def look_up(self, index: NearestNeighbors, X: Any) -> Found:
        """Distances and numbers of the neighbours of each row of X, whose index this is."""
        key = _digest(X), int(index.n_neighbors)
        if key not in self._found:
            self.n_searches += 1
            self._found[key] = _protected(_search(index, X))
        self._found.move_to_end(key)
        # What was just found stays, however large.
        while len(self._found) > 1 and sum(map(_size, self._found.values())) > self.most_bytes:
            self._found.popitem(last=False)
        return self._found[key]


# A variable of the context, not of the module: threads that entered nothing share nothing.
_active: ContextVar[SharedNeighbors | None] = ContextVar("shared_neighbors", default=None)


def own_neighbors(index: NearestNeighbors, X: Any) -> Found:
    """Distances and numbers of the nearest rows of each row of X, itself excluded.

    Parameters
    ----------
    index : NearestNeighbors
        Of the rows of X, as `neighbor_index` makes it.
    X : {ndarray, csr_array} of shape (n, m)
        What is known within `SharedNeighbors` by its content.
    """
    shared = _active.get()
    return _search(index, X) if shared is None else shared.look_up(index, X)


def _search(index: NearestNeighbors, X: Any) -> Found:
    # In few dimensions the index is a tree, which need not compare all rows.
    by_products = not sparse.issparse(X) and X.shape[1] > _FEW_FEATURES
    found = exact_neighbors(X, index.n_neighbors) if by_products else None
    return index.kneighbors() if found is None else found


def _digest(X: Any) -> str:
    """A name of the content: arrays that are equal in every bit have the same."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.blake2b(repr((X.shape, [str(part.dtype) for part in parts])).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _protected(found: Found) -> Found:
    """Nobody may write into what others read."""
    for array in found:
        array.flags.writeable = False
    return found


def _size(found: Found) -> int:
    return sum(array.nbytes for array in found)
