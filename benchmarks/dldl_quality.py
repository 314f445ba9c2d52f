"""How good are DLDL's degrees? Baselines, two steps, the defaults, and the best of a grid, on the
data at hand.

``python benchmarks/dldl_quality.py [NAME ...]`` prints a Markdown table: mean intersection over
seeds 0, 1, 2 of shuffled 60/20/20 splits, features standardised on the training part, logical
labels where a degree exceeds 0.01. "tuned" picks alpha, beta and gamma on the validation part's
true distributions (prediction by ``predict``, recovery by ``enhance``). "trained on truth" is the
same predictor fitted to the true distributions, its penalty picked the same way. SCUT_FBP and
Natural_Scene are read from a folder beside the repository if they are there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn import (
    DLDL,
    SABFGS,
    EnhanceThenLearn,
    FromClassifier,
    PriorLE,
    ProjectedPriorLE,
    UniformLE,
)
from ldlearn.joint import dldl_path
from ldlearn.metrics import intersection

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import Split
from shared_data import SHARED

ALPHA, BETA = (0.0, 0.03, 0.1), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
GAMMA_PER_FEATURE = (0.003, 0.01, 0.03, 0.1, 0.3)
GAMMA_RBF = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def scores(model: Any, split: Split) -> tuple[float, float]:
    return (
        intersection(split.D, model.label_distributions_),
        intersection(split.D_test, model.predict(split.X_test)),
    )


def tuned(models: Iterable[DLDL], split: Split) -> tuple[float, float]:
    """Recovery and prediction of the models that are best on the validation part for each task."""
    recovery, prediction = (-1.0, 0.0), (-1.0, 0.0)
    for model in models:
        found = scores(model, split)
        recovery = max(
            recovery, (intersection(split.D_val, model.enhance(split.X_val, split.Y_val)), found[0])
        )
        prediction = max(
            prediction, (intersection(split.D_val, model.predict(split.X_val)), found[1])
        )
    return recovery[1], prediction[1]


def on_truth(split: Split, targets: np.ndarray) -> float:
    best = (-1.0, 0.0)
    for ratio in GAMMA_PER_FEATURE:
        model = SABFGS(l2=ratio * split.X.shape[1]).fit(split.X, targets)
        validation = intersection(split.D_val, model.predict(split.X_val))
        best = max(best, (validation, intersection(split.D_test, model.predict(split.X_test))))
    return best[1]


def rows(split: Split) -> dict[str, tuple[float, float]]:
    nothing = float("nan")
    m = split.X.shape[1]
    gamma = [ratio * m for ratio in GAMMA_PER_FEATURE]
    two_steps = EnhanceThenLearn().fit(split.X, split.Y)
    rbf = {"feature_map": "rbf"}
    found: dict[str, tuple[float, float]] = {
        type(baseline).__name__: (
            intersection(split.D, baseline.fit_enhance(split.X, split.Y)),
            nothing,
        )
        for baseline in (UniformLE(), PriorLE(), ProjectedPriorLE())
    }
    for link in ("probability", "votes"):
        found[f'FromClassifier(link="{link}")'] = scores(
            FromClassifier(link=link).fit(split.X, split.Y), split
        )
    uniform = UniformLE().fit_enhance(split.X, split.Y)
    found["two steps (UniformLE, SABFGS)"] = scores(two_steps, split)
    found["two steps, tuned"] = (nothing, on_truth(split, uniform))
    found["DLDL(), no tuning"] = scores(DLDL().fit(split.X, split.Y), split)
    found["DLDL, tuned"] = tuned(
        dldl_path(split.X, split.Y, alpha=ALPHA, beta=BETA, gamma=gamma), split
    )
    found['DLDL(feature_map="rbf"), no tuning'] = scores(DLDL(**rbf).fit(split.X, split.Y), split)
    path = dldl_path(split.X, split.Y, beta=BETA, gamma=GAMMA_RBF, **rbf)
    found['DLDL(feature_map="rbf"), tuned'] = tuned(path, split)
    found["trained on truth, tuned"] = (nothing, on_truth(split, split.D))
    return found


def main(names: list[str]) -> int:
    available = [
        "vader_tweets",
        *(n for n in ("SCUT_FBP", "Natural_Scene") if (SHARED / "datasets" / f"{n}.mat").exists()),
    ]
    table: dict[str, list[str]] = {}
    chosen = names or available
    for name in chosen:
        per_seed = [rows(Split(name, seed)) for seed in range(3)]
        for method in per_seed[0]:
            means = np.mean([found[method] for found in per_seed], axis=0)
            table.setdefault(method, []).extend("" if np.isnan(v) else f"{v:.3f}" for v in means)
    print("| | " + " | ".join(f"{name} recovery | prediction" for name in chosen) + " |")
    print("|---|" + "---|" * (2 * len(chosen)))
    for method, cells in table.items():
        print(f"| {method} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
