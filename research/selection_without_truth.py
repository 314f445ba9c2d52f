"""Regret of selecting beta and gamma from 0/1 labels alone, against the best of a grid that sees
the true degrees.

``python research/selection_without_truth.py [--sets NAME ...] [--folder FOLDER] [--seeds N] [--rows
N] [--cache FOLDER] [--write FILE]`` turns real distributions into 0/1 labels in five ways (degree >
0.01, degree > 0.1, votes of 5 or 20 raters, the two largest) and fits DLDL on these alone. It
prints Markdown:

* the regret of `DLDL()` for every set and way: how far recovery and prediction (mean intersection)
  stay below the best of a grid of beta and gamma that sees the true degrees; and the means of
  `DLDL()`, `VoteLDL()` and the better of the baselines "equal degrees" and "class prior";
* the regret of taking the point of the grid that is best on a few rows with true degrees.

``--write`` stores the figures, and ``--show FILE`` prints stored ones. With a cache, an interrupted
run continues. Sets other than the embedded ones are .mat files in a folder beside the repository,
or in the one named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from sklearn.decomposition import PCA

import ldlearn
from ldlearn import DLDL, MeanLDL, PriorLE, UniformLE, VoteLDL
from ldlearn.core import normalize_rows
from ldlearn.datasets import make_logical_labels
from ldlearn.joint import dldl_path
from ldlearn.metrics import intersection, per_row

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
METHODS = ("DLDL()", "VoteLDL()", "baseline")
KNOWN_ROWS = (5, 10, 20, 50, 100)  # with true degrees, for the curve
DRAWS = 10  # of such rows
MANY_FEATURES, COMPONENTS = 400, 100  # more features than that are reduced, to keep the run short


def sets() -> list[str]:
    return [*EMBEDDED, *(name for name in FILES if (SHARED / "datasets" / f"{name}.mat").exists())]


def read(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Features and distributions of a set; those of a .mat file in the folder are called as most of
    these files do."""
    if folder is None or not (folder / f"{name}.mat").exists():
        return load(name)
    arrays = loadmat(folder / f"{name}.mat")
    D = arrays.get("label_distribution", arrays.get("labels"))
    return arrays["features"].astype(float), D.astype(float)


def standardised(X: np.ndarray, rows: Any) -> np.ndarray:
    spread = X[rows].std(axis=0)
    return (X - X[rows].mean(axis=0)) / np.where(spread > 0, spread, 1.0)


class Case:
    """A set whose labels came about in one way: rows to fit, rows to judge predictions, features
    standardised."""

    def __init__(
        self, name: str, way: str, seed: int, rows: int, folder: Path | None = None
    ) -> None:
        X, D = read(name, folder)
        D = normalize_rows(D)  # printed shares are rounded
        order = np.random.default_rng(seed).permutation(len(X))
        n = min(int(0.75 * len(X)), rows)
        train, test = order[:n], order[n : n + rows // 2]
        X = standardised(X, train)
        if X.shape[1] > MANY_FEATURES:
            X = PCA(COMPONENTS, whiten=True, random_state=0).fit(X[train]).transform(X)
        self.X, self.X_test, self.D, self.D_test = X[train], X[test], D[train], D[test]
        self.Y = make_logical_labels(self.D, **WAYS[way], random_state=seed)

    def scores(self, model: Any) -> tuple[float, float]:
        return (
            intersection(self.D, model.label_distributions_),
            intersection(self.D_test, model.predict(self.X_test)),
        )


def study(case: Case) -> dict[str, Any]:
    """Recovery and prediction of everything that is compared."""
    unit = 0.03 * float(case.X.var(axis=0).sum())
    models = list(
        dldl_path(
            case.X, case.Y, beta=BETAS, gamma=[ratio * unit for ratio in GAMMA_RATIOS], tol=1e-5
        )
    )
    grid = np.array([case.scores(model) for model in models])
    equal = UniformLE().fit_enhance(case.X, case.Y)
    prior = PriorLE().fit_enhance(case.X, case.Y)
    constant = MeanLDL().fit(case.X, normalize_rows(case.Y.astype(float))).predict(case.X_test)
    chosen = DLDL().fit(case.X, case.Y)
    return {
        "best": grid.max(axis=0).tolist(),
        "baseline": [
            max(intersection(case.D, equal), intersection(case.D, prior)),
            intersection(case.D_test, constant),
        ],
        "DLDL()": case.scores(chosen),
        "VoteLDL()": case.scores(VoteLDL().fit(case.X, case.Y)),
        "with known rows": with_known_rows(case, models, grid),
        "beta": chosen.beta_,
        "gamma ratio": chosen.gamma_ / unit,
        "message": chosen.selection_summary_,
    }


def with_known_rows(case: Case, models: list[Any], grid: np.ndarray) -> list[list[float]]:
    """Scores of the point of the grid that is best on a few rows of known degrees, recovery and
    prediction together."""
    agreement = np.array(
        [
            per_row("intersection", case.D, model.label_distributions_)
            + per_row("intersection", case.D, model.predict(case.X))
            for model in models
        ]
    )
    rng = np.random.default_rng(0)
    found = []
    for count in KNOWN_ROWS:
        rows = [rng.permutation(len(case.D))[:count] for _ in range(DRAWS)]
        found.append(
            np.mean(
                [grid[agreement[:, some].mean(axis=1).argmax()] for some in rows], axis=0
            ).tolist()
        )
    return found


def cached(name: str, way: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    path = options.cache and options.cache / f"{name}, {way}, seed {seed}, {options.rows} rows.json"
    if path and path.exists():
        return dict(json.loads(path.read_text()))
    found = study(Case(name, way, seed, options.rows, options.folder))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return found


def measure(options: argparse.Namespace) -> dict[str, Any]:
    cases = [
        {"set": name, "labels": way, "seed": seed, **cached(name, way, seed, options)}
        for name in options.sets
        for way in WAYS
        for seed in range(options.seeds)
    ]
    return {
        "version": ldlearn.__version__,
        "rows": options.rows,
        "seeds": options.seeds,
        "cases": cases,
    }


def regrets(cases: list[dict[str, Any]], method: str) -> np.ndarray:
    return np.array([np.subtract(case["best"], case[method]) for case in cases])


def report(stored: dict[str, Any]) -> Iterator[str]:
    """All that is measured, as lines of Markdown."""
    cases = stored["cases"]
    yield from case_table(cases)
    yield ""
    yield from summary(cases)
    yield ""
    yield from curve(cases)


def case_table(cases: list[dict[str, Any]]) -> Iterator[str]:
    """Regret of `DLDL()`, mean over the seeds."""
    ways = list(dict.fromkeys(case["labels"] for case in cases))
    yield "| set | " + " | ".join(ways) + " |"
    yield "|---|" + "---|" * len(ways)
    for name in dict.fromkeys(case["set"] for case in cases):
        parts = (
            [case for case in cases if (case["set"], case["labels"]) == (name, way)] for way in ways
        )
        cells = ["{:.3f} / {:.3f}".format(*regrets(part, "DLDL()").mean(axis=0)) for part in parts]
        yield f"| {name} | " + " | ".join(cells) + " |"


def summary(cases: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{len(cases)} cases; regret of recovery / prediction."
    yield ""
    yield "| method | mean regret | worst |"
    yield "|---|---|---|"
    for method in METHODS:
        yield _regret_row(method, regrets(cases, method))


def curve(cases: list[dict[str, Any]]) -> Iterator[str]:
    yield "| rows with true degrees | mean regret | worst |"
    yield "|---|---|---|"
    yield _regret_row("0: `DLDL()`", regrets(cases, "DLDL()"))
    for place, count in enumerate(KNOWN_ROWS):
        lost = np.array(
            [np.subtract(case["best"], case["with known rows"][place]) for case in cases]
        )
        yield _regret_row(str(count), lost)


def _regret_row(title: str, lost: np.ndarray) -> str:
    mean, worst = lost.mean(axis=0), lost.max(axis=0)
    return f"| {title} | {mean[0]:.4f} / {mean[1]:.4f} | {worst[0]:.3f} / {worst[1]:.3f} |"


def rounded(value: Any) -> Any:
    """The same with numbers of four decimals."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    return round(float(value), 4) if isinstance(value, (float, np.floating)) else value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=sets())
    parser.add_argument("--folder", type=Path, help="where .mat files of other sets lie")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1000, help="most rows to fit")
    parser.add_argument("--cache", type=Path, help="folder of what was computed before")
    parser.add_argument("--write", type=Path, help="JSON file to keep the figures in")
    parser.add_argument(
        "--show", type=Path, help="print the figures of such a file, and measure nothing"
    )
    options = parser.parse_args()
    stored = json.loads(options.show.read_text()) if options.show else rounded(measure(options))
    if options.write:
        options.write.write_text(json.dumps(stored, indent=1) + "\n")
    print("\n".join(report(stored)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
