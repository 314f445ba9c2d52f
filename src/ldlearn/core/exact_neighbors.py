"""Exact nearest neighbours of many dense rows: candidates by float32 products, decided in float64."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from ldlearn.core.resources import in_threads
from ldlearn.core.simplex import Array

# With x centred, |x_i - x_j|^2 / 2 = |x_i|^2 / 2 + |x_j|^2 / 2 - <x_i, x_j>. "Closeness" is its negative, computed in
# float32 by one matrix product, and never less than the true one: half the squared norms are reduced by more than all
# rounding errors (see `_Closeness`). So a row whose closeness is below a bound is farther than that bound.
_BLOCK_ROWS = 1536
_STRIP_ROWS = 768  # of a block are compared with another at a time: 4 MB of closeness
_MAX_CANDIDATES = 8  # per neighbour; with more, rows are too similar for float32


def exact_neighbors(
    X: Array, n_neighbors: int, *, max_neighbors: int = 4096, max_features: int = 100_000
) -> tuple[NDArray[np.float64], NDArray[np.intp]] | None:
    """Distances and indices of the nearest other rows of each row, nearest first; ties go to the lower index.

    Half of all pairs of blocks of rows are multiplied, each product serving its rows and its columns. The n-th nearest
    of the rows seen so far bounds what can be a neighbour; only entries within the bounds of their row or column are
    examined individually. The bounds are tightened whenever candidates have become many.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_neighbors : int
        Less than n.
    max_neighbors, max_features : int
        Limits of this method: places within a block fit into 16 bits, and with more features rounding may be as large
        as the distances.

    Returns
    -------
    distances, indices : ndarrays of shape (n, n_neighbors), or None
        None if single precision cannot separate the rows (very many are equal) or a limit is exceeded.

    Examples
    --------
    >>> import numpy as np
    >>> exact_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)
    (array([[1.],
           [1.],
           [2.]]), array([[1],
           [0],
           [1]]))
    """
    if n_neighbors > max_neighbors or X.shape[1] > max_features:
        return None
    search = _Search(_Closeness(X), n_neighbors)
    return search.decide(X) if search.collect() else None


_RowSelection = slice | NDArray[np.intp]  # positions in the random order


class _Closeness:
    """Upper bounds, in float32, of ``-|x_i - x_j|^2 / 2`` of the scaled rows of X in random order.

    With K = m + 2 terms, halves ``h = |x|^2 / 2`` and g = (m + 8) units of rounding, slightly more than K of them, a
    product errs by at most ``2 g (h_i + h_j)``, the rounding of its factors included. Hence with ``(1 - 4 g) h`` in
    place of h it is never below the true value, and never above it by more than ``6 g (h_i + h_j)``.
    """

    def __init__(self, X: Array) -> None:
        n, m = X.shape
        self.error = 1.05 * (m + 8) * 2.0**-24  # unit roundoff of float32
        # Sorted rows would meet their neighbours last, and the bounds would be loose until then.
        self.order = np.random.default_rng(0).permutation(n)
        # Centring avoids cancellation. The median is robust against outliers, unlike the mean.
        centred = X - np.median(X[self.order[:1000]], axis=0).astype(np.float64)
        halves = 0.5 * np.einsum("ij,ij->i", centred, centred)
        longest = float(np.sqrt(2.0 * halves.max())) or 1.0
        self.halves = (halves / longest**2)[self.order]
        shrunk = (1.0 - 4.0 * self.error) * self.halves
        self.left, self.right = np.empty((n, m + 2), dtype=np.float32), np.empty((n, m + 2), dtype=np.float32)
        np.divide(centred[self.order], longest, out=self.left[:, :m], casting="same_kind")
        self.right[:, :m] = self.left[:, :m]
        self.left[:, m], self.left[:, m + 1] = shrunk, 1.0
        self.right[:, m], self.right[:, m + 1] = -1.0, -shrunk

    def between(self, rows: slice, columns: slice) -> NDArray[np.float32]:
        return np.asarray(self.left[rows] @ self.right[columns].T)

    def bounds(self, rows: _RowSelection, closeness: NDArray[np.float32]) -> NDArray[np.float32]:
        """Lower bounds of the closeness of the neighbours, given the closeness of the n-th nearest candidate so far.

        From ``q <= -closeness + 6 g (h_i + h_j)`` for ``q = |x_i - x_j|^2 / 2`` and ``h_j <= 2 h_i + 2 q``.
        """
        # 1e-30 exceeds the error of a closeness by underflow; the longest row has length 1.
        most = (18.0 * self.error * self.halves[rows] + 1e-30 - closeness) / (1.0 - 12.0 * self.error)
        # One step down: conversion to float32 may have rounded up.
        return np.asarray(np.nextafter((-most).astype(np.float32), np.float32(-np.inf)))


# Candidates of one block: positions of the rows in it, indices of other rows, closeness.
_Candidates = tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.float32]]


class _Search:
    """Candidates of every row, stored by block, and the minimal closeness of a candidate."""

    def __init__(self, closeness: _Closeness, n_neighbors: int) -> None:
        self.closeness, self.k, n = closeness, n_neighbors, len(closeness.order)
        # The first bounds come from within a block, which must have many more rows than `n_neighbors`.
        self.n_blocks = max(1, n // max(_BLOCK_ROWS, 4 * n_neighbors))
        edges = np.linspace(0, n, self.n_blocks + 1).astype(int).tolist()
        self.blocks = [slice(start, stop) for start, stop in pairwise(edges)]
        self.bounds = np.full(n, -np.inf, dtype=np.float32)
        self.found: list[list[_Candidates]] = [[] for _ in self.blocks]
        self.crowded = False

    def collect(self) -> bool:
        """Compare every two blocks once, in rounds of equal distance; whether candidates were few enough."""
        usual = self.k * len(self.bounds)
        for shift in range(self.n_blocks // 2 + 1):
            # At half the number of blocks, the pairs (a, b) and (b, a) coincide.
            first = range(self.n_blocks // 2 if 2 * shift == self.n_blocks else self.n_blocks)
            pairs = [(block, (block + shift) % self.n_blocks) for block in first]
            in_threads(self._compare, [(strip, *pair) for pair in pairs for strip in _strips(self.blocks[pair[0]])])
            if self.crowded:  # some candidates were dropped
                return False
            if self._count() > 2 * usual or shift == self.n_blocks // 2:
                in_threads(self._tighten, range(self.n_blocks))
            if self._count() > _MAX_CANDIDATES * usual:
                return False
        return True

    def _count(self) -> int:
        return sum(len(piece[0]) for pieces in self.found for piece in pieces)

    def _compare(self, task: tuple[slice, int, int]) -> None:
        """Collect the candidates of a strip of rows among the rows of another block, and vice versa."""
        strip, one, other = task
        columns = self.blocks[other]
        C = self.closeness.between(strip, columns)
        if one == other:
            np.fill_diagonal(C[:, strip.start - columns.start :], -np.inf)  # a row is not its own neighbour
            self._bound(strip, _group_maxima(C, self.k))
        near = self.bounds[strip, None] <= C
        if one != other:
            near |= self.bounds[columns] <= C
        entries = np.flatnonzero(near)
        if len(entries) > _MAX_CANDIDATES * self.k * sum(C.shape):
            self.crowded = True
        if self.crowded:
            return
        values = C.ravel()[entries]
        i = entries // C.shape[1]
        j = entries - i * C.shape[1] + columns.start
        i += strip.start
        self._add(one, i, j, values)
        if one != other:
            self._add(other, j, i, values)

    def _add(self, block: int, rows: NDArray[np.intp], others: NDArray[np.intp], values: NDArray[np.float32]) -> None:
        near = values >= self.bounds[rows]
        places = (rows[near] - self.blocks[block].start).astype(np.uint16)
        # Appended by several threads in any order: `decide` sorts.
        self.found[block].append((places, others[near].astype(np.int32), values[near]))

    def _bound(self, rows: _RowSelection, C: NDArray[np.float32]) -> None:
        """Update the bounds of the rows from their closeness to some others, in any order."""
        place = C.shape[1] - self.k
        if place >= 0:
            bounds = self.closeness.bounds(rows, np.partition(C, place, axis=1)[:, place])
            self.bounds[rows] = np.maximum(self.bounds[rows], bounds)

    def _tighten(self, block: int) -> None:
        """Tighten the bounds of a block by all its candidates, and drop candidates outside of them."""
        rows = self.blocks[block]
        places, others, values = (np.concatenate(parts) for parts in zip(*self.found[block], strict=True))
        order = np.argsort(places, kind="stable")  # radix sort, for 16 bits
        places, others, values = places[order], others[order], values[order]
        for selected, table in _padded_tables(places, values, np.float32(-np.inf)):
            self._bound(selected + rows.start, table)
        near = values >= self.bounds[rows][places]
        self.found[block] = [(places[near], others[near], values[near])]

    def decide(self, X: Array) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The nearest of the candidates by their distances in float64."""
        n, order = len(self.bounds), self.closeness.order
        distances, indices = np.empty((n, self.k)), np.empty((n, self.k), dtype=np.intp)

        def decide(block: int) -> None:
            places, others, _ = self.found[block][0]
            for selected, table in _padded_tables(places, order[others], n):
                rows, near = order[self.blocks[block]][selected], np.sort(table, axis=1)
                there = near < n
                squares = np.full(near.shape, np.inf)
                squares[there] = _squared_distances(X, np.repeat(rows, there.sum(axis=1)), near[there])
                nearest = np.argsort(squares, axis=1, kind="stable")[:, : self.k]
                distances[rows] = np.sqrt(np.take_along_axis(squares, nearest, axis=1))
                indices[rows] = np.take_along_axis(near, nearest, axis=1)

        in_threads(decide, range(self.n_blocks))
        return distances, indices


def _strips(block: slice) -> list[slice]:
    """The rows of a block in equal parts."""
    n_strips = -(-(block.stop - block.start) // _STRIP_ROWS)
    return [slice(*ends) for ends in pairwise(np.linspace(block.start, block.stop, n_strips + 1).astype(int).tolist())]


def _group_maxima(C: NDArray[np.float32], k: int, group: int = 6) -> NDArray[np.float32]:
    """Maximum of each group of columns: their k-th largest is little below that of all columns, and cheaper to find."""
    width = C.shape[1] // group
    if width < 4 * k:
        return C
    return np.asarray(C[:, : width * group].reshape(len(C), group, width).max(axis=1))


def _padded_tables(
    places: NDArray[np.uint16], values: NDArray[Any], fill: Any
) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
    """Group values by row: yields indices of rows and a matrix of their values, padded with ``fill``.

    Only rows whose counts differ by less than a factor of two share a matrix: an outlier, equally far from all rows,
    would otherwise widen the matrix of all others.
    """
    counts = np.bincount(places)
    starts = np.cumsum(counts) - counts
    order = np.argsort(counts, kind="stable")
    sizes = np.ceil(np.log2(np.maximum(counts[order], 1)))
    for rows in np.split(order, np.flatnonzero(np.diff(sizes)) + 1):
        column = np.arange(counts[rows[-1]])
        there = column < counts[rows, None]
        table = np.full(there.shape, fill, dtype=values.dtype)
        table[there] = values[(starts[rows, None] + column)[there]]
        yield rows, table


def _squared_distances(X: Array, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
    squares = np.empty(len(rows))
    for pairs in gen_batches(len(rows), max(1, 2**16 // X.shape[1])):  # differences that stay in cache
        away = np.subtract(X[rows[pairs]], X[others[pairs]], dtype=np.float64)
        np.einsum("ij,ij->i", away, away, out=squares[pairs])
    return squares
