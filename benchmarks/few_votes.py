"""How near do degrees from a few votes per row come to the shares of all votes?

``python benchmarks/few_votes.py [--seeds N] [--rows N] [--votes K ...] [FILE.npz ...]`` prints
Markdown tables of the intersection with the shares of all votes, of their KL divergence, and of the
cross-entropy of the votes that the methods were not given. The data sets are the embedded tweets
and budget shares, the ``.mat`` files in the folder beside the repository, and the files given, with
arrays X and counts. At most 1,500 rows are used, features are standardised.

K votes of each row are drawn from its votes without replacement, or from its degrees where a data
set has no counts. "A" and "B" are `CountLDL` with the weight of its single distribution fixed at 1
and at 0. Degrees are raised to 0.001 before logarithms are taken.

Further tables compare predictions of 40 % of the rows by models fitted on the other rows.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.io import loadmat

from ldlearn import DLDL, MLPLDL, SABFGS, CountLDL, VoteLDL, VoteShares
from ldlearn.core import votes_to_degrees
from ldlearn.datasets import load_uk_budget_shares, load_vader_tweets

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from shared_data import SHARED

FILES = ("Movie", "Natural_Scene", "SBU_3DFE", "SCUT_FBP", "SJAFFE", "Yeast_spo5")
SMALLEST = 1e-3
METRICS = ("intersection", "KL", "cross-entropy", "CPU seconds")
RAW = "raw shares"


class SingleOnly(CountLDL):
    """A: degrees of a row around its prediction."""

    def _weigh_components(self, *args: Any) -> None:
        super()._weigh_components(*args)
        self.single_weight_ = 1.0


class ClassesOnly(CountLDL):
    """B: latent classes."""

    def _weigh_components(self, *args: Any) -> None:
        super()._weigh_components(*args)
        self.single_weight_ = 0.0


def load_sets(paths: list[Path]) -> dict[str, tuple[np.ndarray, np.ndarray, bool]]:
    """Features, counts or degrees, and whether they are counts, by the name of the data set."""
    tweets = load_vader_tweets()
    budgets = load_uk_budget_shares()
    sets = {
        "vader_tweets": (tweets.X, tweets.counts, True),
        "uk_budget_shares": (budgets.X, budgets.D, False),
    }
    for name in FILES:
        path = SHARED / "datasets" / f"{name}.mat"
        if path.exists():
            arrays = loadmat(path)
            degrees = arrays.get("label_distribution", arrays.get("labels"))
            sets[name] = (arrays["features"], degrees, False)
    for path in paths:
        arrays = np.load(path)
        sets[path.stem] = (arrays["X"], arrays["counts"], True)
    return sets


def draw_votes(values: np.ndarray, are_counts: bool, n: int, rng: np.random.Generator) -> Any:
    """Votes that are given and shares of the others, for every row."""
    if not are_counts:
        D = values / values.sum(axis=1, keepdims=True)
        return rng.multinomial(n, D).astype(float), D
    drawn = [rng.multivariate_hypergeometric(row, n) for row in values.astype(int)]
    given = np.array(drawn, dtype=float)
    others = values - given
    return given, others / others.sum(axis=1, keepdims=True)


def recover(model: Any, X: np.ndarray, y: np.ndarray, **row_data: Any) -> np.ndarray:
    return model.fit(X, y, **row_data).label_distributions_


def raw_shares(X: np.ndarray, V: np.ndarray) -> np.ndarray:
    return V / V.sum(axis=1, keepdims=True)


def learner_on_shares(X: np.ndarray, V: np.ndarray) -> np.ndarray:
    shares, weights = votes_to_degrees(V)
    return SABFGS().fit(X, shares, sample_weight=weights).predict(X)


Matrix = np.ndarray


def prior_mean(X: Matrix, V: Matrix, X_new: Matrix) -> Matrix:
    """The mean of the prior of new rows, which `CountLDL` could predict instead of p(x)."""
    model = CountLDL().fit(X, V)
    priors = model._row_priors(X_new)
    class_means = priors.classes / priors.classes.sum(axis=1, keepdims=True)
    w = model.single_weight_
    return w * priors.P + (1.0 - w) * priors.class_probabilities @ class_means


def learner_on_posterior(learner: Any) -> Callable[[Matrix, Matrix, Matrix], Matrix]:
    """Predictions of a learner that is fitted on the degrees that `CountLDL` recovers."""

    def predict(X: Matrix, V: Matrix, X_new: Matrix) -> Matrix:
        return learner().fit(X, recover(CountLDL(), X, V)).predict(X_new)

    return predict


def learner_on_votes(learner: Any) -> Callable[[Matrix, Matrix, Matrix], Matrix]:
    def predict(X: Matrix, V: Matrix, X_new: Matrix) -> Matrix:
        shares, weights = votes_to_degrees(V)
        return learner().fit(X, shares, sample_weight=weights).predict(X_new)

    return predict


PREDICTORS: dict[str, Callable[[Matrix, Matrix, Matrix], Matrix]] = {
    "mean of the votes": lambda X, V, X_new: VoteShares().fit(X, V).predict(X_new),
    "CountLDL()": lambda X, V, X_new: CountLDL().fit(X, V).predict(X_new),
    "mean of its prior": prior_mean,
    "SABFGS on its degrees": learner_on_posterior(SABFGS),
    "MLPLDL on its degrees": learner_on_posterior(MLPLDL),
    "SABFGS on shares": learner_on_votes(SABFGS),
    "MLPLDL on shares": learner_on_votes(MLPLDL),
}
METHODS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    RAW: raw_shares,
    'DLDL(zeros="less")': lambda X, V: recover(DLDL(zeros="less"), X, V > 0),
    "VoteLDL, raters": lambda X, V: recover(
        VoteLDL(zeros="less"), X, V > 0, n_raters=V.sum(axis=1)
    ),
    "SABFGS on shares": learner_on_shares,
    "Dirichlet at the mean": lambda X, V: recover(SingleOnly(gamma=1e9), X, V),
    "classes, no features": lambda X, V: recover(ClassesOnly(gamma=1e9), X, V),
    "A": lambda X, V: recover(SingleOnly(), X, V),
    "B": lambda X, V: recover(ClassesOnly(), X, V),
    "CountLDL()": lambda X, V: recover(CountLDL(), X, V),
}


class Draw:
    """Some rows of a data set, with the votes that methods are given and the shares of the others.

    Features are standardised.
    """

    def __init__(
        self, data: tuple[Matrix, Matrix, bool], n_votes: int, seed: int, max_rows: int
    ) -> None:
        X, values, are_counts = data
        rng = np.random.default_rng([seed, n_votes])
        enough = np.flatnonzero(values.sum(axis=1) > (n_votes if are_counts else 0))
        rows = np.sort(rng.permutation(enough)[:max_rows])
        X = X[rows].astype(float)
        deviation = X.std(axis=0)
        self.X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
        values = values[rows].astype(float)
        self.truth = values / values.sum(axis=1, keepdims=True)
        self.votes, self.others = draw_votes(values, are_counts, n_votes, rng)
        self.order = rng.permutation(len(rows))

    def score(self, method: Callable[[], Matrix], rows: Any = slice(None)) -> list[float]:
        """The metrics of the degrees of some rows, and the CPU time they take."""
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            D = method()
        seconds = time.process_time() - start
        truth = self.truth[rows]
        intersection = np.minimum(truth, D).sum(axis=1).mean()
        log_degrees = np.log(np.maximum(D, SMALLEST))
        log_truth = np.log(np.maximum(truth, SMALLEST))
        divergence = np.sum(truth * (log_truth - log_degrees), axis=1).mean()
        cross_entropy = -np.sum(self.others[rows] * log_degrees, axis=1).mean()
        return [float(intersection), float(divergence), float(cross_entropy), seconds]


Scores = dict[tuple[str, int, str], list[float]]


def score_recovery(name: str, n_votes: int, draw: Draw, methods: list[str]) -> Scores:
    found = {}
    for method in methods:
        recovered = partial(METHODS[method], draw.X, draw.votes)
        found[name, n_votes, method] = draw.score(recovered)
    return found


def score_prediction(name: str, n_votes: int, draw: Draw, methods: list[str]) -> Scores:
    n = int(0.6 * len(draw.X))
    train, test = np.split(draw.order, [n])
    found = {}
    for method in methods:
        predicted = partial(PREDICTORS[method], draw.X[train], draw.votes[train], draw.X[test])
        found[name, n_votes, method] = draw.score(predicted, test)
    return found


def measure(
    name: str, data: tuple[Matrix, Matrix, bool], n_votes: int, seed: int, given: Any
) -> tuple[Scores, Scores]:
    """The metrics of recovery and of prediction of every method on one draw of votes."""
    draw = Draw(data, n_votes, seed, given.rows)
    recovery = score_recovery(name, n_votes, draw, given.methods)
    return recovery, score_prediction(name, n_votes, draw, given.predictors)


def print_tables(
    found: dict[tuple[str, int, str], Matrix], names: list[str], votes: list[int]
) -> None:
    methods = list(dict.fromkeys(method for *_, method in found))
    for position, metric in enumerate(METRICS):
        print(f"\nMean {metric} over {len(names)} data sets\n")
        print("| method | " + " | ".join(f"{n} votes" for n in votes) + " |")
        print("|---|" + "---|" * len(votes))
        for method in methods:
            means = []
            for n in votes:
                values = [found[name, n, method][position] for name in names]
                means.append(f"{np.mean(values):.3f}")
            print(f"| {method} | " + " | ".join(means) + " |")
    for position, metric in enumerate(METRICS[:3]):
        print(f"\n{metric[0].upper()}{metric[1:]} of each data set\n")
        print("| data set | votes | " + " | ".join(methods) + " |")
        print("|---|---|" + "---|" * len(methods))
        for name in names:
            for n in votes:
                shown = [f"{found[name, n, method][position]:.3f}" for method in methods]
                print(f"| {name} | {n} | " + " | ".join(shown) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--votes", type=int, nargs="+", default=[1, 2, 3, 5])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--predictors", nargs="*", default=list(PREDICTORS), choices=PREDICTORS)
    given = parser.parse_args()
    sets = load_sets(given.paths)
    cells = []
    for seed in range(given.seeds):
        for name, data in sets.items():
            for n in given.votes:
                cells.append(delayed(measure)(name, data, n, seed, given))
    results = Parallel(n_jobs=2, verbose=0)(cells)
    for title, scores in zip(("Recovery", "Prediction"), zip(*results, strict=True), strict=True):
        print(f"\n# {title}")
        found: dict[tuple[str, int, str], list[list[float]]] = {}
        for result in scores:
            for key, values in result.items():
                found.setdefault(key, []).append(values)
        means = {key: np.mean(values, axis=0) for key, values in found.items()}
        print_tables(means, list(sets), given.votes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
