"""How often do intervals hold what they are to hold? On simulated votes, and on real sets.

``python benchmarks/intervals.py [--seeds N] [--coverage SHARE] [--sets NAME ...]`` prints three Markdown tables.

Simulated votes, a table for DLDL and one for VoteLDL; the raters of a row vote by p(x), or, if they agree, by shares q
of the row's own. Counted are, of new rows,

- the p(x) that ``predict_interval`` holds;
- the shares of the votes that rows did get that ``enhance_interval`` holds (labels with a vote, in rows with two of
  them or more);
- both again when the number of raters is given (``n_raters=``): now the q of the rows, and the shares of the votes;
- and their mean widths.

Real sets: labels where a degree exceeds 0.01, 60 % of the rows to fit. The truth of a row is its own, which differs
from that of other rows with the same features; conformal intervals, calibrated on a fifth of the rows, are for that.
Where degrees are shares of votes, the number of raters is given too. Sets other than the embedded ones are read from a
folder beside the repository if they are there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
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
}


@dataclass(frozen=True)
class Rows:
    """Some rows: features, the mean shares p(x) if they are known, the row's own shares q, and votes."""

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
    **made: Any,
) -> tuple[Rows, Rows]:
    """Rows to fit and new ones. Noise makes shares of the row's own too; their mean is then not p(x)."""
    data = make_label_distributions(n + NEW_ROWS, m, c, snr=snr, random_state=seed, **made)
    rng = np.random.default_rng(seed)
    Q, totals = data.D, votes
    if np.isfinite(agree):
        parts = rng.standard_gamma(agree * data.D)
        Q = parts / parts.sum(axis=1, keepdims=True)
        totals = votes * parts.sum(axis=1, keepdims=True) / agree
    counts = rng.poisson(totals * Q) if random else rng.multinomial(votes, Q)
    P = data.D if np.isinf(snr) else np.full_like(data.D, np.nan)
    rows = Rows(data.X, P, Q, counts)
    some = counts.any(axis=1)
    return rows.part(np.flatnonzero(some)[:n]), rows.part(np.flatnonzero(some)[n:])


def held(bounds: Any, truth: np.ndarray, where: Any = ...) -> tuple[float, float]:
    """Share of the truth that is held, and mean width."""
    lower, upper = bounds
    inside = np.where(np.isnan(truth), np.nan, (lower - 1e-9 <= truth) & (truth <= upper + 1e-9))
    return float(inside[where].mean()), float((upper - lower)[where].mean())


def row(name: str, found: Sequence[Sequence[tuple[float, float]]]) -> str:
    """A line of a table: means over seeds, widths in brackets."""
    cells = [
        "" if np.isnan(share) else f"{share:.3f} (width {width:.3f})"
        for share, width in np.mean(np.array(found), axis=0)
    ]
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
            told = {"coverage": coverage, "n_raters": setting["votes"]}
            found.append(
                [
                    held(model.predict_interval(new.X, coverage), new.P),
                    held(model.enhance_interval(new.X, Y, coverage), shares, judged),
                    held(model.predict_interval(new.X, **told), new.Q),
                    held(model.enhance_interval(new.X, Y, **told), shares, judged),
                ]
            )
        print(row(f"{name}; {setting['n']}, {setting['m']}, {setting['c']}", found), flush=True)


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
            told = {"coverage": coverage, "n_raters": RATERS.get(name)}
            blank = (np.nan, np.nan)
            found.append(
                [
                    held(model.predict_interval(new, coverage), split.D_test),
                    held(model.enhance_interval(*given, coverage), split.D_test, judged),
                    held(model.predict_interval(new, **told), split.D_test) if name in RATERS else blank,
                    held(model.enhance_interval(*given, **told), split.D_test, judged) if name in RATERS else blank,
                    held(sure.predict_interval(new, coverage), split.D_test),
                ]
            )
        print(row(name, found), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
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
