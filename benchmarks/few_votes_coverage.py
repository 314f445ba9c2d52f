"""Do the intervals of CountLDL contain the degrees as often as they say?

``python benchmarks/few_votes_coverage.py [--seeds N] [--first-seed N] [--rows N ...] [--features N]
[--labels N]`` simulates tables with a few votes per row and prints the coverage of 90 % intervals:
for the degrees of training rows, for those of new rows with votes, and for those of new rows
without. A summary has means and ranges over concentrations and numbers of rows.

In the first block the model holds: degrees around a linear prediction, classes of rows, a mixture
of both, or a different number of votes in each row. In the second it does not: the votes of a row
are not independent draws from its degrees (overdispersed), or the logits are quadratic in the
features (non-linear).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import softmax

from ldlearn import CountLDL

MODEL = ("single distribution", "classes", "mixture", "unequal numbers of votes")
OUTSIDE = ("overdispersed votes", "non-linear")
VOTES = (1, 2, 3, 5, 20)
CONCENTRATIONS = (1.0, 4.0, 16.0, 64.0)


def draw_dirichlet(parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One distribution for each row of parameters."""
    gamma = rng.standard_gamma(np.maximum(parameters, 1e-6)) + 1e-300
    return gamma / gamma.sum(axis=1, keepdims=True)


def simulate(
    kind: str,
    n: int,
    concentration: float,
    n_votes: int,
    rng: np.random.Generator,
    n_features: int,
    n_labels: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, degrees and votes."""
    X = rng.standard_normal((n, n_features))
    coef = rng.standard_normal((n_features, n_labels)) / np.sqrt(n_features)
    intercept = rng.standard_normal(n_labels)
    used = X**2 - 1.0 if kind == "non-linear" else X
    P = softmax(1.5 * used @ coef + intercept, axis=1)
    single = draw_dirichlet(concentration * P, rng)
    centres = draw_dirichlet(np.ones((n_labels, n_labels)), rng)
    classes = [rng.choice(n_labels, p=p) for p in P]
    of_class = draw_dirichlet(concentration * centres[classes], rng)
    share = {"classes": 1.0, "mixture": 0.5}.get(kind, 0.0)
    D = np.where(rng.random((n, 1)) < share, of_class, single)
    numbers = np.full(n, n_votes)
    if kind == "unequal numbers of votes":
        numbers = rng.integers(1, 2 * n_votes, size=n)
    rates = draw_dirichlet(5.0 * D, rng) if kind == "overdispersed votes" else D
    votes = [rng.multinomial(number, rate) for number, rate in zip(numbers, rates, strict=True)]
    return X, D, np.array(votes, dtype=float)


def measure(
    kind: str, n: int, concentration: float, n_votes: int, seed: int, given: Any
) -> list[float]:
    """Coverage of the three kinds of interval."""
    rng = np.random.default_rng([seed, n_votes, int(concentration), len(kind)])
    X, D, V = simulate(kind, 2 * n, concentration, n_votes, rng, given.features, given.labels)
    train = slice(None, n)
    new = slice(n, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CountLDL().fit(X[train], V[train])
    bounds = (
        (D[train], model.enhance_interval(X[train], V[train])),
        (D[new], model.enhance_interval(X[new], V[new])),
        (D[new], model.predict_interval(X[new])),
    )
    return [float(np.mean((lower <= d) & (d <= upper))) for d, (lower, upper) in bounds]


def print_summary(cells: list[tuple], found: np.ndarray) -> None:
    """Means and ranges over numbers of rows and concentrations."""
    print("\n| | votes | training rows | new, votes | new, no votes |")
    print("|---|--:|--:|--:|--:|")
    groups: dict[tuple[str, int], list[int]] = {}
    for position, (kind, _, _, n_votes) in enumerate(cells):
        groups.setdefault((kind, n_votes), []).append(position)
    for (kind, n_votes), positions in groups.items():
        values = []
        for column in found[positions].T:
            values.append(f"{column.mean():.2f} ({column.min():.2f} to {column.max():.2f})")
        print(f"| {kind} | {n_votes} | " + " | ".join(values) + " |")
    several = found[[n_votes > 1 for *_, n_votes in cells]]
    inside = np.mean((several >= 0.85) & (several <= 0.95), axis=0)
    print("\nWith two votes or more: mean", several.mean(axis=0).round(3), end=", ")
    print("smallest", several.min(axis=0).round(3), end=", ")
    print("share of the cells between 0.85 and 0.95", inside.round(2))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--labels", type=int, default=6)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000])
    given = parser.parse_args()
    for title, kinds in (("The model holds", MODEL), ("It does not", OUTSIDE)):
        print(f"\n## {title}\n")
        print("| | rows | votes | concentration | training rows | new, votes | new, no votes |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        cells = []
        for kind in kinds:
            for n in given.rows:
                for n_votes in VOTES:
                    cells.extend((kind, n, c, n_votes) for c in CONCENTRATIONS)
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        jobs = [delayed(measure)(*cell, seed, given) for cell in cells for seed in seeds]
        found = np.reshape(Parallel(n_jobs=2)(jobs), (len(cells), given.seeds, 3)).mean(axis=1)
        for cell, coverage in zip(cells, found, strict=True):
            kind, n, concentration, n_votes = cell
            values = " | ".join(f"{value:.3f}" for value in coverage)
            print(f"| {kind} | {n:,} | {n_votes} | {concentration:g} | {values} |")
        print_summary(cells, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
