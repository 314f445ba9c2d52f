"""Empirical coverage of intervals, on simulated votes and on real data sets.

``python benchmarks/intervals.py [--seeds N] [--coverage LEVEL] [--tables NAME ...] [--sets NAME
...]`` prints four Markdown tables (violations, DLDL, VoteLDL, real), with simulation errors where
there is more than one seed.

Violations of what intervals of p(x) assume: non-linear truth, numbers of raters that vary, groups
of dependent rows; the coverage, how often there is a message, and the coverage of the simulations
without one. Bars: a message in at most 5 % of the simulations in which the assumptions hold, and no
coverage below 0.8 without a message.

Simulated votes, a table for DLDL and one for VoteLDL; the raters of a row vote with probabilities
p(x) or, if they agree, with degrees q of the row's own. On new rows, the coverage and the mean
width of

- intervals of ``predict_interval`` for p(x);
- intervals of ``enhance_interval`` for the shares of the votes of rows (positive labels in rows
  with two or more);
- both with the number of raters (``n_raters=``), for q and for the shares of the votes.

Where labels determine the coefficients too poorly, ``predict_interval`` raises; the tables show how
often, and how often there is a message (a false alarm, except for noise).

Real sets: labels where a degree exceeds 0.01, 60 % of the rows for the fit. The true degrees of a
row differ from those of other rows with the same features; conformal intervals, calibrated on a
fifth of the rows, are for these. Where degrees are shares of votes, the number of raters is given
too. Sets other than the embedded ones are read from a folder beside the repository if they are
there.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn import DLDL, ConformalIntervals, VoteLDL
from ldlearn.core import softmax
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
    "20 votes on average, agreeing (10)": {
        "n": 1000,
        "m": 20,
        "c": 5,
        "votes": 20,
        "agree": 10.0,
        "random": True,
    },
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
    """Training rows and new rows. With a finite snr rows have individual degrees, whose mean is not
    p(x)."""
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


Figures = tuple[float, float, float]  # coverage, mean width, whether there was a message


def empirical_coverage(
    intervals: Callable[[], Any], truth: np.ndarray, where: Any = ...
) -> Figures:
    """Empirical coverage, mean width, and whether there was a message; NaN if intervals are not
    available."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            lower, upper = intervals()
        except InputError:
            return np.nan, np.nan, 0.0
    inside = np.where(np.isnan(truth), np.nan, (lower - 1e-9 <= truth) & (truth <= upper + 1e-9))
    return float(inside[where].mean()), float((upper - lower)[where].mean()), float(bool(caught))


def mean_and_error(values: np.ndarray) -> str:
    """The mean over seeds, with its standard error."""
    error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{error}"


def row(name: str, found: Sequence[Sequence[Figures]]) -> str:
    """A line of a table: means over seeds, widths in brackets, how often there were a message or no
    intervals."""
    cells = []
    for column in np.moveaxis(np.array(found), 1, 0):
        given = column[~np.isnan(column[:, 1])]
        known = len(given) > 0 and not np.isnan(given[:, 0]).any()
        cell = f"{mean_and_error(given[:, 0])} (width {given[:, 1].mean():.3f})" if known else ""
        refused = (
            f"refused: {len(column) - len(given)} of {len(column)}"
            if len(given) < len(column)
            else ""
        )
        message = f"message: {given[:, 2].sum():.0f} of {len(column)}" if given[:, 2].any() else ""
        cells.append(" ".join(part for part in (cell, refused, message) if part))
    return f"| {name} | " + " | ".join(cells) + " |"


@dataclass(frozen=True)
class Case:
    """Training rows with what may be told to `fit`, and new rows with their p(x)."""

    X: np.ndarray
    Y: np.ndarray
    known: dict[str, np.ndarray]
    X_new: np.ndarray
    P_new: np.ndarray


def scores(X: np.ndarray, kind: str, rng: np.random.Generator, c: int = 5) -> np.ndarray:
    """Scores of variance about 4."""
    m = X.shape[1]
    linear = X @ rng.normal(size=(m, c)) / np.sqrt(m)
    if kind == "linear":
        return 2.0 * linear
    if kind == "squares":
        return np.sqrt(2.0) * (linear + (X**2 - 1.0) @ rng.normal(size=(m, c)) / np.sqrt(2.0 * m))
    if kind == "small squares":
        return 2.0 * linear + 0.6 * (X**2 - 1.0) @ rng.normal(size=(m, c)) / np.sqrt(2.0 * m)
    if kind == "products":
        return 2.0 * (X[:, 1:] * X[:, :-1]) @ rng.normal(size=(m - 1, c)) / np.sqrt(m - 1)
    if kind == "waves of two features":
        phases = rng.uniform(0.0, 2.0 * np.pi, c)
        return np.sqrt(8.0) * np.sin(2.0 * X[:, :2] @ rng.normal(size=(2, c)) + phases)
    hidden = np.tanh(2.25 * X @ rng.normal(size=(m, 10)) / np.sqrt(m))  # "network"
    return 0.9 * hidden @ rng.normal(size=(10, c))


def independent_rows(
    n: int, m: int, seed: int, kind: str = "linear", raters: str = "10", **_: Any
) -> Case:
    rng = np.random.default_rng([seed, n, m])
    X = rng.normal(size=(n + NEW_ROWS, m))
    P = softmax(scores(X, kind, rng))
    numbers = {
        "10": np.full(n, 10),
        "1 to 20": rng.integers(1, 21, n),
        "2 or 20": rng.choice([2, 20], n),
        "3 to 30, log-uniform": np.rint(np.exp(rng.uniform(np.log(3.0), np.log(30.0), n))).astype(
            int
        ),
        "by a feature": np.rint(np.exp(2.0 + 0.8 * X[:n, 0])).clip(1, 50).astype(int),
    }[raters]
    return Case(X[:n], rng.multinomial(numbers, P[:n]) > 0, {"n_raters": numbers}, X[n:], P[n:])


def grouped_rows(
    n: int,
    m: int,
    seed: int,
    shared: float,
    effect: str = "normal",
    shuffled: bool = False,
    c: int = 5,
) -> Case:
    """Groups of 20 rows; ``shared`` is the part of the variance of features that the rows of a
    group share.

    The raters of a group have opinions of their own, from a Dirichlet distribution of concentration
    5 around p(x) (if features are the same) or from scores with a normal effect of standard
    deviation 0.5.
    """
    rng = np.random.default_rng([seed, n, m])
    group = np.repeat(np.arange(n // 20), 20)
    X = np.sqrt(shared) * rng.normal(size=(n // 20, m))[group] + np.sqrt(1.0 - shared) * rng.normal(
        size=(n, m)
    )
    X_new, W = rng.normal(size=(NEW_ROWS, m)), 2.0 * rng.normal(size=(m, c)) / np.sqrt(m)
    if effect == "Dirichlet":
        parts = rng.standard_gamma(5.0 * softmax(X[::20] @ W))[group]
        Q, P_new = parts / parts.sum(axis=1, keepdims=True), softmax(X_new @ W)
    else:
        Q = softmax(X @ W + 0.5 * rng.normal(size=(n // 20, c))[group])
        P_new = np.mean(
            [softmax(X_new @ W + 0.5 * rng.normal(size=c)) for _ in range(1000)], axis=0
        )
    order = rng.permutation(n) if shuffled else np.arange(n)
    return Case(X[order], rng.multinomial(10, Q[order]) > 0, {"groups": group[order]}, X_new, P_new)


def violations(seeds: int, coverage: float) -> None:
    print("| violation; rows, features | coverage of p(x) | message | coverage without message |")
    print("|---|---|---|---|")
    lines: dict[str, tuple[Callable[..., Case], dict[str, Any], str]] = {}
    for n, m in ((400, 5), (1000, 20)):
        for kind in (
            "linear",
            "squares",
            "small squares",
            "products",
            "waves of two features",
            "network",
        ):
            name = "none" if kind == "linear" else f"non-linear truth: {kind}"
            lines[f"{name}; {n}, {m}"] = independent_rows, {"n": n, "m": m, "kind": kind}, ""
        for raters in ("1 to 20", "2 or 20", "3 to 30, log-uniform", "by a feature"):
            for known in ("", "n_raters"):
                name = f"numbers of raters {raters}{', given' if known else ''}; {n}, {m}"
                lines[name] = independent_rows, {"n": n, "m": m, "raters": raters}, known
    grouped: dict[str, dict[str, Any]] = {
        "equal features, Dirichlet effect": {"shared": 1.0, "effect": "Dirichlet"},
        "equal features": {"shared": 1.0},
        "similar features": {"shared": 0.5},
        "independent features": {"shared": 0.0},
    }
    for n, m in ((1000, 5), (2000, 20)):
        for what, options in grouped.items():
            for told, known in (({}, ""), ({"shuffled": True}, ""), ({}, "groups")):
                how = ", given" if known else ", table shuffled" if told else ""
                name = f"groups of 20 rows, {what}{how}; {n}, {m}"
                lines[name] = grouped_rows, {"n": n, "m": m, **options, **told}, known
    for name, (make, options, known) in lines.items():
        found = []
        for seed in range(seeds):
            case = make(seed=seed, **options)
            model = VoteLDL(gamma=1.0).fit(
                case.X, case.Y, **({known: case.known[known]} if known else {})
            )
            found.append(
                empirical_coverage(
                    partial(model.predict_interval, case.X_new, coverage), case.P_new
                )
            )
        figures = np.array(found)
        silent = figures[figures[:, 2] == 0, 0]
        cells = (
            mean_and_error(figures[:, 0]),
            f"{figures[:, 2].mean():.0%}",
            mean_and_error(silent) if len(silent) else "",
        )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


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
                    empirical_coverage(
                        partial(model.enhance_interval, new.X, Y, coverage), shares, judged
                    ),
                    empirical_coverage(partial(model.predict_interval, new.X, **known), new.Q),
                    empirical_coverage(
                        partial(model.enhance_interval, new.X, Y, **known), shares, judged
                    ),
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
            blank = (np.nan, 0.0, 0.0)
            found.append(
                [
                    empirical_coverage(
                        partial(model.predict_interval, new, coverage), split.D_test
                    ),
                    empirical_coverage(
                        partial(model.enhance_interval, *given, coverage), split.D_test, judged
                    ),
                    empirical_coverage(partial(model.predict_interval, new, **known), split.D_test)
                    if name in RATERS
                    else blank,
                    empirical_coverage(
                        partial(model.enhance_interval, *given, **known), split.D_test, judged
                    )
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
    available = [
        *EMBEDDED,
        *(name for name in FILES if (SHARED / "datasets" / f"{name}.mat").exists()),
    ]
    parser.add_argument("--tables", nargs="*", choices=["violations", "DLDL", "VoteLDL", "real"])
    parser.add_argument("--sets", nargs="*", default=available)
    options = parser.parse_args()
    tables: dict[str, Callable[[], None]] = {
        "violations": partial(violations, options.seeds, options.coverage),
        "DLDL": partial(simulated, DLDL, options.seeds, options.coverage),
        "VoteLDL": partial(simulated, VoteLDL, options.seeds, options.coverage),
        "real": partial(real, options.sets, min(options.seeds, 3), options.coverage),
    }
    for name in options.tables or tables:
        tables[name]()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
