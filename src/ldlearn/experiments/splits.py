"""Splitting, binarising and scaling the rows of a data set for one repeat."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from ldlearn._messages import describe_rows
from ldlearn.core.logical import binarize
from ldlearn.core.row_groups import count_groups, join_groups, rows_of_groups
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import Array
from ldlearn.core.targets import check_distributions
from ldlearn.datasets import make_logical_labels
from ldlearn.datasets.dataset import split_rows
from ldlearn.evaluation.formatting import format_value
from ldlearn.exceptions import InputError
from ldlearn.experiments.plan import Protocol
from ldlearn.experiments.sources import VOTES, AnyDataset, DatasetSpec
from ldlearn.tables import PreparedTable
from ldlearn.tables.columns import ColumnType

Rows = NDArray[np.intp]
N_SHOWN = 12  # training rows that a record keeps for figures
_FEATURES_SHOWN = 4


@dataclass(frozen=True)
class SplitPart:
    """Rows of one part of a split.

    Their numbers, features, logical labels and, if known, true degrees. Labels are integers, or
    floats with NaN where some are not observed.
    """

    rows: Rows
    X: Any
    Y: NDArray[Any]
    D: Array | None

    @property
    def truth(self) -> Array:
        """The true degrees; an error if they are unknown."""
        if self.D is None:
            raise InputError(
                "There are only 0/1 labels, and no true degrees to learn from or to select by."
            )
        return self.D


@dataclass(frozen=True)
class DataSplit:
    """Training, validation and test part of a data set.

    Also the texts or some features of the first training rows.
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
        Whose rule of binarisation, if it has one, replaces that of the protocol.
    protocol : Protocol
    repeat : int
    sparse : bool, default=False
        Whether the numbers of a table may come as CSR matrices.
    """
    if data.D is None:
        D = None
        Y = _given_labels(data, spec)
    else:
        D = check_distributions(data.D)
        Y = _binarize_degrees(D, spec, protocol, repeat)
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
    for part, X in zip(rows, features, strict=True):
        parts.append(SplitPart(part, X, Y[part], None if D is None else D[part]))
    train, validation, test = parts
    return DataSplit(train, validation, test, _describe_rows(data, train.rows[:N_SHOWN]))


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
        rows: Sequence[Any] = range(1, len(Y) + 1)
        if isinstance(data, PreparedTable):
            rows = data.frame.index
        where = describe_rows(empty, rows)
        raise InputError(f"{spec.name!r}, {where}: no label is 1; drop such rows.")
    return Y if np.isnan(Y).any() else Y.astype(np.int8)


def _binarize_degrees(
    D: Array, spec: DatasetSpec, protocol: Protocol, repeat: int
) -> NDArray[np.int8]:
    rule = replace(protocol, **spec.binarisation)  # a data set may have its own
    if rule.rule == VOTES:
        seed = protocol.seed + repeat
        return make_logical_labels(D, VOTES, n_raters=rule.k or 0, random_state=seed)
    Y = binarize(D, rule.rule, delta=rule.threshold, total=rule.total, k=rule.k)
    empty = (Y.sum(axis=1) == 0).sum()
    if empty:
        raise InputError(
            f"{empty} rows of {spec.name!r} have no positive label under this rule; lower its "
            "threshold."
        )
    return Y


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
