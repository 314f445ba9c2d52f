"""The split for measuring quality."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.io import loadmat
from shared_data import shared_file

from ldlearn.core import binarize
from ldlearn.datasets import load_uk_budget_shares, load_vader_tweets

EMBEDDED = {"vader_tweets": load_vader_tweets, "uk_budget_shares": load_uk_budget_shares}


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and distributions of an embedded data set or of a file outside the repository (skips
    without it).

    Read once; the arrays are read-only.
    """
    if name in EMBEDDED:
        data = EMBEDDED[name]()
        X, D = np.array(data.X, dtype=float), np.array(data.D)
    else:
        arrays = loadmat(shared_file(f"datasets/{name}.mat"))
        degrees = arrays.get("label_distribution", arrays.get("labels")).astype(float)
        X, D = arrays["features"].astype(float), degrees / degrees.sum(axis=1, keepdims=True)
    X.flags.writeable = D.flags.writeable = False
    return X, D


class Split:
    """60 % of the rows to train, 20 % to validate, 20 % to test; features standardised on the
    training part."""

    def __init__(self, name: str, seed: int = 0) -> None:
        X, D = load(name)
        order = np.random.default_rng(seed).permutation(len(X))
        a, b = int(0.6 * len(X)), int(0.8 * len(X))
        mean, std = X[order[:a]].mean(axis=0), X[order[:a]].std(axis=0)
        X = (X - mean) / np.where(std > 0, std, 1.0)
        self.X, self.X_val, self.X_test = (X[part] for part in np.split(order, [a, b]))
        self.D, self.D_val, self.D_test = (D[part] for part in np.split(order, [a, b]))
        self.Y, self.Y_val, self.Y_test = (
            binarize(part) for part in (self.D, self.D_val, self.D_test)
        )
