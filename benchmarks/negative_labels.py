"""What 0 means: recovery and prediction of DLDL with both meanings, LP and a plain classifier, on known degrees.

``python benchmarks/negative_labels.py`` prints Markdown tables: mean intersection over data sets and seeds 0, 1, 2 of
splits of at most 700 rows, 70 % of them for training, features standardised on these, for five ways of making labels
and for generated surveys, in which respondents name the reasons whose degree exceeds 0.2. The last table repeats the
choice of kappa (over the mean number of positive labels: of selections, of other labels) without one data set at a
time: the choice on the others, and what it loses on this set against the best choice.

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
from ldlearn.core import binarize, softmax
from ldlearn.core.negative_labels import PositiveLabels, count_moments
from ldlearn.datasets import make_logical_labels
from ldlearn.enhancement import LP
from ldlearn.metrics import intersection

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

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
CONCENTRATIONS = tuple(product((1.0, 1.5, 2.0), (0.25, 0.5, 1.0)))


def survey(seed: int, n: int = 1200, n_features: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, degrees of six reasons, and the main ones: those with a degree above 0.2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = 0.65 * X @ rng.normal(size=(n_features, 6)) / np.sqrt(n_features) + 0.3 * rng.normal(size=6)
    D = softmax(scores + 0.5 * rng.normal(size=(n, 6)))
    Y = binarize(D, delta=0.2)
    named = Y.any(axis=1)
    return X[named], D[named], Y[named]


def cells() -> Any:
    """Name, way, and the training and test parts of X, D and Y."""
    for name in (*EMBEDDED, *(n for n in FILES if (SHARED / "datasets" / f"{n}.mat").exists())):
        X, D = load(name)
        X = X[:, np.random.default_rng(0).permutation(X.shape[1])[:300]]  # of Movie, to be quick
        for seed in range(3):
            rows = np.random.default_rng(seed).permutation(len(X))[:700]
            for way, make in WAYS.items():
                yield name, way, split(X[rows], D[rows], make(D[rows], seed))
    for seed in range(3):
        yield "survey", "survey", split(*survey(seed))


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
        labels = PositiveLabels.of(*count_moments(Y.astype(bool)))
        by_kappa = {
            ratio: intersection(
                D,
                DLDL(model.alpha, model.beta_, model.gamma_, zeros="less", kappa=ratio * labels.per_row)
                .fit(X, Y)
                .label_distributions_,
            )
            for ratio in sorted({r for pair in CONCENTRATIONS for r in pair})
        }
        tried[name, way].append([by_kappa[pair[0 if labels.is_selection else 1]] for pair in CONCENTRATIONS])
    names = list(dict.fromkeys(name for _, name, _ in scores if name != "survey"))
    for part, title in enumerate(("recovery", "prediction")):
        print(f"\n| {title} | " + " | ".join([*WAYS, "survey"]) + " |\n|---|" + "---|" * (len(WAYS) + 1))
        for method in dict.fromkeys(method for method, _, _ in scores):
            means = [np.mean([[s[part] for s in scores[method, n, way]] for n in names]) for way in WAYS]
            means.append(np.mean([s[part] for s in scores[method, "survey", "survey"]]))
            print(f"| {method} | " + " | ".join(f"{value:.3f}" for value in means) + " |")
    print("\n| left out | kappa by the others | loss |\n|---|---|---|")
    sets = {
        n: np.mean([np.mean(rows, axis=0) for (name, _), rows in tried.items() if name == n], axis=0)
        for n in (*names, "survey")
    }
    for name, values in sets.items():
        best = int(np.argmax(np.mean([other for n, other in sets.items() if n != name], axis=0)))
        print(
            f"| {name} | {CONCENTRATIONS[best][0]:g}, {CONCENTRATIONS[best][1]:g} | {values.max() - values[best]:.3f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
