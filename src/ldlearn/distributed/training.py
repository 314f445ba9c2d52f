"""The rows of a fit: checked block by block, kept on the cluster while the fit lasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.neighbors import moved
from ldlearn.core.offsets import column_sums
from ldlearn.core.simplex import Array
from ldlearn.distributed.cluster import Rounds
from ldlearn.distributed.collections import as_floats, blocks_in_step, check_collection, float_type
from ldlearn.errors import InputError


class Training:
    """Features and targets in blocks of rows, without the blocks that are empty.

    Attributes
    ----------
    rounds : Rounds
    X, Y : list
        The blocks, on the cluster.
    lengths : ndarray of int
        Rows of each block.
    n, m : int
    dtype : dtype
        float64 or float32.
    sums : ndarray of shape (m,)
        Of the columns of X.
    """

    def __init__(self, rounds: Rounds, X: Any, y: Any, checks: Any) -> None:
        """Check all rows in one round; ``checks`` is the ordinary estimator, which knows what it takes."""
        check_collection(X, "X")
        check_collection(y, "y")
        self.rounds, self.m, self.dtype = rounds, int(X.shape[1]), float_type(X)
        of_X, of_y = blocks_in_step(X, y)
        self.X = rounds.hold(as_floats(X, of_X))
        self.Y = rounds.keep(_checked_targets, of_y, common=checks)
        found = rounds.collect(_look, self.X, self.Y, common=checks)
        self.lengths = np.array([rows for rows, _, _ in found])
        for block, (_, problem, _) in enumerate(found):
            if problem:
                raise InputError(f"Block {block} (from row {self.lengths[:block].sum()} on): {problem}")
        filled = np.flatnonzero(self.lengths)
        if not len(filled):
            raise InputError("X has no rows; at least one is needed.")
        self.X, self.Y = [self.X[k] for k in filled], [self.Y[k] for k in filled]
        self.sums = np.sum([found[k][2] for k in filled], axis=0)
        self.lengths = self.lengths[filled]
        self.n = int(self.lengths.sum())

    def rows(self, positions: NDArray[np.intp], X: Sequence[Any] | None = None) -> tuple[Array, Array]:
        """Features and targets of some rows; positions are counted over all blocks and rise."""
        ends = np.cumsum(self.lengths)
        places = np.split(positions, np.searchsorted(positions, ends[:-1]))
        chosen = [k for k, here in enumerate(places) if len(here)]
        local = [places[k] - (ends[k] - self.lengths[k]) for k in chosen]
        blocks = self.X if X is None else X
        found = self.rounds.collect(_rows, [blocks[k] for k in chosen], [self.Y[k] for k in chosen], local)
        return np.concatenate([X for X, _ in found]), np.concatenate([Y for _, Y in found])


class SampledRows:
    """Rows in blocks as if they were arrays, for code that asks for a few of them only.

    Attributes
    ----------
    X, Y
        Have ``shape`` and ``dtype`` and give the rows at positions that rise; X also gives products with a vector,
        one number a row.
    """

    def __init__(
        self, training: Training, X: Sequence[Any], width: int, offsets: NDArray[np.float64] | None = None
    ) -> None:
        self.training, self.blocks, self.width, self.offsets = training, X, width, offsets
        self.X, self.Y = _SampledFeatures(self), _SampledTargets(self)
        self._positions = np.empty(0, dtype=np.intp)
        self._found: tuple[Array, Array] | None = None

    def rows(self, positions: NDArray[np.intp]) -> tuple[Array, Array]:
        """Features and targets; rows that were asked for before are not asked for again."""
        new = np.setdiff1d(positions, self._positions)
        if len(new):
            X, Y = self.training.rows(new, self.blocks)
            X = X if self.offsets is None else moved(X, self.offsets)
            if self._found is not None:
                X, Y = np.concatenate([self._found[0], X]), np.concatenate([self._found[1], Y])
            self._positions, self._found = np.concatenate([self._positions, new]), (X, Y)
        order = np.argsort(self._positions)
        places = order[np.searchsorted(self._positions, positions, sorter=order)]
        assert self._found is not None
        return self._found[0][places], self._found[1][places]


class _SampledFeatures:
    def __init__(self, sample: SampledRows) -> None:
        self.sample, self.dtype = sample, sample.training.dtype
        self.shape = sample.training.n, sample.width

    def __getitem__(self, positions: NDArray[np.intp]) -> Array:
        return self.sample.rows(positions)[0]

    def __matmul__(self, vector: Array) -> Array:
        return np.concatenate(self.sample.training.rounds.collect(_times, self.sample.blocks, common=vector))


class _SampledTargets:
    def __init__(self, sample: SampledRows) -> None:
        self.sample = sample

    def __len__(self) -> int:
        return self.sample.training.n

    def __getitem__(self, positions: NDArray[np.intp]) -> Array:
        return self.sample.rows(positions)[1]


def _checked_targets(y: Any, checks: Any) -> Any:
    """Targets as the estimator takes them, or the sentence that says why it does not."""
    if not len(y):
        return np.empty((0, y.shape[1]))
    try:
        targets = checks._check_targets(y)
    except InputError as error:
        return str(error)
    if np.isnan(targets).any():
        return f"On Dask collections {type(checks).__name__} needs every label to be known, but y has NaN; fill it."
    return targets


def _look(X: Array, Y: Any, checks: Any) -> tuple[int, str, Array]:
    """Number of rows, what is wrong with them, sums of the columns."""
    n = len(X)
    if isinstance(Y, str):
        return n, Y, np.empty(0)
    if len(Y) != n:
        return n, f"X has {n} rows here and y has {len(Y)}; partition them alike.", np.empty(0)
    if n:
        try:
            checks._validate_features(X, reset=True)
        except InputError as error:
            return n, str(error), np.empty(0)
    return n, "", column_sums(X)[1]


def _times(X: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("ij,j->i", X, vector))


def _rows(X: Array, Y: Array, places: NDArray[np.intp], _: Any) -> tuple[Array, Array]:
    return X[places], Y[places]
