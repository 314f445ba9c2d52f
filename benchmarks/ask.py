"""Does `ldlearn ask` choose better rows than chance? Data sets with real votes.

``python benchmarks/ask.py [--seeds N] [--rows N]`` prints a Markdown table.

Half of the rows are for training. Each has three raters, drawn from its real votes; its 0/1 labels
are the labels that any of them chose. DLDL is fitted on these labels, and rows are chosen by its
degrees. The chosen rows are annotated with the fractions of all their votes (`degrees` of ``fit``),
or by one more rater. The error is the mean squared distance from the fractions of all votes,
relative to that without annotations: of the degrees of the training rows, and of predictions for
the other half. Rows are chosen at random, by the largest expected error (`expected_errors`), and as
`ldlearn ask` does, with diversity.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn import DLDL
from ldlearn.datasets import load_vader_tweets, read_dataset
from ldlearn.tables.ask import choose_rows, expected_errors

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from shared_data import SHARED

ANNOTATIONS = (50, 100, 200)
RATERS = 3
PRIOR = 2.0  # votes that the prediction counts as


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Name, features and counts of votes."""
    tweets = load_vader_tweets()
    yield "vader_tweets", tweets.X, tweets.counts
    faces = SHARED / "datasets" / "SCUT_FBP.mat"
    if faces.is_file():
        data = read_dataset(faces)
        yield (
            "SCUT_FBP",
            (data.X - data.X.mean(axis=0)) / data.X.std(axis=0),
            np.rint(70 * data.D).astype(int),
        )


def draw(rng: np.random.Generator, counts: Any, n: int) -> Any:
    """Some of the votes of each row."""
    return np.array([rng.multivariate_hypergeometric(row, n) for row in counts])


def choices(
    rng: np.random.Generator, predicted: Any, degrees: Any, X: Any
) -> dict[str, Callable[[int], Any]]:
    expected, shuffled = expected_errors(predicted, degrees), rng.permutation(len(X))
    return {
        "random": lambda n: shuffled[:n],
        "largest expected error": lambda n: np.argsort(-expected, kind="stable")[:n],
        "ask": lambda n: choose_rows(expected, X, n),
    }


def errors(X: Any, counts: Any, seed: int, n_rows: int) -> Iterator[tuple[str, str, int, float]]:
    """Kind of annotation and of error, selection, number of annotations, relative error."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:n_rows]
    train, test = np.array_split(rows, 2)
    truth = counts / counts.sum(axis=1, keepdims=True)
    votes = draw(rng, counts[train], RATERS)
    Y = (votes > 0).astype(float)
    first = DLDL().fit(X[train], Y)
    fixed = DLDL(beta=first.beta_, gamma=first.gamma_)

    def distance(found: Any, rows: Any) -> float:
        return float(((found - truth[rows]) ** 2).sum(axis=1).mean())

    def mixed(predicted: Any, votes: Any) -> Any:
        return (PRIOR * predicted + votes) / (PRIOR + votes.sum(axis=1, keepdims=True))

    P = first.predict(X[train])
    start = {
        "degrees of training rows": distance(first.label_distributions_, train),
        "prediction": distance(first.predict(X[test]), test),
        "votes and prediction": distance(mixed(P, votes), train),
    }
    for choice, choose in choices(rng, P, first.label_distributions_, X[train]).items():
        for n in ANNOTATIONS:
            chosen = choose(n)
            known = np.full(Y.shape, np.nan)
            known[chosen] = truth[train][chosen]
            fitted = fixed.fit(X[train], np.where(np.isnan(known), Y, known > 0), degrees=known)
            more = votes.copy()
            more[chosen] += draw(rng, counts[train][chosen] - votes[chosen], 1)
            after = {
                "degrees of training rows": distance(fitted.label_distributions_, train),
                "prediction": distance(fitted.predict(X[test]), test),
                "votes and prediction": distance(mixed(P, more), train),
            }
            for kind, value in after.items():
                yield kind, choice, n, value / start[kind]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1500)
    given = parser.parse_args()
    print(
        "| data set | answer | error of | choice | "
        + " | ".join(f"{n} answers" for n in ANNOTATIONS)
        + " |"
    )
    print("|---|---|---|---|" + "---|" * len(ANNOTATIONS))
    for name, X, counts in data_sets():
        found: dict[tuple[str, str], dict[int, list[float]]] = {}
        for seed in range(given.seeds):
            for kind, choice, n, error in errors(X, counts, seed, given.rows):
                found.setdefault((kind, choice), {}).setdefault(n, []).append(error)
        for (kind, choice), by_n in sorted(found.items(), key=lambda item: item[0][0]):
            answer = "one more rater" if kind == "votes and prediction" else "all votes"
            cells = [
                f"{np.mean(v):.3f} ± {np.std(v, ddof=1) / len(v) ** 0.5:.3f}" for v in by_n.values()
            ]
            print(
                f"| {name} | {answer} | {kind} | {choice} | " + " | ".join(cells) + " |", flush=True
            )


if __name__ == "__main__":
    main()
