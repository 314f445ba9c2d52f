"""What 0 means: prediction, intervals and recovery with ``zeros="less"``.

``python benchmarks/negative_labels.py simulated`` simulates votes in the model of
docs/research/without_truth.md: p has linear logits, and degrees of rows are Dirichlet distributed
around p(x). With standard errors of the simulation, it prints

- the intersection of predictions with p(x) for three votes, by ``zeros``. Bar: the same for all
  values;
- the coverage of intervals at nominal 0.9 by the true concentration kappa. Bar: 0.85 for three and
  five raters;
- quartiles of kappa as estimated from the number of raters.

``python benchmarks/negative_labels.py recovered [FILE.mat ...]`` prints mean intersections and KL
divergences of recovered degrees over data sets (the embedded ones, those in the folder beside the
repository, and the files given), for ways of making labels and for rules for the weight w of the
prediction P in ``(1 - w) D + w P``. Two seeds, 400 training rows and 150 features at most;
differences between rules have standard errors over data sets. ``covered`` instead of ``recovered``
prints the coverage of intervals of DLDL (beta = 1) on the test rows of the same sets, first seed
only.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from ldlearn import DLDL, SABFGS, FromClassifier, VoteLDL
from ldlearn.core import binarize, softmax
from ldlearn.datasets import make_logical_labels
from ldlearn.enhancement import LP
from ldlearn.joint.label_model import validation_folds
from ldlearn.metrics import intersection
from ldlearn.solvers.centred_matrix import CentredMatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from example_tables import REASONS, make_survey
from protocol import EMBEDDED, load
from shared_data import SHARED

SIMULATIONS = 6
TRAINING_ROWS = 1000
FILES = ("SCUT_FBP", "SJAFFE", "SBU_3DFE", "Yeast_spo5", "Natural_Scene", "Movie")
WAYS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "two largest": lambda D, seed: binarize(D, "top-k", k=2),
    "half the mass": lambda D, seed: binarize(D, "cumulative"),
    "three votes": lambda D, seed: make_logical_labels(D, "votes", n_raters=3, random_state=seed),
    "five votes": lambda D, seed: make_logical_labels(D, "votes", n_raters=5, random_state=seed),
    "20 votes": lambda D, seed: make_logical_labels(D, "votes", n_raters=20, random_state=seed),
}


def simulate_votes(seed: int, n_raters: int, kappa: float) -> tuple[np.ndarray, ...]:
    """Features, p(x), the degrees of rows, and 0/1 labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(TRAINING_ROWS + 500, 8))
    P = softmax(X @ (0.7 * np.random.default_rng(99).normal(size=(8, 5))))
    D = P
    if np.isfinite(kappa):
        D = rng.standard_gamma(kappa * P)
        D /= D.sum(axis=1, keepdims=True)
    return X, P, D, rng.multinomial(n_raters, D) > 0


def with_error(values: Any) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def print_predictions() -> None:
    settings: list[tuple[str, Any, dict[str, Any]]] = [
        ('"none"', "none", {}),
        ('"less"', "less", {}),
        ("10", 10.0, {}),
        ("10,000", 1e4, {}),
        ('"less", `n_raters` given', "less", {"n_raters": 3}),
    ]
    print("| `zeros` | `VoteLDL` | `DLDL` |\n|---|---|---|")
    for title, zeros, given in settings:
        cells = []
        for make in (VoteLDL, DLDL):
            if given and make is DLDL:
                cells.append("")
                continue
            found = []
            for seed in range(SIMULATIONS):
                X, P, _, Y = simulate_votes(seed, 3, np.inf)
                model = make(zeros=zeros).fit(X[:TRAINING_ROWS], Y[:TRAINING_ROWS], **given)
                found.append(intersection(P[TRAINING_ROWS:], model.predict(X[TRAINING_ROWS:])))
            cells.append(with_error(found))
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def print_coverages() -> None:
    kinds = (
        "prediction",
        "recovery",
        "`n_raters`: prediction",
        "`n_raters`: recovery",
        "quartiles of estimated kappa",
    )
    print("\n| raters, true kappa | " + " | ".join(kinds) + " |\n|---|---|---|---|---|---|")
    for n_raters in (3, 5, 20):
        for kappa in (1.0, 3.0, 5.0, 20.0, np.inf):
            coverages, estimates = [], []
            for seed in range(SIMULATIONS):
                X, _, D, Y = simulate_votes(seed, n_raters, kappa)
                train, new = slice(0, TRAINING_ROWS), slice(TRAINING_ROWS, None)
                inside = []
                for given in ({}, {"n_raters": n_raters}):
                    model = VoteLDL(zeros="less").fit(X[train], Y[train], **given)
                    for lower, upper in (
                        model.predict_interval(X[new]),
                        model.enhance_interval(X[new], Y[new]),
                    ):
                        inside.append(((lower <= D[new]) & (D[new] <= upper)).mean())
                coverages.append(inside)
                estimates.append(model.kappa_)
            cells = [with_error(column) for column in np.transpose(coverages)]
            quartiles = ", ".join(
                f"{value:.3g}" for value in np.quantile(estimates, (0.25, 0.5, 0.75))
            )
            print(
                f"| {n_raters}, {kappa:g} | " + " | ".join(cells) + f" | {quartiles} |", flush=True
            )


def cells(
    files: list[str], n_seeds: int = 2
) -> Iterator[tuple[str, str, np.ndarray, np.ndarray, np.ndarray, int]]:
    """Name, kind of labels, X, D and Y, and the number of training rows."""
    sets = {name: load(name) for name in EMBEDDED}
    sets |= {name: load(name) for name in FILES if (SHARED / "datasets" / f"{name}.mat").exists()}
    for file in files:
        arrays = loadmat(file)
        degrees = arrays["labels"].astype(float)
        sets[Path(file).stem] = (
            arrays["features"].astype(float),
            degrees / degrees.sum(axis=1, keepdims=True),
        )
    for name, (X, D) in sets.items():
        columns = np.random.default_rng(0).permutation(X.shape[1])[:150]
        for seed in range(n_seeds):
            rows = np.random.default_rng(seed).permutation(len(X))[:600]
            for way, make in WAYS.items():
                yield (
                    name,
                    way,
                    X[np.ix_(rows, columns)],
                    D[rows],
                    make(D[rows], seed),
                    int(2 / 3 * len(rows)),
                )
    for seed in range(n_seeds):
        table, D = make_survey(seed)
        Y = table[REASONS].to_numpy()
        rows = np.flatnonzero(Y.any(axis=1))[:600]
        yield "survey", "survey", table.filter(like="x").to_numpy()[rows], D[rows], Y[rows], 400


def kl_divergence(D: np.ndarray, E: np.ndarray) -> float:
    """Mean KL(D, E); a degree below 1e-6 counts as 1e-6, so that degrees of 0 have a finite
    divergence."""
    E = np.maximum(E, 1e-6)
    return float(np.sum(np.where(D > 0, D * np.log(np.maximum(D, 1e-12) / E), 0.0), axis=1).mean())


def dispersion_weight(Y: np.ndarray) -> float:
    """The earlier rule: kappa is 2 or 1/4 times the number of positive labels, by the variance of
    this number."""
    independent = (Y.mean(axis=0) * (1.0 - Y.mean(axis=0))).sum()
    ratio = 2.0 if Y.sum(axis=1).var() <= 0.5 * independent else 0.25
    return ratio / (ratio + 1.0)


def predict_out_of_fold(model: Any, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    penalties = {
        name: getattr(model, f"{name}_") for name in ("beta", "gamma") if hasattr(model, f"{name}_")
    }
    P = np.empty(Y.shape)
    for fold in validation_folds(CentredMatrix(X), len(X)):
        P[fold.test] = (
            type(model)(**penalties).fit(X[fold.train], Y[fold.train]).predict(X[fold.test])
        )
    return P


def recover(X: np.ndarray, Y: np.ndarray) -> Iterator[tuple[str, np.ndarray, Any]]:
    """Title, recovered degrees, and the predictor."""
    propagated = LP().fit_enhance(X, Y)
    yield "`LP`", propagated, SABFGS().fit(X, propagated)
    for model in (FromClassifier(), VoteLDL(), DLDL()):
        model.fit(X, Y)
        name = type(model).__name__
        D, P = model.label_distributions_, model.predict(X)
        yield f'`{name}`, "none"', D, model
        yield f"`{name}`, w = 1/2", mix(D, P, 0.5), model
        if name != "FromClassifier":
            P_out = predict_out_of_fold(model, X, Y)
            yield f"`{name}`, w = 1/2, P out of fold", mix(D, P_out, 0.5), model
            yield f"`{name}`, w = 2/3", mix(D, P, 2.0 / 3.0), model
            yield f"`{name}`, w = 2/3, P out of fold", mix(D, P_out, 2.0 / 3.0), model
            yield f"`{name}`, w by dispersion", mix(D, P, dispersion_weight(Y)), model


def mix(D: np.ndarray, P: np.ndarray, w: float) -> np.ndarray:
    return (1.0 - w) * D + w * P


def standardize(X: np.ndarray, k: int) -> np.ndarray:
    """Standardise features by the first k rows."""
    mean, std = X[:k].mean(axis=0), X[:k].std(axis=0)
    return (X - mean) / np.where(std > 0, std, 1.0)


def print_real_coverages(files: list[str]) -> None:
    print("| set | labels | prediction | recovery |\n|---|---|---|---|")
    found = []
    for name, way, X, D, Y, k in cells(files, n_seeds=1):
        X = standardize(X, k)
        if way == "20 votes" or not Y.any(axis=1).all():
            continue
        model = DLDL(beta=1.0, zeros="less").fit(X[:k], Y[:k])
        intervals = model.predict_interval(X[k:]), model.enhance_interval(X[k:], Y[k:])
        found.append([((lower <= D[k:]) & (D[k:] <= upper)).mean() for lower, upper in intervals])
        print(f"| {name} | {way} | {found[-1][0]:.3f} | {found[-1][1]:.3f} |", flush=True)
    for title, summary in (("mean", np.mean), ("smallest", np.min)):
        print(
            f"| {title} | | "
            + " | ".join(f"{value:.3f}" for value in summary(found, axis=0))
            + " |"
        )


def print_recoveries(files: list[str]) -> None:
    scores: dict[tuple[str, str], dict[str, list[tuple[float, float, float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for name, way, X, D, Y, k in cells(files):
        X = standardize(X, k)
        known = np.flatnonzero(Y[:k].any(axis=1))
        for title, recovered, predictor in recover(X[known], Y[known]):
            E = predictor.predict(X[k:])
            found = intersection(D[known], recovered), kl_divergence(D[known], recovered)
            scores[title, way][name].append(
                (*found, intersection(D[k:], E), kl_divergence(D[k:], E))
            )
    ways = [*WAYS, "survey"]
    titles = list(dict.fromkeys(title for title, _ in scores))
    means = {
        key: {name: np.mean(rows, axis=0) for name, rows in sets.items()}
        for key, sets in scores.items()
    }
    for part, title in enumerate(("recovery", "recovery, KL", "prediction", "prediction, KL")):
        print(f"\n| {title} | " + " | ".join(ways) + " |\n|---|" + "---|" * len(ways))
        for method in titles:
            depends_on_w = "w =" in method or "w by" in method
            if part < 2 or not depends_on_w:
                columns = [
                    np.mean([row[part] for row in means[method, way].values()]) for way in ways
                ]
                print(f"| {method} | " + " | ".join(f"{value:.3f}" for value in columns) + " |")
    others = ("w = 1/2, P out of fold", "w = 2/3", "w = 2/3, P out of fold", "w by dispersion")
    print("\n| difference of recoveries | " + " | ".join(WAYS) + " |\n|---|" + "---|" * len(WAYS))
    for model in ("VoteLDL", "DLDL"):
        for rule in others:
            for part, metric in enumerate(("intersection", "KL")):
                columns = []
                for way in WAYS:
                    pair = means[f"`{model}`, {rule}", way], means[f"`{model}`, w = 1/2", way]
                    columns.append(
                        with_error([pair[0][name][part] - pair[1][name][part] for name in pair[0]])
                    )
                print(
                    f"| `{model}`: {rule}, minus w = 1/2; {metric} | " + " | ".join(columns) + " |"
                )


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["simulated"]:
        print_predictions()
        print_coverages()
    elif arguments[:1] == ["recovered"]:
        print_recoveries(arguments[1:])
    elif arguments[:1] == ["covered"]:
        print_real_coverages(arguments[1:])
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
