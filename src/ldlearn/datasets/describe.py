"""Figures that describe a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import entr

from ldlearn.core.logical import binarize


def describe(X: Any, D: Any, Y: Any, delta: float) -> dict[str, Any]:
    """Figures of (X, D or Y); see `LabelDataset.describe`."""
    degrees = D if D is not None else Y
    positives = (binarize(D, delta=delta) if D is not None else degrees).sum(axis=1, dtype=np.int64)
    rows, n_labels = degrees.shape
    figures: dict[str, Any] = {"n_samples": rows, "n_features": int(X.shape[1]), "n_labels": n_labels}
    if rows == 0:
        return figures
    figures |= {
        "positives_mean": float(positives.mean()),
        "positives_min": int(positives.min()),
        "positives_max": int(positives.max()),
        "sparsity": float((degrees == 0).mean()),
    }
    if D is not None:
        entropy = float(entr(D.astype(np.float64)).sum(axis=1).mean())
        figures["entropy"] = entropy
        figures["relative_entropy"] = entropy / float(np.log(n_labels)) if n_labels > 1 else 0.0
    figures["one_hot_share"] = float(((degrees != 0).sum(axis=1) == 1).mean())
    figures["duplicate_rows"] = count_duplicates(X)
    return figures


def count_duplicates(X: Any) -> int:
    """Count rows that repeat an earlier row.

    Rows are compared by a 128-bit digest, so that the memory does not grow with the number of features.

    Examples
    --------
    >>> count_duplicates(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [0.0, 1.0]]))
    2
    """
    # 16 bytes for each row, however many features it has.
    return int(X.shape[0] - len({hashlib.blake2b(row, digest_size=16).digest() for row in _row_bytes(X)}))


def _row_bytes(X: Any) -> Iterator[bytes]:
    if scipy.sparse.issparse(X):
        # The next two calls work in place. Equal rows must have equal bytes: entries in order, none of them 0.
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield X.indices[start:stop].tobytes() + X.data[start:stop].tobytes()
        return
    for row in X:
        yield (row + 0).tobytes()  # adding 0 makes -0.0 equal to 0.0
