"""Splitting, binarising and scaling the rows of a data set for one repeat.

With ``rule = "counts"`` the votes of each row are split, too: methods see ``k`` of them, or half,
and recovery is scored by the others. Predictions do not depend on the votes of a test row, so that
all of them score it. A data set without counts gets ``k`` votes that are drawn from its degrees,
which then are the truth.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from ldlearn._messages import describe_rows
from ldlearn.core.logical import binarize
from ldlearn.core.row_groups import count_groups, join_groups, rows_of_groups
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import Array, take_rows
from ldlearn.core.targets import (
    VOTES_LIMIT,
    check_distributions,
    split_votes,
    votes_to_degrees,
)
from ldlearn.datasets import make_logical_labels
from ldlearn.datasets.dataset import split_rows
from ldlearn.evaluation.formatting import format_value
from ldlearn.exceptions import InputError
from ldlearn.experiments.plan import Protocol
from ldlearn.experiments.sources import COUNTS, VOTES, AnyDataset, DatasetSpec
from ldlearn.metrics import per_row, score_all
from ldlearn.metrics.inputs import Convention, mean_of_defined
from ldlearn.tables import PreparedTable
from ldlearn.tables.columns import ColumnType

Rows = NDArray[np.intp]
_N_SHOWN = 12  # training rows that a record keeps for figures
_FEATURES_SHOWN = 4


@dataclass(frozen=True, kw_only=True)
class _RowLabels:
    """What is known about rows beside their features.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_labels)
        0/1 labels: integers, or floats with NaN where some are not observed.
    D : ndarray of shape (n_samples, n_labels) or None
        The truth: degrees, or shares of votes.
    votes : ndarray of shape (n_samples, n_labels) or None
        Counts of the votes that methods see, if they see any.
    n_scoring : ndarray of shape (n_samples,) or None
        Numbers of the votes of which D has the shares; None if it has degrees.
    """

    Y: NDArray[Any]
    D: Array | None = None
    votes: Array | None = None
    n_scoring: Array | None = None

    def take(self, rows: Rows) -> dict[str, Any]:
        """The fields for some rows."""
        return {name: take_rows(values, rows) for name, values in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class SplitPart(_RowLabels):
    """Rows of one part of a split: their numbers, features and labels."""

    rows: Rows
    X: Any

    @property
    def has_degrees(self) -> bool:
        """Whether true degrees are known, not only shares of votes."""
        return self.D is not None and self.n_scoring is None

    @property
    def shown(self) -> Rows:
        """Places of a few rows for figures, which can be compared with a truth if there is any."""
        places = np.arange(len(self.rows))
        if self.n_scoring is not None:
            places = np.flatnonzero(self.n_scoring)
        return places[:_N_SHOWN]

    @property
    def truth(self) -> Array:
        """The true degrees; an error if they are unknown."""
        if self.D is None:
            raise InputError(
                "There are only 0/1 labels, and no true degrees to learn from or to select by."
            )
        return self.D

    def score(
        self, degrees: Array, metrics: Sequence[str], convention: Convention = "exact"
    ) -> dict[str, float]:
        """Means of metrics over the rows.

        Where the truth are shares of votes, a row counts as often as it has such votes. The means
        are NaN if there are none.
        """
        if self.n_scoring is None:
            return score_all(self.truth, degrees, metrics, convention=convention)
        voted = self.n_scoring > 0
        if not voted.any():
            return dict.fromkeys(metrics, math.nan)
        scores = {}
        for name in metrics:
            values = per_row(name, self.truth[voted], degrees[voted], convention=convention)
            scores[name] = mean_of_defined(values, self.n_scoring[voted])
        return scores


@dataclass(frozen=True)
class DataSplit:
    """Training, validation and test part of a data set.

    Also the texts or some features of the training rows that figures show.
    """

    train: SplitPart
    validation: SplitPart
    test: SplitPart
    texts: list[str] = field(default_factory=list)

    @property
    def constant_labels(self) -> NDArray[np.bool_]:
        """The labels that are 0 in all rows, or 1, as far as they are observed."""
        Y = np.vstack([self.train.Y, self.validation.Y, self.test.Y])
        return ~((Y == 0).any(axis=0) & (Y == 1).any(axis=0))

    @property
    def votes_per_row(self) -> dict[str, float]:
        """Mean numbers of votes, as records name them; empty if methods see 0/1 labels or degrees.

        Rows without votes that score them are left out of the mean of these.
        """
        if self.train.votes is None:
            return {}
        means = {"seen": float(self.train.votes.sum(axis=1).mean())}
        for task, part in (("recovery", self.train), ("prediction", self.test)):
            if part.n_scoring is not None and part.n_scoring.any():
                means[task] = float(part.n_scoring[part.n_scoring > 0].mean())
        return means

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of rows, features and labels, as records name them."""
        return {
            "n_train": len(self.train.rows),
            "n_validation": len(self.validation.rows),
            "n_test": len(self.test.rows),
            "n_features": self.train.X.shape[1],
            "n_labels": self.train.Y.shape[1],
        }


def protocol_rows(protocol: Protocol, repeat: int, n: int) -> list[Rows]:
    """Numbers of the rows, or of the groups of rows, of the training, validation and test part.

    Parameters
    ----------
    protocol : Protocol
    repeat : int
        Shuffles with ``default_rng(seed + repeat)``; the folds of a k-fold share one shuffle, so
        that there ``repeat`` counts folds: fold ``repeat % folds`` of shuffle ``repeat // folds``.
    n : int
        Number of rows or groups.
    """
    if protocol.split == "repeats":
        # The same parts as those of LabelDataset.split with this seed.
        return split_rows(n, protocol.shares, protocol.seed + repeat)
    shuffle, fold = divmod(repeat, protocol.folds)
    shuffled = np.random.default_rng(protocol.seed + shuffle).permutation(n)
    folds = np.array_split(shuffled, protocol.folds)
    test = folds.pop(fold)
    # Shuffled again: the folds are in one order, and the last rows of it would be validation rows
    # in every fold.
    rest = np.concatenate(folds)
    shares = (1.0 - protocol.validation, protocol.validation)
    train, validation = split_rows(len(rest), shares, [protocol.seed, repeat])
    return [rest[train], rest[validation], test]


def make_split(
    data: AnyDataset, spec: DatasetSpec, protocol: Protocol, repeat: int, *, sparse: bool = False
) -> DataSplit:
    """The three parts of a repeat, scaled with the statistics of the training part.

    Parameters
    ----------
    data : LabelDataset or PreparedTable
    spec : DatasetSpec
        Whose rule, if it has one, replaces that of the protocol.
    protocol : Protocol
    repeat : int
    sparse : bool, default=False
        Whether the numbers of a table may come as CSR matrices.
    """
    fitted, tested = _row_labels(data, spec, protocol.for_dataset(spec), protocol.seed + repeat)
    groups = np.arange(data.n_samples)
    if isinstance(data, PreparedTable) and data.groups is not None:
        groups = join_groups(data.groups)
    n_groups = count_groups(groups)
    rows = [rows_of_groups(groups, part) for part in protocol_rows(protocol, repeat, n_groups)]
    for name, part in zip(("training", "validation", "test"), rows, strict=True):
        if not len(part):
            problem = f"has no rows; it has only {data.n_samples} in all"
            if n_groups < data.n_samples:
                problem += f", which form {n_groups} groups that stay together"
            raise InputError(f"The {name} part of {spec.name!r} {problem}.")
    if isinstance(data, PreparedTable):
        # A table scales its columns itself, and learns everything it needs from the training rows.
        features = data.features(*rows, sparse=sparse)
    else:
        scaler = _make_scaler(protocol.scaling, data.X).fit(_copy_floats(data.X[rows[0]]))
        features = [scaler.transform(_copy_floats(data.X[part])) for part in rows]
    parts = []
    for part, X, labels in zip(rows, features, (fitted, fitted, tested), strict=True):
        parts.append(SplitPart(rows=part, X=X, **labels.take(part)))
    train, validation, test = parts
    return DataSplit(train, validation, test, _describe_rows(data, train.rows[train.shown]))


def _row_labels(
    data: AnyDataset, spec: DatasetSpec, rule: Protocol, seed: int
) -> tuple[_RowLabels, _RowLabels]:
    """The labels of every row, if it is a training or validation row, and if it is a test row."""
    if rule.rule == COUNTS and data.counts is not None:
        return _split_counts(data, spec, rule.k, seed)
    if data.D is None:
        if rule.rule == COUNTS:
            raise InputError(f"{spec.name!r} has 0/1 labels, and no counts of votes.")
        labels = _RowLabels(Y=_given_labels(data, spec))
    else:
        labels = _labels_from_degrees(check_distributions(data.D), spec, rule, seed)
    return labels, labels


def _split_counts(
    data: AnyDataset, spec: DatasetSpec, k: int | None, seed: int
) -> tuple[_RowLabels, _RowLabels]:
    counts = check_votes(data, spec.name)
    kept, held_out = split_votes(counts, np.random.default_rng(seed), k)
    return _scored_by(held_out, kept), _scored_by(counts, counts)


def check_votes(data: AnyDataset, name: str) -> Array:
    """The counts of votes of the data set of that name; those that cannot be split are refused."""
    counts = np.asarray(data.counts, dtype=float)
    totals = counts.sum(axis=1)
    problems = {
        "the votes are not whole numbers": (counts % 1 != 0).any(axis=1),
        "there is no vote; drop such rows": totals == 0,
        f"there are {VOTES_LIMIT:g} votes or more": totals >= VOTES_LIMIT,
    }
    for problem, rows in problems.items():
        if rows.any():
            raise InputError(f"{name!r}, {describe_rows(rows, _row_names(data))}: {problem}.")
    return counts


def _scored_by(scoring: Array, votes: Array) -> _RowLabels:
    """The labels of rows of which some votes are seen and some, or all, score them."""
    shares, n_scoring = votes_to_degrees(scoring)
    # A row without votes that score it has no weight, so that any distribution will do.
    shares[n_scoring == 0] = 1.0 / shares.shape[1]
    return _RowLabels(Y=_any_vote(votes), D=shares, votes=votes, n_scoring=n_scoring)


def _any_vote(votes: Array) -> NDArray[np.int8]:
    return (votes > 0).astype(np.int8)


def _describe_rows(data: AnyDataset, rows: Rows) -> list[str]:
    """What a reader can recognise rows by: the text, or else the first features."""
    names: Sequence[str]
    cells: Iterable[Sequence[Any]]
    if isinstance(data, PreparedTable):
        frame = data.frame.take(rows)
        for name in data.types.select(ColumnType.TEXT):
            return list(map(str, frame[name]))
        names = frame.columns[:_FEATURES_SHOWN]
        cells = zip(*(np.asarray(frame[name]).tolist() for name in names), strict=True)
    else:
        if data.texts:
            return [data.texts[row] for row in rows]
        names = data.feature_names
        cells = to_dense(data.X[rows, :_FEATURES_SHOWN]).tolist()
    described = []
    for row in cells:
        described.append(", ".join(map("{} {}".format, names, map(format_value, row))))
    return described


def _given_labels(data: AnyDataset, spec: DatasetSpec) -> NDArray[Any]:
    """0/1 labels, NaN where they are not observed."""
    Y = np.asarray(data.Y)
    empty = ~Y.any(axis=1)  # NaN counts as True: the label may be positive
    if empty.any():
        where = describe_rows(empty, _row_names(data))
        raise InputError(f"{spec.name!r}, {where}: no label is 1; drop such rows.")
    return Y if np.isnan(Y).any() else Y.astype(np.int8)


def _row_names(data: AnyDataset) -> Sequence[Any]:
    """The names of the rows in messages."""
    if isinstance(data, PreparedTable):
        return data.frame.index
    return range(1, data.n_samples + 1)


def _labels_from_degrees(D: Array, spec: DatasetSpec, rule: Protocol, seed: int) -> _RowLabels:
    if rule.rule == VOTES:
        Y = make_logical_labels(D, VOTES, n_raters=rule.k or 0, random_state=seed)
        return _RowLabels(Y=Y, D=D)
    if rule.rule == COUNTS:
        if rule.k is None:
            raise InputError(
                f"{spec.name!r} has degrees and no counts of votes; write k, the number of votes "
                "that are drawn for each row."
            )
        votes = np.random.default_rng(seed).multinomial(rule.k, D).astype(float)
        return _RowLabels(Y=_any_vote(votes), D=D, votes=votes)
    Y = binarize(D, rule.rule, delta=rule.threshold, total=rule.total, k=rule.k)
    empty = (Y.sum(axis=1) == 0).sum()
    if empty:
        raise InputError(
            f"{empty} rows of {spec.name!r} have no positive label under this rule; lower its "
            "threshold."
        )
    return _RowLabels(Y=Y, D=D)


def _copy_floats(X: Any) -> Any:
    """A copy, so that results do not depend on the memory layout of the data."""
    return X.astype(np.float64) if sparse.issparse(X) else np.array(X, dtype=float, order="C")


def _make_scaler(scaling: str, X: Any) -> Any:
    is_sparse = sparse.issparse(X)  # centring would make it dense
    if scaling == "none":
        return FunctionTransformer()  # changes nothing
    if scaling == "minmax":
        return MaxAbsScaler() if is_sparse else MinMaxScaler()
    return StandardScaler(with_mean=not is_sparse)
