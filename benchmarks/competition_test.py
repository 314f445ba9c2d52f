"""Size and power of `competition_test` on simulated labels.

``python benchmarks/competition_test.py [--simulations N] [--only WORD ...]`` prints a Markdown table: how often labels
are classified as independent at the nominal level 0.05, with the standard error of the simulation. Labels are votes in
the first part, where this is an error, and independent in the second. The real data set is read from a folder beside
the repository if it exists.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn.core import normalize_rows
from ldlearn.datasets import make_label_distributions, make_logical_labels
from ldlearn.joint import competition_test

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import load
from shared_data import SHARED

Pair = tuple[np.ndarray, np.ndarray]  # features and 0/1 labels


def generated(n: int, m: int, c: int, noise: int = 0, **options: Any) -> Callable[[int], Pair]:
    """Generated labels; ``noise`` features that are uninformative are added."""

    def make(seed: int) -> Pair:
        data = make_label_distributions(n, m, c, random_state=seed, **options)
        return np.hstack([data.X, np.random.default_rng(seed).normal(size=(n, noise))]), data.Y

    return make


def varying_raters(seed: int) -> Pair:
    """Votes of more raters where a feature is large: the assumption of the test does not hold."""
    data = make_label_distributions(500, 10, 6, sharpness=1.0, random_state=seed)
    rng = np.random.default_rng(seed)
    n_raters = 1 + rng.poisson(8.0 * np.exp(0.5 * data.X[:, 0]))
    return data.X, (rng.multinomial(n_raters, data.D) > 0).astype(int)


def shuffled(name: str, **options: Any) -> Callable[[int], Pair]:
    """0/1 labels from the distributions of a real set, whose rows of features are shuffled."""

    def make(seed: int) -> Pair:
        X, D = load(name)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        Y = make_logical_labels(normalize_rows(D), random_state=seed, **options)
        return np.random.default_rng(seed).permutation(X), Y

    return make


VOTES: dict[str, Callable[[int], Pair]] = {
    "5 raters; 500, 10, 6": generated(500, 10, 6, labels="votes", n_raters=5),
    "20 raters; 500, 10, 6": generated(500, 10, 6, labels="votes", n_raters=20),
    "5 raters, uninformative features; 500, 10, 6": generated(500, 10, 6, snr=0.0, labels="votes", n_raters=5),
    "20 raters, imbalanced (20), uninformative features; 300, 10, 6": generated(
        300, 10, 6, sharpness=0.0, imbalance=20.0, labels="votes", n_raters=20
    ),
    "20 raters, imbalanced (100), uninformative features; 300, 10, 6": generated(
        300, 10, 6, sharpness=0.0, imbalance=100.0, labels="votes", n_raters=20
    ),
    "20 raters, overdispersed (5); 500, 10, 6": generated(500, 10, 6, labels="votes", n_raters=20, concentration=5.0),
    "8 raters, 500 noise features; 300, 8 + 500, 5": generated(300, 8, 5, noise=500, labels="votes", n_raters=8),
    "8 raters, 500 noise features; 200, 8 + 500, 6": generated(200, 8, 6, noise=500, labels="votes", n_raters=8),
    "8 raters, 500 noise features; 600, 8 + 500, 5": generated(600, 8, 5, noise=500, labels="votes", n_raters=8),
}
if (SHARED / "datasets" / "Yeast_spo5.mat").exists():
    VOTES["Yeast_spo5, X shuffled, degrees > 0.01"] = shuffled("Yeast_spo5", labels="threshold", threshold=0.01)
    VOTES["Yeast_spo5, X shuffled, degrees > 0.3"] = shuffled("Yeast_spo5", labels="threshold", threshold=0.3)
    VOTES["Yeast_spo5, X shuffled, 20 raters"] = shuffled("Yeast_spo5", labels="votes", n_raters=20)
VOTES["9 raters on average, their number depends on x (assumption violated); 500, 10, 6"] = varying_raters
INDEPENDENT: dict[str, Callable[[int], Pair]] = {
    "presence; 500, 10, 6": generated(500, 10, 6, labels="presence"),
    "presence, weak features (snr 0.3); 500, 10, 6": generated(500, 10, 6, snr=0.3, labels="presence"),
    "presence; 300, 10, 6": generated(300, 10, 6, labels="presence"),
    "presence, imbalanced; 300, 10, 6": generated(300, 10, 6, imbalance=20.0, labels="presence"),
    "presence, 500 noise features; 300, 8 + 500, 5": generated(300, 8, 5, noise=500, labels="presence"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=[""], help="settings whose names contain one of these words")
    options = parser.parse_args()
    for title, settings in (("votes", VOTES), ("independent labels", INDEPENDENT)):
        print(f"| {title}; rows, features, labels | called independent | standard error |\n|---|---|---|")
        for name, make in settings.items():
            if any(term in name for term in options.only):
                classified = [not competition_test(*make(seed)).competing for seed in range(options.simulations)]
                rate = np.mean(classified)
                print(f"| {name} | {rate:.3f} | {np.sqrt(rate * (1 - rate) / len(classified)):.3f} |", flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
