"""How often do intervals hold what they are to hold? On simulated votes, and on real sets.

``python benchmarks/intervals.py [--seeds N] [--coverage SHARE] [--sets NAME ...]`` prints two Markdown tables.

Simulated votes: for several sizes and ways of voting, the share of the true shares p(x) of new rows that
``predict_interval`` holds, the share of the votes that rows did get that ``enhance_interval`` holds (labels with a
vote, in rows with two of them or more), and the mean widths.

Real sets: labels where a degree exceeds 0.01, 60 % of the rows to fit. The truth of a row is its own, which differs
from that of other rows with the same features; conformal intervals, calibrated on a fifth of the rows, are for that.
Sets other than the embedded ones are read from a folder beside the repository if they are there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn import DLDL, ConformalIntervals, VoteLDL
from ldlearn.datasets import make_label_distributions

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import EMBEDDED, Split
from shared_data import SHARED

FILES = ("SCUT_FBP", "Natural_Scene", "SJAFFE", "SBU_3DFE")
NEW_ROWS = 500
SETTINGS: dict[str, dict[str, Any]] = {
    "5 raters": {"n": 1000, "m": 20, "c": 5, "votes": 5},
    "20 raters": {"n": 1000, "m": 20, "c": 5, "votes": 20},
    "20 raters, sharp shares": {"n": 1000, "m": 20, "c": 5, "votes": 20, "sharpness": 4.0},
    "20 raters, rare labels": {"n": 1000, "m": 20, "c": 6, "votes": 20, "imbalance": 20.0},
    "5 votes on average": {"n": 1000, "m": 20, "c": 5, "votes": 5, "random": True},
    "10 raters, few rows": {"n": 300, "m": 10, "c": 5, "votes": 10},
    "10 raters, many features": {"n": 400, "m": 60, "c": 6, "votes": 10},
    "10 raters, many labels": {"n": 800, "m": 40, "c": 12, "votes": 10},
    "10 raters, many rows": {"n": 5000, "m": 20, "c": 8, "votes": 10},
    "5 raters who agree (concentration 5)": {"n": 1000, "m": 20, "c": 5, "votes": 5, "agree": 5.0},
    "20 raters who agree (concentration 10)": {"n": 1000, "m": 20, "c": 5, "votes": 20, "agree": 10.0},
}


def simulate(n: int, m: int, c: int, votes: int, seed: int, random: bool = False, agree: float = np.inf, **made: Any):
    """Features, true shares p(x) and votes of n rows and of new ones."""
    data = make_label_distributions(n + NEW_ROWS, m, c, snr=np.inf, random_state=seed, **made)
    rng = np.random.default_rng(seed)
    P = data.D if np.isinf(agree) else rng.standard_gamma(agree * data.D)
    counts = rng.poisson(votes * data.D) if random else rng.multinomial(votes, P / P.sum(axis=1, keepdims=True))
    some = counts.any(axis=1)
    return n, data.X[some], data.D[some], counts[some]


def held(bounds: Any, truth: np.ndarray, where: Any = ...) -> tuple[float, float]:
    """Share of the truth that is held, and mean width."""
    lower, upper = bounds
    inside = (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    return float(inside[where].mean()), float((upper - lower)[where].mean())


def simulated(seeds: int, coverage: float) -> None:
    print("| votes | rows, features, labels | DLDL predicts | recovers | VoteLDL predicts | recovers |")
    print("|---|---|---|---|---|---|")
    for name, setting in SETTINGS.items():
        cells = []
        for make in (DLDL, VoteLDL):
            found = []
            for seed in range(seeds):
                n, X, P, votes = simulate(**setting, seed=seed)
                Y, X_new, P_new, new = votes[:n] > 0, X[n:], P[n:], votes[n:]
                model = make().fit(X[:n], Y)
                judged = (new > 0) & ((new > 0).sum(axis=1, keepdims=True) > 1)
                shares = new / new.sum(axis=1, keepdims=True)
                found.append(
                    held(model.predict_interval(X_new, coverage), P_new)
                    + held(model.enhance_interval(X_new, new > 0, coverage), shares, judged)
                )
            means = np.mean(found, axis=0)
            cells += [f"{means[0]:.3f} (width {means[1]:.3f})", f"{means[2]:.3f} ({means[3]:.3f})"]
        print(f"| {name} | {setting['n']}, {setting['m']}, {setting['c']} | " + " | ".join(cells) + " |", flush=True)


def real(names: list[str], seeds: int, coverage: float) -> None:
    print("| set | DLDL predicts | recovers | conformal, around DLDL's predictions |")
    print("|---|---|---|---|")
    for name in names:
        found = []
        for seed in range(seeds):
            split = Split(name, seed)
            model = DLDL().fit(split.X, split.Y)
            judged = (split.Y_test == 1) & (split.Y_test.sum(axis=1, keepdims=True) > 1)
            sure = ConformalIntervals(model).fit(split.X_val, split.D_val)
            found.append(
                held(model.predict_interval(split.X_test, coverage), split.D_test)
                + held(model.enhance_interval(split.X_test, split.Y_test, coverage), split.D_test, judged)
                + held(sure.predict_interval(split.X_test, coverage), split.D_test)
            )
        means = np.mean(found, axis=0)
        cells = [f"{means[k]:.3f} (width {means[k + 1]:.3f})" for k in (0, 2, 4)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--coverage", type=float, default=0.9)
    available = [*EMBEDDED, *(name for name in FILES if (SHARED / "datasets" / f"{name}.mat").exists())]
    parser.add_argument("--sets", nargs="*", default=available)
    options = parser.parse_args()
    simulated(options.seeds, options.coverage)
    print()
    real(options.sets, min(options.seeds, 3), options.coverage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
