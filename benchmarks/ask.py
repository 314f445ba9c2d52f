"""Does `ldlearn ask` choose better rows than chance? Data sets with real votes.

``python benchmarks/ask.py [--seeds N] [--rows N]`` prints three Markdown tables.

0/1 labels: half of the rows are for training. Each has three raters, drawn from its real votes; its
0/1 labels are the labels that any of them chose. DLDL is fitted on these labels, and rows are
chosen by its degrees. The chosen rows are annotated with the fractions of all their votes
(`degrees` of ``fit``), or by one more rater. The error is the mean squared distance from the
fractions of all votes, relative to that without annotations: of the degrees of the training rows,
and of predictions for the other half. Rows are chosen at random, by the largest expected error
(`expected_errors`), and as `ldlearn ask` does, with diversity.

Counts of votes: each row has two votes, or one to five, drawn from one half of its real votes.
CountLDL is fitted on them, one more vote is drawn for each of 50 selected rows, and so on. Rows are
selected at random, by the fewest votes, by the largest gain of a vote (`CountLDL.vote_gain`) as
`ldlearn ask` does, and by gain with diversity. The recovered degrees are compared with the other
half of the votes: the intersection with their shares, and their cross-entropy in nats. The table
has the values without further votes, and their changes.

Wrong votes: of two, three or five votes per row, one in fifty is replaced by another label. Which
share of the 50 least probable votes are replaced ones, by the probabilities of `ldlearn ask` (given
the features and the other votes of the row) and by the prediction alone?
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn import DLDL, CountLDL
from ldlearn.core.targets import split_votes
from ldlearn.datasets import load_vader_tweets, read_dataset
from ldlearn.metrics import cross_entropy, intersection
from ldlearn.tables.ask import _vote_probabilities, choose_rows, expected_errors

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from shared_data import SHARED

ANNOTATIONS = (50, 100, 200)
RATERS = 3
PRIOR = 2.0  # votes that the prediction counts as
FIRST_VOTES = {"2": (2, 2), "1 to 5": (1, 5)}  # of each row, fewest and most
BATCH = 50  # votes between two fits
SPENT = (0, 100, 250, 500)  # votes
WRONG = 0.02  # share of replaced votes
LISTED = 50  # least probable votes
VOTES_PER_ROW = (2, 3, 5)  # some of which are wrong
VOTE_CHOICES = (
    "random",
    "fewest votes",
    "gain of a vote (ask)",
    "gain, diversity",
)


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


def draw(rng: np.random.Generator, counts: Any, n: Any) -> Any:
    """Some of the votes of each row: n, a number or one for each row."""
    numbers = np.broadcast_to(n, len(counts))
    drawn = map(rng.multivariate_hypergeometric, counts, numbers)
    return np.array(list(drawn))


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


def select(choice: str, rng: np.random.Generator, model: CountLDL, X: Any, votes: Any) -> Any:
    """The rows that get one more vote."""
    shuffled = rng.permutation(len(X))
    if choice == "random":
        return shuffled[:BATCH]
    if choice == "fewest votes":
        n_votes = votes[shuffled].sum(axis=1)
        return shuffled[np.argsort(n_votes, kind="stable")[:BATCH]]
    gains = model.vote_gain(X, votes)
    if choice == "gain of a vote (ask)":
        return np.argsort(-gains, kind="stable")[:BATCH]
    return choose_rows(gains, X, BATCH)


def vote_errors(
    X: Any, counts: Any, first_votes: tuple[int, int], seed: int, n_rows: int
) -> Iterator[tuple[str, str, int, float]]:
    """Metric, selection, number of votes spent, and the value of the metric or its change."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:n_rows]
    X = X[rows]
    pool, hidden = split_votes(counts[rows], rng)
    shares = hidden / hidden.sum(axis=1, keepdims=True)
    first = draw(rng, pool, rng.integers(*first_votes, size=len(pool), endpoint=True))
    start: dict[str, float] = {}
    for choice in VOTE_CHOICES:
        votes = first.copy()
        for spent in range(0, SPENT[-1] + 1, BATCH):
            model = CountLDL().fit(X, votes)
            if spent in SPENT:
                D = model.label_distributions_
                for metric in (intersection, cross_entropy):
                    value = metric(shares, D)
                    change = value - start.setdefault(metric.__name__, value)
                    yield metric.__name__, choice, spent, change if spent else value
            chosen = select(choice, rng, model, X, votes)
            left = pool[chosen] - votes[chosen]
            votes[chosen] += draw(rng, left, np.minimum(left.sum(axis=1), 1))


def wrong_votes_found(
    X: Any, counts: Any, n_votes: int, seed: int, n_rows: int
) -> Iterator[tuple[str, float]]:
    """How votes are ranked, and the share of wrong ones among the least probable."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:n_rows]
    X = X[rows]
    votes = draw(rng, counts[rows], n_votes)
    wrong = np.zeros(votes.shape, dtype=bool)
    for row in rng.permutation(len(X))[: round(WRONG * n_votes * len(X))]:
        left = rng.choice(votes.shape[1], p=votes[row] / n_votes)
        right = rng.choice(np.delete(np.arange(votes.shape[1]), left))
        votes[row, left] -= 1
        votes[row, right] += 1
        wrong[row, right] = True
    model = CountLDL().fit(X, votes)
    ranked = {
        "prediction alone": model.predict(X),
        "ask": _vote_probabilities(model, X, votes.astype(float), np.arange(len(X)))[0],
    }
    for name, probabilities in ranked.items():
        of_votes = np.where(votes > 0, probabilities, np.inf).ravel()
        yield name, float(wrong.ravel()[np.argsort(of_votes)[:LISTED]].mean())


def print_table(
    heads: list[str], decimals: int, measure: Callable[[Any, Any], Iterator[tuple[Any, int, float]]]
) -> None:
    """Means and standard errors of what is measured: the first cells of a row, column, value."""
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for name, X, counts in data_sets():
        found: dict[tuple[str, ...], dict[int, list[float]]] = {}
        for key, column, value in measure(X, counts):
            found.setdefault(key, {}).setdefault(column, []).append(value)
        for key in sorted(found, key=lambda key: key[:-1]):
            cells = [name, *key]
            for values in found[key].values():
                error = np.std(values, ddof=1) / len(values) ** 0.5
                cells.append(f"{np.mean(values):.{decimals}f} ± {error:.{decimals}f}")
            print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1500)
    given = parser.parse_args()

    def measure_labels(X: Any, counts: Any) -> Iterator[tuple[Any, int, float]]:
        for seed in range(given.seeds):
            for kind, choice, n, error in errors(X, counts, seed, given.rows):
                annotation = "one more rater" if kind == "votes and prediction" else "all votes"
                yield (annotation, kind, choice), n, error

    def measure_votes(X: Any, counts: Any) -> Iterator[tuple[Any, int, float]]:
        for seed in range(given.seeds):
            for first, numbers in FIRST_VOTES.items():
                found = vote_errors(X, counts, numbers, seed, given.rows)
                for metric, choice, n, value in found:
                    yield (first, metric, choice), n, value

    def measure_wrong_votes(X: Any, counts: Any) -> Iterator[tuple[Any, int, float]]:
        for seed in range(given.seeds):
            for n in VOTES_PER_ROW:
                for name, share in wrong_votes_found(X, counts, n, seed, given.rows):
                    yield (name,), n, share

    columns = [f"{n} annotations" for n in ANNOTATIONS]
    print_table(["data set", "annotation", "error of", "selection", *columns], 3, measure_labels)
    print()
    columns = [f"{n} further votes" for n in SPENT]
    print_table(["data set", "votes per row", "metric", "selection", *columns], 4, measure_votes)
    print()
    columns = [f"{n} votes per row" for n in VOTES_PER_ROW]
    print_table(["data set", "ranked by", *columns], 2, measure_wrong_votes)


if __name__ == "__main__":
    main()
