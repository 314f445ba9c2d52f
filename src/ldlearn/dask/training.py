"""The rows of a fit: checked block by block, kept on the cluster while the fit lasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.neighbors import subtract_offsets
from ldlearn.core.scaling import column_sums
from ldlearn.core.simplex import Array, Mask
from ldlearn.core.simplex import SampleWeight as RowWeights
from ldlearn.core.targets import split_observed
from ldlearn.dask.cluster import Rounds
from ldlearn.dask.collections import as_floats, blocks_in_step, check_collection, check_weights, float_type
from ldlearn.exceptions import InputError


class Given(NamedTuple):
    """What is given of the rows of a block, or of some rows, besides their features."""

    T: Any  # 0/1 labels or degrees
    known: Mask | None = None  # labels that are not unknown; None if none is
    weights: RowWeights | None = None  # how often each row counts; None if all once

    def at(self, places: NDArray[np.intp]) -> Given:
        """Of some of the rows."""
        parts: list[Any] = [None if part is None else part[places] for part in self]
        return Given(*parts)


class Training:
    """Features and targets in blocks of rows, without the blocks that are empty.

    Attributes
    ----------
    rounds : Rounds
    X, given : list
        The blocks, on the cluster: arrays, and `Given` for each.
    lengths : ndarray of int
        Rows of each block.
    n, m : int
    total : float
        Rows, as often as they count.
    dtype : dtype
        float64 or float32.
    sums : ndarray of shape (m,)
        Of the columns of X, each row counted once.
    has_unknown, has_weights : bool
        Whether some labels are unknown, and whether rows count more or less than once.
    """

    def __init__(self, rounds: Rounds, X: Any, y: Any, checks: Any) -> None:
        """Check all rows in one round; ``checks`` is the ordinary estimator, which knows what it takes."""
        check_collection(X, "X")
        check_collection(y, "y")
        self.rounds, self.m, self.dtype, self._collection = rounds, int(X.shape[1]), float_type(X), X
        of_X, of_y = blocks_in_step(X, y)
        self.X = rounds.hold(as_floats(X, of_X))
        self.given = rounds.keep(_checked_targets, of_y, common=checks)
        found = rounds.collect(_look, self.X, self.given, common=checks)
        self.lengths = np.array([seen.rows for seen in found])
        # Messages count all blocks, the empty ones too, as the user does.
        self._filled = np.arange(len(found))
        self._refuse([seen.problem for seen in found])
        self._filled = np.flatnonzero(self.lengths)
        if not len(self._filled):
            raise InputError("X has no rows; at least one is needed.")
        self.X, self.given = [self.X[k] for k in self._filled], [self.given[k] for k in self._filled]
        self.sums = np.sum([found[k].sums for k in self._filled], axis=0)
        self.has_unknown, self.has_weights = any(found[k].unknown for k in self._filled), False
        self.lengths = self.lengths[self._filled]
        self.n = int(self.lengths.sum())
        self.total = float(self.n)

    def weigh(self, sample_weight: Any) -> None:
        """Let rows count as often as a collection in step with X says."""
        check_weights(sample_weight)
        _, blocks = blocks_in_step(self._collection, sample_weight, "sample_weight")
        given = self.rounds.keep(_weighed, self.given, [blocks[k] for k in self._filled])
        found = self.rounds.collect(_weight_of, given)
        self._refuse([answer if isinstance(answer, str) else "" for answer in found])
        self.given, self.has_weights, self.total = given, True, float(sum(found))

    def _refuse(self, problems: list[str]) -> None:
        for block, problem in enumerate(problems):
            if problem:
                first = self.lengths[:block].sum()
                raise InputError(f"Block {self._filled[block]} (from row {first} on): {problem}")

    def rows(self, positions: NDArray[np.intp], X: Sequence[Any] | None = None) -> tuple[Array, Given]:
        """Features of some rows and what is given of them; positions are counted over all blocks and rise."""
        ends = np.cumsum(self.lengths)
        places = np.split(positions, np.searchsorted(positions, ends[:-1]))
        chosen = [k for k, here in enumerate(places) if len(here)]
        local = [places[k] - (ends[k] - self.lengths[k]) for k in chosen]
        blocks = self.X if X is None else X
        found = self.rounds.collect(_rows, [blocks[k] for k in chosen], [self.given[k] for k in chosen], local)
        return np.concatenate([X for X, _ in found]), _joined([given for _, given in found])


def _joined(parts: Sequence[Given]) -> Given:
    """The rows of all parts one after the other."""
    T = np.concatenate([part.T for part in parts])
    known = weights = None
    if any(part.known is not None for part in parts):
        known = np.concatenate([np.ones(p.T.shape, dtype=bool) if p.known is None else p.known for p in parts])
    if parts[0].weights is not None:
        weights = np.concatenate([part.weights for part in parts if part.weights is not None])
    return Given(T, known, weights)


class SampledRows:
    """Rows in blocks as if they were arrays, for code that asks for a few of them only.

    Attributes
    ----------
    X, Y, known, weights
        Have ``shape`` or a length and give the rows at any positions; X also gives products with a vector, one
        number a row. The last two are None where there is nothing to say.
    """

    def __init__(
        self, training: Training, X: Sequence[Any], width: int, offsets: NDArray[np.float64] | None = None
    ) -> None:
        self.training, self.blocks, self.width, self.offsets = training, X, width, offsets
        self.X, self.Y = _SampledFeatures(self), _Sampled(self, "T")
        self.known = _Sampled(self, "known") if training.has_unknown else None
        self.weights = _Sampled(self, "weights") if training.has_weights else None
        self._positions = np.empty(0, dtype=np.intp)
        self._found: tuple[Array, Given] | None = None

    def rows(self, positions: NDArray[np.intp]) -> tuple[Array, Given]:
        """Features, and what is given; rows that were asked for before are not asked for again."""
        new = np.setdiff1d(positions, self._positions)
        if len(new):
            X, given = self.training.rows(new, self.blocks)
            X = X if self.offsets is None else subtract_offsets(X, self.offsets)
            if self._found is not None:
                X, given = np.concatenate([self._found[0], X]), _joined([self._found[1], given])
            self._positions, self._found = np.concatenate([self._positions, new]), (X, given)
        order = np.argsort(self._positions)
        places = order[np.searchsorted(self._positions, positions, sorter=order)]
        assert self._found is not None
        return self._found[0][places], self._found[1].at(places)


class _SampledFeatures:
    def __init__(self, sample: SampledRows) -> None:
        self.sample, self.dtype = sample, sample.training.dtype
        self.shape = sample.training.n, sample.width

    def __getitem__(self, positions: NDArray[np.intp]) -> Array:
        return self.sample.rows(positions)[0]

    def __matmul__(self, vector: Array) -> Array:
        return np.concatenate(self.sample.training.rounds.collect(_times, self.sample.blocks, common=vector))


class _Sampled:
    def __init__(self, sample: SampledRows, part: str) -> None:
        self.sample, self.part = sample, part

    def __len__(self) -> int:
        return self.sample.training.n

    def __getitem__(self, positions: NDArray[np.intp]) -> Any:
        given = self.sample.rows(positions)[1]
        found = getattr(given, self.part)
        return np.ones(given.T.shape, dtype=bool) if found is None else found  # among these, none is unknown


class _Seen(NamedTuple):
    """What a look at a block tells."""

    rows: int
    problem: str
    sums: Array = np.empty(0)  # of the columns
    unknown: bool = False  # whether some labels are


# What is done to a block.


def _checked_targets(y: Any, checks: Any) -> Any:
    """Targets as the estimator takes them, or the sentence that says why it does not."""
    if not len(y):
        return Given(np.empty((0, y.shape[1])))
    try:
        targets = checks._check_targets(y)
    except InputError as error:
        # Not raised: of several wrong blocks the first is to be named, whichever is looked at first.
        return str(error)
    return Given(*split_observed(targets)) if checks.capabilities().unknown_labels else Given(targets)


def _look(X: Array, given: Any, checks: Any) -> _Seen:
    n = len(X)
    if isinstance(given, str):
        return _Seen(n, given)
    if len(given.T) != n:
        return _Seen(n, f"X has {n} rows here and y has {len(given.T)}; partition them alike.")
    if n:
        try:
            checks._validate_features(X, reset=True)
        except InputError as error:
            return _Seen(n, str(error))
    return _Seen(n, "", column_sums(X)[1], given.known is not None)


def _weighed(given: Given, sample_weight: Any, _: Any) -> Any:
    """The same with weights, or the sentence that says what is wrong with them."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if len(weights) != len(given.T):
        return f"X has {len(given.T)} rows here and sample_weight has {len(weights)}; partition them alike."
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(wrong):
        return (
            f"sample_weight must be positive and finite, got {weights[wrong[0]]:g} at row {wrong[0]}; leave rows out "
            "that do not count."
        )
    return given._replace(weights=weights)


def _weight_of(given: Any, _: Any) -> Any:
    """The sum of the weights, or the sentence in their place."""
    return given if isinstance(given, str) else float(given.weights.sum())


def _times(X: Array, vector: Array) -> Array:
    # Not by BLAS, in which the same row may give another number in another block.
    return np.asarray(np.einsum("ij,j->i", X, vector))


def _rows(X: Array, given: Given, places: NDArray[np.intp], _: Any) -> tuple[Array, Given]:
    return X[places], given.at(places)
