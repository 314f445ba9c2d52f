"""How well do StackedLDL and other predictors learn from 0/1 labels?

``python benchmarks/stack.py [--stacks] [--seeds N] [--folder DIR] [NAME ...]`` prints Markdown
tables. Each data set (embedded, and the ``.mat`` files with ``features`` and ``labels`` in a folder
beside the repository and in DIR) is split N times, by default three: 720 training rows (60 % if
there are fewer than 1,200 rows), at most 2,000 test rows, features standardised on the training
rows. 0/1 labels are made in two ways: a label is positive if its degree exceeds 0.01, or if it gets
one of 20 votes. True degrees are used for the last two predictors only. "variant selected on the
others" is the variant of StackedLDL with the largest mean intersection on the other data sets.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.io import loadmat
from sklearn.base import clone

from ldlearn import DLDL, MLPLDL, SABFGS, BoostedLDL, FromClassifier, StackedLDL, VoteLDL
from ldlearn.core import binarize
from ldlearn.metrics import chebyshev, intersection, kl_divergence

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import load
from shared_data import SHARED

FOLDER = SHARED / "datasets"
WAYS = ("above 0.01", "20 votes")
METRICS = {"intersection": intersection, "KL": kl_divergence, "Chebyshev": chebyshev}
L2_RATIOS = (0.003, 0.03, 0.3, 3.0)  # of the penalty to the number of features


class Split:
    def __init__(self, name: str, way: str, seed: int) -> None:
        X, D = (
            load_from(FOLDER / f"{name}.mat") if (FOLDER / f"{name}.mat").exists() else load(name)
        )
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))
        n = min(720, int(0.6 * len(X)))
        train, test = order[:n], order[n : n + 2000]
        mean, std = X[train].mean(axis=0), X[train].std(axis=0)
        X = (X - mean) / np.where(std > 0, std, 1.0)
        Y = (
            binarize(D)
            if way == WAYS[0]
            else (rng.multinomial(20, D / D.sum(axis=1, keepdims=True)) > 0).astype(int)
        )
        self.X, self.D, self.Y, self.X_test, self.D_test = (
            X[train],
            D[train],
            Y[train],
            X[test],
            D[test],
        )
        self.teacher = DLDL().fit(self.X, self.Y)

    @cached_property
    def stack(self) -> StackedLDL:
        return StackedLDL().fit(self.X, self.Y)


def load_from(path: Path) -> tuple[np.ndarray, np.ndarray]:
    arrays = loadmat(path)
    D = arrays["labels"].astype(float)
    return arrays["features"].astype(float), D / D.sum(axis=1, keepdims=True)


def stack_without_lightgbm(split: Split) -> StackedLDL:
    with patch("ldlearn.compose.stacked_ldl.find_spec", lambda name: None):
        return StackedLDL().fit(split.X, split.Y)


def changed_stack(split: Split, without: str = "", **added: Any) -> StackedLDL:
    """A stack without one of the default members, with additional ones."""
    members = {
        name: clone(models[0]) for name, models in split.stack.members_.items() if name != without
    }
    return StackedLDL(members=list((members | added).items())).fit(split.X, split.Y)


def tuned_on_truth(split: Split) -> SABFGS:
    """The linear predictor with the penalty that is best on a third of the training rows, fitted to
    true degrees."""
    n, m = 2 * len(split.X) // 3, split.X.shape[1]
    models = [SABFGS(l2=ratio * m) for ratio in L2_RATIOS]
    scores = [
        model.fit(split.X[:n], split.D[:n]).score(split.X[n:], split.D[n:]) for model in models
    ]
    return models[int(np.argmax(scores))].fit(split.X, split.D)


VARIANTS: dict[str, Callable[[Split], Any]] = {
    "`StackedLDL()`": lambda split: split.stack,
    "`StackedLDL()` without the kernel": lambda split: changed_stack(split, "kernel"),
    "`StackedLDL()` and boosted degrees": lambda split: changed_stack(
        split, degrees=BoostedLDL(n_estimators=60)
    ),
}
PREDICTORS: dict[str, Callable[[Split], Any]] = {
    '`FromClassifier(link="votes")`': lambda split: FromClassifier(link="votes").fit(
        split.X, split.Y
    ),
    "`VoteLDL()`": lambda split: VoteLDL().fit(split.X, split.Y),
    "`DLDL()`": lambda split: DLDL().fit(split.X, split.Y),
    '`DLDL(label_model="votes")`': lambda split: DLDL(label_model="votes").fit(split.X, split.Y),
    "`MLPLDL()` on DLDL's degrees": lambda split: MLPLDL().fit(
        split.X, split.teacher.label_distributions_
    ),
    "`BoostedLDL()` on DLDL's degrees": lambda split: BoostedLDL().fit(
        split.X, split.teacher.label_distributions_
    ),
    '`BoostedLDL(target="votes")`': lambda split: BoostedLDL(target="votes").fit(split.X, split.Y),
    "`StackedLDL()` without LightGBM": stack_without_lightgbm,
    **VARIANTS,
    "linear on true degrees, tuned": tuned_on_truth,
    "`BoostedLDL()` on true degrees": lambda split: BoostedLDL().fit(split.X, split.D),
}
REFERENCE, SELECTED = "`DLDL()`", "variant selected on the others"
COMPARED = (REFERENCE, "`StackedLDL()` without LightGBM", "`StackedLDL()`")


def measure(
    names: list[str], n_seeds: int, titles: Iterable[str]
) -> dict[tuple[str, str, str], list[float]]:
    """Mean over seeds of each metric of prediction, recovery and CPU time, by data set, way and
    predictor."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for name in names:
        for way in WAYS:
            rows: dict[str, list[list[float]]] = {}
            for seed in range(n_seeds):
                split = Split(name, way, seed)
                for title in titles:
                    start = time.process_time()
                    model = PREDICTORS[title](split)
                    seconds = time.process_time() - start
                    predicted = model.predict(split.X_test)
                    recovered = getattr(model, "label_distributions_", None)
                    recovery = np.nan if recovered is None else intersection(split.D, recovered)
                    scores = [metric(split.D_test, predicted) for metric in METRICS.values()]
                    rows.setdefault(title, []).append([*scores, recovery, seconds])
            found |= {
                (name, way, title): list(np.mean(values, axis=0)) for title, values in rows.items()
            }
            print(f"{name}, {way}", file=sys.stderr, flush=True)
    return found


def selected_on_others(
    found: dict[tuple[str, str, str], list[float]], names: list[str]
) -> dict[Any, list[float]]:
    selected = {}
    for name in names:
        others = [other for other in names if other != name]
        means = {
            title: np.mean([found[other, way, title][0] for other in others for way in WAYS])
            for title in VARIANTS
        }
        best = max(means, key=lambda title: means[title])
        selected |= {(name, way, SELECTED): found[name, way, best] for way in WAYS}
    return selected


def print_tables(found: dict[tuple[str, str, str], list[float]], names: list[str]) -> None:
    titles = list(dict.fromkeys(title for *_, title in found))
    if len(names) > 1 and set(VARIANTS) <= set(titles):
        found, titles = found | selected_on_others(found, names), [*titles, SELECTED]
    cells = [(name, way) for name in names for way in WAYS]
    print("| predictor | " + " | ".join(METRICS) + " | gain | worst | recovery | worst | CPU |")
    print("|---|" + "---|" * (len(METRICS) + 5))
    reference = np.array([found[*cell, REFERENCE] for cell in cells])
    for title in titles:
        values = np.array([found[*cell, title] for cell in cells])
        difference = values - reference
        shown = [f"{value:.3f}" for value in values[:, : len(METRICS)].mean(axis=0)]
        shown += [f"{difference[:, 0].mean():+.4f}", f"{difference[:, 0].min():+.4f}"]
        has_recovery = np.isfinite(values[:, 3]).all()
        shown += (
            [f"{difference[:, 3].mean():+.4f}", f"{difference[:, 3].min():+.4f}"]
            if has_recovery
            else ["", ""]
        )
        shown.append(f"{values[:, 4].sum() / reference[:, 4].sum():.1f}")
        print(f"| {title} | " + " | ".join(shown) + " |")
    print(
        "\n| data set | 0/1 labels | "
        + " | ".join(COMPARED)
        + " |\n|---|---|"
        + "---|" * len(COMPARED)
    )
    for cell in cells:
        shown = [f"{found[*cell, title][0]:.3f}" for title in COMPARED]
        print(f"| {cell[0]} | {cell[1]} | " + " | ".join(shown) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--stacks", action="store_true", help="measure only DLDL() and StackedLDL()"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of more .mat files")
    given = parser.parse_args()
    globals()["FOLDER"] = given.folder
    warnings.simplefilter("ignore")  # convergence warnings on some data sets
    folders = (SHARED / "datasets", FOLDER)
    names = given.names or [
        "vader_tweets",
        *sorted({path.stem for folder in folders for path in folder.glob("*.mat")}),
    ]
    titles = COMPARED if given.stacks else PREDICTORS
    print_tables(measure(names, given.seeds, titles), names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
