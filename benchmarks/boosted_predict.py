"""CPU time of BoostedLDL's predictions against LightGBM's, in one thread: at most 5 times, and
equal within 1e-12.

The same trees are applied to 100,000 rows by LightGBM (raw scores) and by ldlearn, in turn and in
the same process; the least of three times counts. Run: ``OMP_NUM_THREADS=1 python
benchmarks/boosted_predict.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np

from ldlearn import BoostedLDL
from ldlearn.core import softmax

N_ROWS = 100_000
MAX_RATIO = 5.0
MAX_DIFFERENCE = 1e-12


def make_rows(n: int, n_features: int, n_categorical: int, seed: int) -> np.ndarray:
    """Numbers and codes of 40 categories, 2 % of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    X[:, :n_categorical] = rng.integers(0, 40, size=(n, n_categorical))
    X[rng.random(X.shape) < 0.02] = np.nan
    return X


def fit(
    n_features: int, n_categorical: int, n_labels: int, **params: Any
) -> tuple[BoostedLDL, Any]:
    """A model, and the booster that its trees come from."""
    X = make_rows(3000, n_features, n_categorical, seed=0)
    known = np.nan_to_num(X)
    known[:, :n_categorical] = known[:, :n_categorical] % 2
    Z = known @ np.random.default_rng(1).normal(size=(n_features, n_labels)) + known[:, :1] ** 2
    D = softmax(Z + np.random.default_rng(2).normal(size=Z.shape))
    boosters = []
    train = lightgbm.train
    try:
        lightgbm.train = lambda *args, **given: (
            boosters.append(train(*args, **given)) or boosters[-1]
        )
        model = BoostedLDL(
            categorical_features=list(range(n_categorical)), n_iter_no_change=200, **params
        ).fit(X, D)
    finally:
        lightgbm.train = train
    return model, boosters[0]


def cpu_seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time and result of a call."""
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def compare(name: str, model: BoostedLDL, booster: Any) -> None:
    """Print the times of a case, and check them."""
    X = make_rows(N_ROWS, model.n_features_in_, len(model.categorical_features), seed=3)

    def by_lightgbm() -> np.ndarray:
        scores = booster.predict(X - model.data_min_, raw_score=True, num_threads=1)
        return softmax(model.intercept_ + scores)

    times = [[cpu_seconds(by_lightgbm), cpu_seconds(lambda: model.predict(X))] for _ in range(3)]
    theirs, ours = (min(pair[k][0] for pair in times) for k in range(2))
    difference = float(np.abs(times[0][0][1] - times[0][1][1]).max())
    n_trees = model.n_estimators_ * len(model.intercept_)
    ratio = ours / theirs
    print(
        f"{name:<24} {n_trees:>6} {theirs:>11.2f} {ours:>10.2f} {ratio:>6.2f} {difference:>11.1e}",
        flush=True,
    )
    assert ratio <= MAX_RATIO, "too slow"
    assert difference <= MAX_DIFFERENCE, "other predictions"


def main() -> None:
    print(
        f"{'case':<24} {'trees':>6} {'LightGBM s':>11} {'ldlearn s':>10} {'ratio':>6} "
        f"{'difference':>11}"
    )
    compare("default, 6 labels", *fit(20, 0, 6, n_estimators=60))
    compare("5 categorical features", *fit(20, 5, 6, n_estimators=60))
    compare("2 leaves", *fit(20, 0, 6, n_estimators=60, max_leaf_nodes=2))
    compare("31 leaves", *fit(20, 0, 6, n_estimators=60, max_leaf_nodes=31))
    compare(
        "255 leaves of 2 rows",
        *fit(20, 0, 3, n_estimators=60, max_leaf_nodes=255, min_samples_leaf=2, l2=0.0),
    )
    compare("500 features, 5 rounds", *fit(500, 0, 3, n_estimators=5))


if __name__ == "__main__":
    main()
