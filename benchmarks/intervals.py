"""Empirical coverage of intervals, on simulated votes and on real data sets.

``python benchmarks/intervals.py [--seeds N] [--coverage LEVEL] [--sets NAME ...]`` prints three Markdown tables.

Simulated votes, a table for DLDL and one for VoteLDL; the raters of a row vote with probabilities p(x) or, if they
agree, with degrees q of the row's own. On new rows, the coverage and the mean width of

- intervals of ``predict_interval`` for p(x);
- intervals of ``enhance_interval`` for the shares of the votes of rows (positive labels in rows with two or more);
- both with the number of raters (``n_raters=``), for q and for the shares of the votes.

Where labels determine the coefficients too poorly, ``predict_interval`` raises; the table shows how often.

Real sets: labels where a degree exceeds 0.01, 60 % of the rows for the fit. The true degrees of a row differ from those
of other rows with the same features; conformal intervals, calibrated on a fifth of the rows, are for these. Where
degrees are shares of votes, the number of raters is given too. Sets other than the embedded ones are read from a folder
beside the repository if they are there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn import DLDL, ConformalIntervals, VoteLDL
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import EMBEDDED, Split
from shared_data import SHARED

FILES = ("SCUT_FBP", "Natural_Scene", "SJAFFE", "SBU_3DFE")
NEW_ROWS = 500
RATERS = {"vader_tweets": 20, "SCUT_FBP": 70}  # of a typical row, where degrees are shares of votes
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
    "20 raters who agree (10)": {"n": 1000, "m": 20, "c": 5, "votes": 20, "agree": 10.0},
    "20 votes on average, agreeing (10)": {"n": 1000, "m": 20, "c": 5, "votes": 20, "agree": 10.0, "random": True},
    "20 raters who agree much (5)": {"n": 1000, "m": 20, "c": 5, "votes": 20, "agree": 5.0},
    "5 raters, rows with noise (snr 10)": {"n": 1000, "m": 20, "c": 5, "votes": 5, "snr": 10.0},
    "20 raters, rows with noise (snr 10)": {"n": 1000, "m": 20, "c": 5, "votes": 20, "snr": 10.0},
    "50 raters": {"n": 400, "m": 10, "c": 4, "votes": 50},
    "50 raters, more features": {"n": 400, "m": 20, "c": 4, "votes": 50},
    "70 raters": {"n": 1000, "m": 20, "c": 5, "votes": 70},
    "8 raters, 500 noise features": {"n": 300, "m": 8, "c": 5, "votes": 8, "noise": 500},
    "10 raters, more features than rows": {"n": 100, "m": 400, "c": 5, "votes": 10},
    "10 raters, half as many features as rows": {"n": 200, "m": 100, "c": 5, "votes": 10},
}


@dataclass(frozen=True)
class Rows:
    """Features, mean degrees p(x) if known, the row's own degrees q, and votes."""

    X: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    votes: np.ndarray

    def part(self, rows: slice | np.ndarray) -> Rows:
        return Rows(self.X[rows], self.P[rows], self.Q[rows], self.votes[rows])


def simulate(
    n: int,
    m: int,
    c: int,
    votes: int,
    seed: int,
    random: bool = False,
    agree: float = np.inf,
    snr: float = np.inf,
    noise: int = 0,
    **made: Any,
) -> tuple[Rows, Rows]:
    """Training rows and new rows. With a finite snr rows have individual degrees, whose mean is not p(x)."""
    data = make_label_distributions(n + NEW_ROWS, m, c, snr=snr, random_state=seed, **made)
    rng = np.random.default_rng(seed)
    Q, totals = data.D, votes
    if np.isfinite(agree):
        parts = rng.standard_gamma(agree * data.D)
        Q = parts / parts.sum(axis=1, keepdims=True)
        totals = votes * parts.sum(axis=1, keepdims=True) / agree
    counts = rng.poisson(totals * Q) if random else rng.multinomial(votes, Q)
    P = data.D if np.isinf(snr) else np.full_like(data.D, np.nan)
    rows = Rows(np.hstack([data.X, rng.normal(size=(len(data.X), noise))]), P, Q, counts)
    some = counts.any(axis=1)
    return rows.part(np.flatnonzero(some)[:n]), rows.part(np.flatnonzero(some)[n:])


def empirical_coverage(intervals: Callable[[], Any], truth: np.ndarray, where: Any = ...) -> tuple[float, float]:
    """Empirical coverage and mean width; NaN if intervals are not available."""
    try:
        lower, upper = intervals()
    except InputError:
        return np.nan, np.nan
    inside = np.where(np.isnan(truth), np.nan, (lower - 1e-9 <= truth) & (truth <= upper + 1e-9))
    return float(inside[where].mean()), float((upper - lower)[where].mean())


def row(name: str, found: Sequence[Sequence[tuple[float, float]]]) -> str:
    """A line of a table: means over seeds, widths in brackets, and how often intervals were not available."""
    cells = []
    for column in np.moveaxis(np.array(found), 1, 0):
        given = column[~np.isnan(column[:, 1])]
        coverage, width = given.mean(axis=0) if len(given) else (np.nan, np.nan)
        cell = "" if np.isnan(coverage) else f"{coverage:.3f} (width {width:.3f})"
        refused = f"refused: {len(column) - len(given)} of {len(column)}" if len(given) < len(column) else ""
        cells.append(" ".join(part for part in (cell, refused) if part))
    return f"| {name} | " + " | ".join(cells) + " |"


def simulated(make: type[DLDL | VoteLDL], seeds: int, coverage: float) -> None:
    kinds = (
        "prediction, p(x)",
        "recovery, votes",
        "with `n_raters`: prediction, row",
        "with `n_raters`: recovery, votes",
    )
    print(f"| {make.__name__}: votes; rows, features, labels | {' | '.join(kinds)} |")
    print("|---|---|---|---|---|")
    for name, setting in SETTINGS.items():
        found = []
        for seed in range(seeds):
            train, new = simulate(**setting, seed=seed)
            model = make().fit(train.X, train.votes > 0)
            Y, shares = new.votes > 0, new.votes / new.votes.sum(axis=1, keepdims=True)
            judged = Y & (Y.sum(axis=1, keepdims=True) > 1)
            known = {"coverage": coverage, "n_raters": setting["votes"]}
            found.append(
                [
                    empirical_coverage(partial(model.predict_interval, new.X, coverage), new.P),
                    empirical_coverage(partial(model.enhance_interval, new.X, Y, coverage), shares, judged),
                    empirical_coverage(partial(model.predict_interval, new.X, **known), new.Q),
                    empirical_coverage(partial(model.enhance_interval, new.X, Y, **known), shares, judged),
                ]
            )
        n_features = setting["m"] + setting.get("noise", 0)
        print(row(f"{name}; {setting['n']}, {n_features}, {setting['c']}", found), flush=True)


def real(names: list[str], seeds: int, coverage: float) -> None:
    columns = ("prediction", "recovery", "with `n_raters`: prediction", "with `n_raters`: recovery")
    print(f"| set | {' | '.join(columns)} | conformal, prediction |")
    print("|---|---|---|---|---|---|")
    for name in names:
        found = []
        for seed in range(seeds):
            split = Split(name, seed)
            model = DLDL().fit(split.X, split.Y)
            judged = (split.Y_test == 1) & (split.Y_test.sum(axis=1, keepdims=True) > 1)
            sure = ConformalIntervals(model).fit(split.X_val, split.D_val)
            new, given = split.X_test, (split.X_test, split.Y_test)
            known = {"coverage": coverage, "n_raters": RATERS.get(name)}
            blank = (np.nan, 0.0)
            found.append(
                [
                    empirical_coverage(partial(model.predict_interval, new, coverage), split.D_test),
                    empirical_coverage(partial(model.enhance_interval, *given, coverage), split.D_test, judged),
                    empirical_coverage(partial(model.predict_interval, new, **known), split.D_test)
                    if name in RATERS
                    else blank,
                    empirical_coverage(partial(model.enhance_interval, *given, **known), split.D_test, judged)
                    if name in RATERS
                    else blank,
                    empirical_coverage(partial(sure.predict_interval, new, coverage), split.D_test),
                ]
            )
        print(row(name, found), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--coverage", type=float, default=0.9)
    available = [*EMBEDDED, *(name for name in FILES if (SHARED / "datasets" / f"{name}.mat").exists())]
    parser.add_argument("--sets", nargs="*", default=available)
    options = parser.parse_args()
    for make in (DLDL, VoteLDL):
        simulated(make, options.seeds, options.coverage)
        print()
    real(options.sets, min(options.seeds, 3), options.coverage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
