"""The training rows: validated block by block, persisted on the cluster during the fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed, is_dask_collection

from ldlearn.core.graph import subtract_offsets
from ldlearn.core.scaling import column_sums
from ldlearn.core.simplex import Array, Indices, SampleWeight
from ldlearn.core.targets import RowTargets, check_labels_seen, count_positives, split_observed
from ldlearn.dask.cluster import BlockRunner
from ldlearn.exceptions import InputError


class TrainingBlocks:
    """Features and targets in blocks of rows, without the blocks that are empty.

    Attributes
    ----------
    runner : BlockRunner
    X, targets : list
        The blocks, on the cluster: arrays, and `RowTargets` for each.
    lengths : ndarray of int
        Rows of each block.
    n, m : int
    total : float
        Sum of the sample weights.
    dtype : dtype
        float64 or float32.
    sums : ndarray of shape (n_features,)
        Unweighted sums of the columns of X.
    has_weights : bool
        Whether there are sample weights.
    """

    def __init__(
        self, runner: BlockRunner, X: Any, y: Any, sample_weight: Any, checks: Any
    ) -> None:
        """Validate all rows in one round by the methods of ``checks``, the local estimator."""
        check_collection(X, "X")
        check_collection(y, "y")
        self.runner = runner
        self.m = int(X.shape[1])
        self.dtype = float_type(X)
        self.has_weights = sample_weight is not None
        features, labels = align_blocks(X, y)
        to_array = delayed(np.asarray, pure=False)
        X_blocks = runner.persist([to_array(block, dtype=self.dtype) for block in features])
        weights = align_weights(X, sample_weight)
        targets = runner.map_persist(_validate_targets, X_blocks, labels, weights, common=checks)
        described = runner.map_compute(_describe_block, X_blocks, targets)
        rows, problems, sums, totals = zip(*described, strict=True)
        lengths = np.array(rows)
        for k, problem in enumerate(problems):
            if problem:
                raise InputError(f"Block {k} (from row {lengths[:k].sum()} on): {problem}")
        filled = np.flatnonzero(lengths)
        if not len(filled):
            raise InputError("X has no rows; at least one is needed.")
        self.X = [X_blocks[k] for k in filled]
        self.targets = [targets[k] for k in filled]
        self.lengths = lengths[filled]
        self.sums = np.sum(sums, axis=0)
        self.n = int(lengths.sum())
        self.total = float(sum(totals))

    def count_positives(self, label_names: Array) -> tuple[Array, Array]:
        """Weighted numbers of rows in which each label is positive, and in which it is observed.

        A label that is observed in no row is refused.
        """
        positives, counts = self.runner.map_sum(
            lambda targets: count_positives(*targets), self.targets
        )
        check_labels_seen(label_names, counts)
        return positives, counts

    def take(self, positions: Indices) -> RowTargets:
        """Targets of the rows at the given positions, sorted, counted over all blocks."""
        return self.fetch_rows(positions)[1]

    def fetch_rows(
        self, positions: Indices, X: Sequence[Any] | None = None
    ) -> tuple[Array, RowTargets]:
        """Features and targets of the rows at sorted positions, counted over all blocks."""
        X = self.X if X is None else X
        starts = np.cumsum(self.lengths) - self.lengths
        places = np.split(positions, np.searchsorted(positions, starts[1:]))
        selected = [k for k, here in enumerate(places) if len(here)]
        found = self.runner.map_compute(
            lambda X, targets, rows: (X[rows], targets.take(rows)),
            [X[k] for k in selected],
            [self.targets[k] for k in selected],
            [places[k] - starts[k] for k in selected],
        )
        X_parts, targets = zip(*found, strict=True)
        return np.concatenate(X_parts), _concatenate_targets(targets)


def _concatenate_targets(parts: Sequence[RowTargets]) -> RowTargets:
    """Concatenate the targets of several parts."""
    values, masks, weights = zip(*parts, strict=True)
    observed = None
    if any(mask is not None for mask in masks):
        known = []
        for part, mask in zip(values, masks, strict=True):
            known.append(np.ones_like(part) if mask is None else mask)
        observed = np.concatenate(known)
    sample_weight = None if weights[0] is None else np.concatenate(weights)
    return RowTargets(np.concatenate(values), observed, sample_weight)


@dataclass
class LazyRows:
    """Features in blocks, less offsets, as an array; indexing fetches only the requested rows."""

    training: TrainingBlocks
    blocks: Sequence[Any]
    n_features: int
    offsets: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.training.n, self.n_features

    @property
    def dtype(self) -> Any:
        """Data type of the blocks."""
        return self.training.dtype

    def __getitem__(self, positions: Indices) -> Array:
        unique, inverse = np.unique(positions, return_inverse=True)
        X, _ = self.training.fetch_rows(unique, self.blocks)
        if self.offsets is not None:
            X = subtract_offsets(X, self.offsets)
        return X[inverse]


# Functions of a block.


def _validate_targets(X: Array, y: Any, sample_weight: Any, checks: Any) -> Any:
    """Validated targets, or the error message.

    Of several invalid blocks the first one is reported.
    """
    for name, part in (("y", y), ("sample_weight", sample_weight)):
        if part is not None and len(part) != len(X):
            return f"X has {len(X)} rows here and {name} has {len(part)}; partition them alike."
    if not len(X):
        return RowTargets(np.empty((0, y.shape[1])))
    try:
        checks._validate_features(X, reset=True)
        targets = checks._check_targets(y)
        weights = None if sample_weight is None else _check_weights(sample_weight)
    except InputError as error:
        return str(error)
    observed = None
    if checks.__sklearn_tags__().unknown_labels:
        targets, observed = split_observed(targets)
    return RowTargets(targets, observed, weights)


def _check_weights(sample_weight: Any) -> SampleWeight:
    weights = np.asarray(sample_weight, dtype=np.float64)
    invalid = ~(np.isfinite(weights) & (weights > 0))
    if invalid.any():
        row = np.argmax(invalid)
        found = f"{weights[row]:g} at row {row}"
        raise InputError(f"sample_weight must be positive and finite, got {found}; leave it out.")
    return weights


def _describe_block(X: Array, targets: Any) -> tuple[int, str, Array, float]:
    """Number of rows, error message, column sums, and the sum of the sample weights."""
    if isinstance(targets, str):
        return len(X), targets, np.zeros(X.shape[1]), 0.0
    return len(X), "", column_sums(X)[1], float(targets.row_weights().sum())


_NUMBERS = "biuf"  # kinds of numpy's types


def is_frame(collection: Any) -> bool:
    """Whether it is a Dask data frame."""
    return is_dask_collection(collection) and hasattr(collection, "columns")


def check_collection(collection: Any, name: str) -> None:
    """Raise InputError unless it is a 2-D Dask collection with numeric columns.

    Their number must be known.
    """
    if not (is_frame(collection) or isinstance(collection, da.Array)):
        remedy = "for data in memory use the estimators of ldlearn, or dask.array.from_array"
        found = type(collection).__name__
        raise InputError(f"{name} must be a Dask array or data frame, got {found}; {remedy}.")
    if collection.ndim != 2:
        raise InputError(f"{name} must have two axes, one row a sample, got {collection.ndim}.")
    if is_frame(collection):
        for column, kind in collection.dtypes.items():
            if getattr(kind, "kind", "O") not in _NUMBERS:
                advice = "leave it out, or encode it first"
                raise InputError(f"Column {column!r} of {name} is not numeric; {advice}.")
    elif np.isnan(collection.shape[1]):
        advice = f"call {name}.compute_chunk_sizes() first"
        raise InputError(f"{name} has an unknown number of columns; {advice}.")
    elif not isinstance(collection._meta, np.ndarray):
        found = type(collection._meta).__name__
        advice = "convert them (map_blocks)"
        raise InputError(f"The blocks of {name} must be numpy arrays, got {found}; {advice}.")


def float_type(collection: Any) -> np.dtype[Any]:
    """float32 if all columns are float32, as for data in memory, else float64."""
    kinds = list(collection.dtypes) if is_frame(collection) else [collection.dtype]
    # Nullable types of pandas have a numpy_dtype.
    narrow = all(getattr(kind, "numpy_dtype", kind) == np.float32 for kind in kinds)
    return np.dtype(np.float32 if narrow else np.float64)


def align_weights(X: Any, sample_weight: Any) -> list[Any]:
    """The sample weights of each block of X, or None for each if there are none."""
    if sample_weight is None:
        return [None] * len(collection_blocks(X))
    if not is_dask_collection(sample_weight) or getattr(sample_weight, "ndim", None) != 1:
        raise InputError("sample_weight must be a Dask array or series, one number a row.")
    return align_blocks(X, sample_weight, "sample_weight")[1]


def align_blocks(X: Any, y: Any, name: str = "y") -> tuple[list[Any], list[Any]]:
    """The blocks of X and of y, whole rows each, block k of y belonging to block k of X.

    Unknown lengths are not computed here: whether blocks have equally many rows is checked when
    they are computed.
    """
    chunks = _row_chunks(X)
    others = _row_chunks(y)
    if chunks and others and chunks != others:
        if sum(chunks) != sum(others):
            sizes = f"X has {sum(chunks)} rows and {name} has {sum(others)}"
            raise InputError(f"{sizes}; each row needs its own.")
        y = y.rechunk({0: chunks})
    X_blocks = collection_blocks(X)
    y_blocks = collection_blocks(y)
    if len(X_blocks) != len(y_blocks):
        sizes = f"X has {len(X_blocks)} blocks and {name} {len(y_blocks)}, of unknown lengths"
        raise InputError(f"{sizes}; partition them alike, or call compute_chunk_sizes() on both.")
    return X_blocks, y_blocks


def collection_blocks(collection: Any) -> list[Any]:
    """Blocks of whole rows, as delayed objects."""
    if not isinstance(collection, da.Array):
        return list(collection.to_delayed())
    if collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    return list(collection.to_delayed().ravel())


def _row_chunks(collection: Any) -> tuple[int, ...]:
    """Rows of each block; none if they are not known."""
    if not isinstance(collection, da.Array) or np.isnan(collection.chunks[0]).any():
        return ()
    return collection.chunks[0]
