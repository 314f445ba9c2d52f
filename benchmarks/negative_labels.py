"""What 0 means: recovery and prediction of DLDL with both meanings, LP and a plain classifier, on known degrees.

``python benchmarks/negative_labels.py`` prints Markdown tables: mean intersection over data sets and seeds 0, 1, 2 of
splits of at most 700 rows, 70 % of them for training, features standardised on these, for five ways of making labels
and for generated surveys, in which respondents name the reasons whose degree exceeds 0.2. The last table repeats the
choice of kappa (over the mean number of positive labels: of selections, of other labels) without one data set at a
time. The loss of a choice is that of the mean of recovery and prediction, against the best choice for the set.

The embedded sets are always used, others if they are in the folder beside the repository.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn import DLDL, SABFGS, FromClassifier
from ldlearn.core import binarize
from ldlearn.core.negative_labels import PositiveLabels, count_moments
from ldlearn.datasets import make_logical_labels
from ldlearn.enhancement import LP
from ldlearn.metrics import intersection

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from example_tables import REASONS, make_survey
from protocol import EMBEDDED, load
from shared_data import SHARED

FILES = ("SCUT_FBP", "SJAFFE", "SBU_3DFE", "Yeast_spo5", "Natural_Scene", "Movie")
WAYS = {
    "two largest": lambda D, seed: binarize(D, "top-k", k=2),
    "half the mass": lambda D, seed: binarize(D, "cumulative"),
    "three votes": lambda D, seed: make_logical_labels(D, "votes", n_raters=3, random_state=seed),
    "20 votes": lambda D, seed: make_logical_labels(D, "votes", n_raters=20, random_state=seed),
    "above 0.01": lambda D, seed: make_logical_labels(D, "threshold", random_state=seed),
}
CONCENTRATIONS = tuple(product((1.0, 1.5, 2.0, 3.0), (0.25, 0.5, 1.0)))


def cells() -> Any:
    """Name, kind of labels, and the training and test parts of X, D and Y."""
    for name in (*EMBEDDED, *(n for n in FILES if (SHARED / "datasets" / f"{n}.mat").exists())):
        X, D = load(name)
        X = X[:, np.random.default_rng(0).permutation(X.shape[1])[:300]]  # of Movie, for speed
        for seed in range(3):
            rows = np.random.default_rng(seed).permutation(len(X))[:700]
            for way, make in WAYS.items():
                yield name, way, split(X[rows], D[rows], make(D[rows], seed))
    for seed in range(3):
        table, D = make_survey(seed)
        Y = table[REASONS].to_numpy()
        rows = Y.any(axis=1)
        yield "survey", "survey", split(table.filter(like="x").to_numpy()[rows], D[rows], Y[rows])


def split(X: np.ndarray, D: np.ndarray, Y: np.ndarray) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    k = int(0.7 * len(X))
    mean, std = X[:k].mean(axis=0), X[:k].std(axis=0)
    X = (X - mean) / np.where(std > 0, std, 1.0)
    return (X[:k], D[:k], Y[:k]), (X[k:], D[k:], Y[k:])


def main() -> int:
    scores: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    tried: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for name, way, ((X, D, Y), (X_test, D_test, _)) in cells():
        recovered = LP().fit_enhance(X, Y)
        predicted = SABFGS().fit(X, recovered).predict(X_test)
        scores["LP, SABFGS", name, way].append((intersection(D, recovered), intersection(D_test, predicted)))
        for model in (FromClassifier(), DLDL(), DLDL(zeros="less")):
            model.fit(X, Y)
            found = intersection(D, model.label_distributions_), intersection(D_test, model.predict(X_test))
            title = "classifier" if isinstance(model, FromClassifier) else f'zeros="{model.zeros}"'
            scores[title, name, way].append(found)
        labels = PositiveLabels.from_moments(*count_moments(Y.astype(bool)))
        by_kappa = {}
        for ratio in sorted({ratio for pair in CONCENTRATIONS for ratio in pair}):
            kappa = ratio * labels.per_row
            other = DLDL(beta=model.beta_, gamma=model.gamma_, zeros=kappa).fit(X, Y)
            by_kappa[ratio] = (
                intersection(D, other.label_distributions_) + intersection(D_test, other.predict(X_test))
            ) / 2
        tried[name, way].append([by_kappa[pair[0 if labels.is_selection else 1]] for pair in CONCENTRATIONS])
    names = list(dict.fromkeys(name for _, name, _ in scores if name != "survey"))
    for part, title in enumerate(("recovery", "prediction")):
        print(f"\n| {title} | " + " | ".join([*WAYS, "survey"]) + " |\n|---|" + "---|" * (len(WAYS) + 1))
        for method in dict.fromkeys(method for method, _, _ in scores):
            means = [np.mean([[s[part] for s in scores[method, n, way]] for n in names]) for way in WAYS]
            means.append(np.mean([s[part] for s in scores[method, "survey", "survey"]]))
            print(f"| {method} | " + " | ".join(f"{value:.3f}" for value in means) + " |")
    sets = {
        n: np.mean([np.mean(rows, axis=0) for (name, _), rows in tried.items() if name == n], axis=0)
        for n in (*names, "survey")
    }
    losses = np.array([values.max() - values for values in sets.values()])
    print("\n| kappa of selections, of others | mean loss | worst loss |\n|---|---|---|")
    for pair, loss in zip(CONCENTRATIONS, losses.T, strict=True):
        print(f"| {pair[0]:g}, {pair[1]:g} | {loss.mean():.4f} | {loss.max():.4f} |")
    print("\n| left out | by the mean loss of the others | loss | by their worst loss | loss |\n|---|---|---|---|---|")
    for k, name in enumerate(sets):
        others = np.delete(losses, k, axis=0)
        chosen = [int(np.argmin(others.mean(axis=0))), int(np.argmin(others.max(axis=0)))]
        columns = [f"{CONCENTRATIONS[c][0]:g}, {CONCENTRATIONS[c][1]:g} | {losses[k, c]:.3f}" for c in chosen]
        print(f"| {name} | " + " | ".join(columns) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
