"""SJAFFE, an optional file outside the repository, as used in benchmarks of label enhancement."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.io import loadmat
from shared_data import shared_file

from ldlearn import metrics
from ldlearn.core import binarize

COLUMNS = ("chebyshev", "clark", "canberra", "kl_divergence", "cosine", "intersection")


class Sjaffe(NamedTuple):
    X: np.ndarray  # as stored
    Z: np.ndarray  # standardised, ddof = 1
    D: np.ndarray
    Y: np.ndarray  # by the cumulative rule, total 0.5


@cache
def sjaffe() -> Sjaffe:
    content = loadmat(shared_file("datasets/SJAFFE.mat"))
    X, D = np.asarray(content["features"], dtype=float), np.asarray(content["labels"], dtype=float)
    spread = X.std(axis=0, ddof=1)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Sjaffe(X, Z, D, binarize(D, rule="cumulative", total=0.5))


def assert_recovery(recovered: np.ndarray, expected: str, tolerance: float = 1e-3) -> None:
    """Compare with a reference row: Chebyshev, Clark, Canberra, KL (or -), cosine, intersection."""
    found = {name: getattr(metrics, name)(sjaffe().D, recovered) for name in COLUMNS}
    for name, value in zip(COLUMNS, expected.split(), strict=True):
        if value != "-":
            assert found[name] == pytest.approx(float(value), abs=tolerance), f"{name}: {found}"
