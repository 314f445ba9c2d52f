"""Dask collections as blocks of rows: validation, and alignment of X and y."""

from typing import Any

import dask.array as da
import numpy as np
from dask import delayed, is_dask_collection

from ldlearn.exceptions import InputError

_NUMBERS = "biuf"  # kinds of numpy's types


def is_frame(collection: Any) -> bool:
    """Whether it is a Dask data frame."""
    return is_dask_collection(collection) and hasattr(collection, "npartitions") and hasattr(collection, "columns")


def check_collection(collection: Any, name: str) -> None:
    """Raise InputError unless it is a 2-D Dask array or data frame with a known number of numeric columns."""
    if not (is_frame(collection) or isinstance(collection, da.Array)):
        raise InputError(
            f"{name} must be a Dask array or data frame, got {type(collection).__name__}; for data in memory use the "
            "estimator of the same name in ldlearn, or dask.array.from_array."
        )
    if collection.ndim != 2:
        raise InputError(f"{name} must have two axes, one row a sample, got {collection.ndim}.")
    if is_frame(collection):
        for column, kind in collection.dtypes.items():
            if getattr(kind, "kind", "O") not in _NUMBERS:
                raise InputError(f"Column {column!r} of {name} is not numeric; leave it out, or encode it first.")
    elif np.isnan(collection.shape[1]):
        raise InputError(f"{name} has an unknown number of columns; call {name}.compute_chunk_sizes() first.")
    elif not isinstance(collection._meta, np.ndarray):
        raise InputError(
            f"The blocks of {name} must be numpy arrays, got {type(collection._meta).__name__}; convert them "
            "(map_blocks), or use the estimator of the same name in ldlearn."
        )


def float_type(collection: Any) -> np.dtype[Any]:
    """float32 if all columns are float32, as for data in memory, else float64."""
    kinds = list(collection.dtypes) if is_frame(collection) else [collection.dtype]
    # Nullable types of pandas have a numpy_dtype.
    narrow = all(getattr(kind, "numpy_dtype", kind) == np.float32 for kind in kinds)
    return np.dtype(np.float32 if narrow else np.float64)


def align_weights(X: Any, sample_weight: Any) -> list[Any]:
    """The sample weights of each block of X, or None for each if there are none."""
    if sample_weight is None:
        return [None] * len(row_blocks(X))
    if not is_dask_collection(sample_weight) or getattr(sample_weight, "ndim", None) != 1:
        raise InputError("sample_weight must be a Dask array or series, one number a row.")
    return align_blocks(X, sample_weight, "sample_weight")[1]


def align_blocks(X: Any, y: Any, name: str = "y") -> tuple[list[Any], list[Any]]:
    """The blocks of X and of y, whole rows each, block k of y belonging to block k of X.

    Unknown lengths are not computed here: whether blocks have equally many rows is checked when they are computed.
    """
    known = _row_chunks(X), _row_chunks(y)
    if known[0] is not None and known[1] is not None and known[0] != known[1]:
        if sum(known[0]) != sum(known[1]):
            raise InputError(f"X has {sum(known[0])} rows and {name} has {sum(known[1])}; each row needs its own.")
        y = y.rechunk({0: known[0]})
    of_X, of_y = row_blocks(X), row_blocks(y)
    if len(of_X) != len(of_y):
        raise InputError(
            f"X is in {len(of_X)} blocks and {name} in {len(of_y)}, and not all of their lengths are known; partition "
            "them alike, or call compute_chunk_sizes() on both as arrays."
        )
    return of_X, of_y


def row_blocks(collection: Any) -> list[Any]:
    """Blocks of whole rows, as delayed objects."""
    if not isinstance(collection, da.Array):
        return list(collection.to_delayed())
    whole = collection.rechunk({1: -1}) if collection.ndim == 2 else collection
    return list(whole.to_delayed().ravel())


def as_floats(collection: Any, blocks: list[Any]) -> list[Any]:
    """Blocks of features as arrays of floats; unchanged for arrays of floats."""
    kind = float_type(collection)
    if not is_frame(collection) and collection.dtype == kind:
        return blocks
    return [delayed(np.asarray, pure=False)(block, dtype=kind) for block in blocks]


def _row_chunks(collection: Any) -> tuple[int, ...] | None:
    """Rows of each block, if they are known."""
    if not isinstance(collection, da.Array) or np.isnan(collection.chunks[0]).any():
        return None
    return tuple(collection.chunks[0])
