"""How often `fit` reports that a constant prediction is better, where degrees are known.

``python benchmarks/held_out_check.py [--folder FOLDER] [--seeds N] [--simulations N]`` prints
Markdown tables of two checks of `DLDL()` on held-out 0/1 labels: the slope of the vote
log-likelihood (`advantage_over_constant`) and the likelihood itself, compared with that of the mean
of the training rows. A check warns if the slope is not clearly positive, or the likelihood clearly
lower (two standard errors).

The first table counts cases of real distributions by how far the predicted degrees are from the
truth, compared with those of the constant (mean intersection). In the second, labels are simulated
votes of linear p(x), where every warning about the likelihood is a false alarm; frequencies have
the standard error of the simulation.

The embedded sets are always used, others if they are in the folder beside the repository or in the
one named.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from ldlearn import DLDL
from ldlearn.core import binarize, normalize_rows
from ldlearn.datasets import make_label_distributions, make_logical_labels
from ldlearn.metrics import intersection
from ldlearn.metrics.against_baselines import clearly_better, score_with_baselines
from ldlearn.tables.table_labels import mean_distribution

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import EMBEDDED, load
from shared_data import SHARED

WAYS = {
    "two largest": lambda D, seed: binarize(D, "top-k", k=2),
    "half the mass": lambda D, seed: binarize(D, "cumulative"),
    "three votes": lambda D, seed: make_logical_labels(D, "votes", n_raters=3, random_state=seed),
    "five votes": lambda D, seed: make_logical_labels(D, "votes", n_raters=5, random_state=seed),
}
SIMULATIONS = {
    "3 raters, informative": {"n_raters": 3},
    "10 raters, informative": {"n_raters": 10},
    "3 raters, weak features (snr 0.1)": {"n_raters": 3, "snr": 0.1},
}
QUALITIES = (
    ("worse by 0.01 or more", -1.0, -0.01),
    ("about equal", -0.01, 0.01),
    ("better", 0.01, 1.0),
)
MAX_ROWS, MAX_FEATURES = 600, 300


def read_sets(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name in EMBEDDED:
        yield name, *load(name)
    for path in sorted(folder.glob("*.mat")):
        arrays = loadmat(path)
        degrees = arrays.get("label_distribution", arrays.get("labels"))
        if degrees is not None and degrees.ndim == 2 and 4 <= degrees.shape[1] <= 50:
            yield path.stem, arrays["features"].astype(float), normalize_rows(degrees.astype(float))


def check(X: np.ndarray, Y: np.ndarray, D: np.ndarray, seed: int) -> dict[str, Any]:
    """Both checks on a fifth of the rows, and the gain in mean intersection over the constant."""
    order = np.random.default_rng(seed).permutation(len(X))
    test, train = np.split(order, [len(X) // 5])
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    P = DLDL().fit(X[train], Y[train]).predict(X[test])
    mean = mean_distribution(Y[train].astype(float))
    found = score_with_baselines(Y[test].astype(float), P, mean, None, logical=True)
    return {
        "gain": intersection(D[test], P) - intersection(D[test], np.tile(mean, (len(test), 1))),
        "slope": not clearly_better(found["advantage"], found["standard_error"]),
        "likelihood": clearly_better(-found["likelihood_gain"], found["likelihood_error"]),
    }


def real_cases(folder: Path, seeds: int) -> Iterator[dict[str, Any]]:
    for _, X, D in read_sets(folder):
        X = X[:, np.random.default_rng(0).permutation(X.shape[1])[:MAX_FEATURES]]
        for seed in range(seeds):
            rows = np.random.default_rng(seed).permutation(len(X))[:MAX_ROWS]
            for way, make in WAYS.items():
                yield {"way": way, **check(X[rows], make(D[rows], seed), D[rows], seed)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, default=SHARED / "datasets", help="where .mat files lie"
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--simulations", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = list(real_cases(options.folder, options.seeds))
    print(
        "| labels | degrees, compared with the constant | cases | slope warns | likelihood warns |"
    )
    print("|---|---|---|---|---|")
    for way in WAYS:
        for title, low, high in QUALITIES:
            some = [case for case in cases if case["way"] == way and low <= case["gain"] < high]
            counts = [sum(case[name] for case in some) for name in ("slope", "likelihood")]
            print(f"| {way} | {title} | {len(some)} | {counts[0]} | {counts[1]} |")
    print(
        "\n| simulated votes, 300 rows | simulations "
        "| slope warns | likelihood warns | standard error |"
    )
    print("|---|---|---|---|---|")
    for title, parameters in SIMULATIONS.items():
        found = []
        for seed in range(options.simulations):
            data = make_label_distributions(
                300, 8, 5, labels="votes", random_state=seed, **parameters
            )
            found.append(check(data.X, data.Y, data.D, seed))
        slope, likelihood = (
            np.mean([case[name] for case in found]) for name in ("slope", "likelihood")
        )
        error = np.sqrt(likelihood * (1.0 - likelihood) / len(found))
        print(f"| {title} | {len(found)} | {slope:.3f} | {likelihood:.3f} | {error:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
