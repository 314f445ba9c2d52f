"""The training rows: validated block by block, persisted on the cluster during the fit."""

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
from ldlearn.dask.cluster import BlockRunner
from ldlearn.dask.collections import align_blocks, as_floats, check_collection, check_sample_weight, float_type
from ldlearn.exceptions import InputError


class BlockTargets(NamedTuple):
    """Targets and sample weights of the rows of a block, or of some rows."""

    T: Any  # 0/1 labels or degrees
    observed: Mask | None = None  # mask of the observed labels; None if all are
    weights: RowWeights | None = None  # sample weights; None if all are 1

    def at(self, places: NDArray[np.intp]) -> BlockTargets:
        """The targets of the rows at these positions."""
        parts: list[Any] = [None if part is None else part[places] for part in self]
        return BlockTargets(*parts)


class TrainingBlocks:
    """Features and targets in blocks of rows, without the blocks that are empty.

    Attributes
    ----------
    runner : BlockRunner
    X, targets : list
        The blocks, on the cluster: arrays, and `BlockTargets` for each.
    lengths : ndarray of int
        Rows of each block.
    n, m, n_labels : int
    total : float
        Sum of the sample weights.
    dtype : dtype
        float64 or float32.
    sums : ndarray of shape (n_features,)
        Unweighted sums of the columns of X.
    has_unknown, has_weights : bool
        Whether some labels are unknown, and whether there are sample weights.
    """

    def __init__(self, runner: BlockRunner, X: Any, y: Any, checks: Any) -> None:
        """Validate all rows in one round by the methods of ``checks``, the local estimator."""
        check_collection(X, "X")
        check_collection(y, "y")
        self.runner, self.m, self.dtype, self._collection = runner, int(X.shape[1]), float_type(X), X
        self.n_labels = int(y.shape[1])
        of_X, of_y = align_blocks(X, y)
        self.X = runner.persist(as_floats(X, of_X))
        self.targets = runner.map_persist(_checked_targets, of_y, common=checks)
        found = runner.map_compute(_check_block, self.X, self.targets, common=checks)
        self.lengths = np.array([seen.rows for seen in found])
        # Messages count all blocks, including empty ones.
        self._filled = np.arange(len(found))
        self._refuse([seen.problem for seen in found])
        self._filled = np.flatnonzero(self.lengths)
        if not len(self._filled):
            raise InputError("X has no rows; at least one is needed.")
        self.X, self.targets = [self.X[k] for k in self._filled], [self.targets[k] for k in self._filled]
        self.sums = np.sum([found[k].sums for k in self._filled], axis=0)
        self.has_unknown, self.has_weights = any(found[k].unknown for k in self._filled), False
        self.lengths = self.lengths[self._filled]
        self.n = int(self.lengths.sum())
        self.total = float(self.n)

    def set_sample_weight(self, sample_weight: Any) -> None:
        """Set the sample weights: a collection with the same blocks as X."""
        check_sample_weight(sample_weight)
        _, blocks = align_blocks(self._collection, sample_weight, "sample_weight")
        targets = self.runner.map_persist(_attach_weights, self.targets, [blocks[k] for k in self._filled])
        found = self.runner.map_compute(_sum_weights, targets)
        self._refuse([part if isinstance(part, str) else "" for part in found])
        self.targets, self.has_weights, self.total = targets, True, float(sum(found))

    def _refuse(self, problems: list[str]) -> None:
        for block, problem in enumerate(problems):
            if problem:
                first = self.lengths[:block].sum()
                raise InputError(f"Block {self._filled[block]} (from row {first} on): {problem}")

    def fetch_rows(self, positions: NDArray[np.intp], X: Sequence[Any] | None = None) -> tuple[Array, BlockTargets]:
        """Features and targets of the rows at the given positions, sorted, counted over all blocks."""
        ends = np.cumsum(self.lengths)
        places = np.split(positions, np.searchsorted(positions, ends[:-1]))
        selected = [k for k, here in enumerate(places) if len(here)]
        local = [places[k] - (ends[k] - self.lengths[k]) for k in selected]
        blocks = self.X if X is None else X
        found = self.runner.map_compute(
            _rows, [blocks[k] for k in selected], [self.targets[k] for k in selected], local
        )
        return np.concatenate([X for X, _ in found]), _concatenate([targets for _, targets in found])


def _concatenate(parts: Sequence[BlockTargets]) -> BlockTargets:
    """Concatenate the targets of several parts."""
    T = np.concatenate([part.T for part in parts])
    observed = weights = None
    if any(part.observed is not None for part in parts):
        observed = np.concatenate([np.ones(p.T.shape, dtype=bool) if p.observed is None else p.observed for p in parts])
    if parts[0].weights is not None:
        weights = np.concatenate([part.weights for part in parts if part.weights is not None])
    return BlockTargets(T, observed, weights)


class LazyRows:
    """Rows in blocks with the interface of an array; indexing fetches only the requested rows.

    ``part`` is "X" or a field of `BlockTargets`.
    """

    def __init__(
        self, training: TrainingBlocks, blocks: Sequence[Any], width: int, part: str = "X", offsets: Any = None
    ) -> None:
        self.training, self.blocks, self.part, self.offsets = training, blocks, part, offsets
        self.shape, self.dtype = (training.n, width), training.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, positions: NDArray[np.intp]) -> Any:
        unique, inverse = np.unique(positions, return_inverse=True)
        X, targets = self.training.fetch_rows(unique, self.blocks)
        if self.part == "X":
            return (X if self.offsets is None else subtract_offsets(X, self.offsets))[inverse]
        found = getattr(targets, self.part)
        return (np.ones(targets.T.shape, dtype=bool) if found is None else found)[inverse]  # all observed


class _BlockCheck(NamedTuple):
    """The result of the validation of a block."""

    rows: int
    problem: str
    sums: Array = np.empty(0)  # of the columns
    unknown: bool = False  # whether some labels are


# Functions of a block.


def _checked_targets(y: Any, checks: Any) -> Any:
    """Validated targets, or the error message."""
    if not len(y):
        return BlockTargets(np.empty((0, y.shape[1])))
    try:
        targets = checks._check_targets(y)
    except InputError as error:
        # Not raised here: of several invalid blocks the first one is reported.
        return str(error)
    return BlockTargets(*split_observed(targets)) if checks.capabilities().unknown_labels else BlockTargets(targets)


def _check_block(X: Array, targets: Any, checks: Any) -> _BlockCheck:
    n = len(X)
    if isinstance(targets, str):
        return _BlockCheck(n, targets)
    if len(targets.T) != n:
        return _BlockCheck(n, f"X has {n} rows here and y has {len(targets.T)}; partition them alike.")
    if n:
        try:
            checks._validate_features(X, reset=True)
        except InputError as error:
            return _BlockCheck(n, str(error))
    return _BlockCheck(n, "", column_sums(X)[1], targets.observed is not None)


def _attach_weights(targets: BlockTargets, sample_weight: Any, _: Any) -> Any:
    """The targets with sample weights, or an error message."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if len(weights) != len(targets.T):
        return f"X has {len(targets.T)} rows here and sample_weight has {len(weights)}; partition them alike."
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(wrong):
        return (
            f"sample_weight must be positive and finite, got {weights[wrong[0]]:g} at row {wrong[0]}; leave out "
            "rows of weight 0."
        )
    return targets._replace(weights=weights)


def _sum_weights(targets: Any, _: Any) -> Any:
    """The sum of the sample weights, or the error message in place of the targets."""
    return targets if isinstance(targets, str) else float(targets.weights.sum())


def _rows(X: Array, targets: BlockTargets, places: NDArray[np.intp], _: Any) -> tuple[Array, BlockTargets]:
    return X[places], targets.at(places)
