"""How much is lost when nobody ever saw a true degree? DLDL's own choice of weights against the best of a grid.

``python benchmarks/truthless.py [--sets NAME ...] [--seeds N] [--rows N] [--cache FOLDER]`` turns real distributions
into 0/1 labels in five ways (degree > 0.01, degree > 0.1, votes of 5 or 20 raters, the two largest), fits DLDL on these
alone, and prints Markdown: for every set and way the best recovery and prediction (mean intersection) of a grid of beta
and gamma that sees the truth, and how far `DLDL()`, `VoteLDL()`, `FromClassifier` with both links and the better of the
floors "equal shares" and "class prior" stay below it. With a cache, a run that was stopped continues. Sets other than
the embedded ones are read from a folder beside the repository if they are there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ldlearn import DLDL, FromClassifier, MeanLDL, PriorLE, UniformLE, VoteLDL
from ldlearn.core import normalize_rows
from ldlearn.datasets import make_logical_labels
from ldlearn.joint import competition_test, dldl_path
from ldlearn.metrics import intersection

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import EMBEDDED, load
from shared_data import SHARED

WAYS: dict[str, dict[str, Any]] = {
    "> 0.01": {"labels": "threshold", "threshold": 0.01},
    "> 0.1": {"labels": "threshold", "threshold": 0.1},
    "5 votes": {"labels": "votes", "n_raters": 5},
    "20 votes": {"labels": "votes", "n_raters": 20},
    "top 2": {"labels": "top-k", "k": 2},
}
FILES = ("SCUT_FBP", "Natural_Scene", "SJAFFE", "SBU_3DFE", "Yeast_spo5", "Movie")
BETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
GAMMA_RATIOS = (0.3, 1.0, 3.0)
MANY_FEATURES, COMPONENTS = 400, 100  # more features than that are reduced, to keep the run short
Scores = tuple[float, float]


def sets() -> list[str]:
    return [*EMBEDDED, *(name for name in FILES if (SHARED / "datasets" / f"{name}.mat").exists())]


class Case:
    """A set whose labels came about in one way: rows to fit, rows to judge predictions, features standardised."""

    def __init__(self, name: str, way: str, seed: int, rows: int) -> None:
        X, D = load(name)
        D = normalize_rows(D)  # printed shares are rounded
        order = np.random.default_rng(seed).permutation(len(X))
        n = min(int(0.75 * len(X)), rows)
        train, test = order[:n], order[n : n + rows // 2]
        X = (X - X[train].mean(axis=0)) / np.where(X[train].std(axis=0) > 0, X[train].std(axis=0), 1.0)
        if X.shape[1] > MANY_FEATURES:
            X = PCA(COMPONENTS, whiten=True, random_state=0).fit(X[train]).transform(X)
        self.X, self.X_test, self.D, self.D_test = X[train], X[test], D[train], D[test]
        self.Y = make_logical_labels(self.D, **WAYS[way], random_state=seed)

    def scores(self, model: Any) -> Scores:
        return (
            intersection(self.D, model.label_distributions_),
            intersection(self.D_test, model.predict(self.X_test)),
        )


def study(case: Case) -> dict[str, Any]:
    """Recovery and prediction of everything that is compared."""
    unit = 0.03 * float(case.X.var(axis=0).sum())
    grid = [
        case.scores(model)
        for model in dldl_path(case.X, case.Y, beta=BETAS, gamma=[ratio * unit for ratio in GAMMA_RATIOS], tol=1e-5)
    ]
    equal = UniformLE().fit_enhance(case.X, case.Y)
    prior = PriorLE().fit_enhance(case.X, case.Y)
    constant = MeanLDL().fit(case.X, normalize_rows(case.Y.astype(float))).predict(case.X_test)
    chosen = DLDL().fit(case.X, case.Y)
    return {
        "best": [max(found) for found in zip(*grid, strict=True)],
        "floor": [
            max(intersection(case.D, equal), intersection(case.D, prior)),
            intersection(case.D_test, constant),
        ],
        "DLDL()": case.scores(chosen),
        "VoteLDL()": case.scores(VoteLDL().fit(case.X, case.Y)),
        "classifier": case.scores(FromClassifier().fit(case.X, case.Y)),
        "classifier, votes": case.scores(FromClassifier(link="votes").fit(case.X, case.Y)),
        "beta": chosen.beta_,
        "gamma ratio": chosen.gamma_ / unit,
        "z": competition_test(case.X, case.Y).z,
        "choice": chosen.choice_,
    }


def cached(name: str, way: str, seed: int, rows: int, cache: Path | None) -> dict[str, Any]:
    path = None if cache is None else cache / f"{name}, {way}, seed {seed}, {rows} rows.json"
    if path is not None and path.exists():
        return dict(json.loads(path.read_text()))
    found = study(Case(name, way, seed, rows))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return found


METHODS = ("DLDL()", "VoteLDL()", "classifier", "classifier, votes", "floor")


def regrets(cases: list[dict[str, Any]], method: str) -> np.ndarray:
    return np.array([np.subtract(case["best"], case[method]) for case in cases])


def print_cases(table: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    print("| set | labels | best of the grid | " + " | ".join(METHODS) + " | z | beta |")
    print("|---|---|" + "---|" * (len(METHODS) + 3))
    for (name, way), cases in table.items():
        best = np.mean([case["best"] for case in cases], axis=0)
        cells = ["{:.3f} / {:.3f}".format(*regrets(cases, method).mean(axis=0)) for method in METHODS]
        z, beta = (float(np.mean([case[key] for case in cases])) for key in ("z", "beta"))
        print(
            f"| {name} | {way} | {best[0]:.3f} / {best[1]:.3f} | " + " | ".join(cells) + f" | {z:+.1f} | {beta:.2g} |"
        )


def print_summary(cases: list[dict[str, Any]]) -> None:
    print(f"\n{len(cases)} cases; regret is what a method stays below the best of the grid, recovery / prediction.\n")
    print("| method | mean regret | worst | more than 0.01 below the floor at recovery |")
    print("|---|---|---|---|")
    for method in METHODS[:-1]:
        lost = regrets(cases, method)
        below = sum(case["floor"][0] - case[method][0] > 0.01 for case in cases)
        mean, worst = lost.mean(axis=0), lost.max(axis=0)
        print(f"| {method} | {mean[0]:.4f} / {mean[1]:.4f} | {worst[0]:.3f} / {worst[1]:.3f} | {below} |")
    for kind in ("classifier", "classifier, votes"):
        ahead = np.array([np.subtract(case[kind], case["DLDL()"]) for case in cases])
        recovery, prediction = (ahead > 0.01).sum(axis=0)
        print(
            f"\n`DLDL()` is more than 0.01 below {kind} in {recovery} cases at recovery and {prediction} at prediction,"
        )
        print("at worst by {:.3f} and {:.3f}.".format(*ahead.max(axis=0)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=sets())
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1000, help="most rows to fit")
    parser.add_argument("--cache", type=Path, help="folder of what was computed before")
    options = parser.parse_args()
    table = {
        (name, way): [cached(name, way, seed, options.rows, options.cache) for seed in range(options.seeds)]
        for name in options.sets
        for way in WAYS
    }
    print_cases(table)
    print_summary([case for cases in table.values() for case in cases])
    return 0


if __name__ == "__main__":
    sys.exit(main())
