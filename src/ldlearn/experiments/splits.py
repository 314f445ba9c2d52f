"""Splitting, binarising and scaling the rows of a data set for one repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from ldlearn.base import check_distributions
from ldlearn.core.logical import binarize
from ldlearn.exceptions import InputError, describe_rows
from ldlearn.experiments.plan import Protocol
from ldlearn.experiments.sources import AnyDataset, DatasetSpec
from ldlearn.tables import PreparedTable

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """Rows of one part of a split: their numbers, features, logical labels and, if known, true distributions.

    Labels are whole numbers, or floats with NaN where some are unknown.
    """

    rows: Rows
    X: Any
    Y: NDArray[Any]
    D: NDArray[np.float64] | None

    @property
    def truth(self) -> NDArray[np.float64]:
        """The true distributions, where they must be there."""
        if self.D is None:
            raise InputError("There are only 0/1 labels, and no true degrees to learn from or to choose by.")
        return self.D


@dataclass(frozen=True)
class Split:
    """Training, validation and test part."""

    train: Part
    validation: Part
    test: Part

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes as the values of a grid name them: n training rows, m features, c labels."""
        return {"n": len(self.train.rows), "m": int(self.train.X.shape[1]), "c": int(self.train.Y.shape[1])}

    @property
    def record(self) -> dict[str, int]:
        """Sizes as a record names them."""
        rows = {f"n_{part}": len(getattr(self, part).rows) for part in ("train", "validation", "test")}
        return rows | {"n_features": self.sizes["m"], "n_labels": self.sizes["c"]}


def split_rows(protocol: Protocol, repeat: int, n: int) -> tuple[Rows, Rows, Rows]:
    """Row numbers of the training, validation and test part.

    Parameters
    ----------
    protocol : Protocol
    repeat : int
        Shuffles with ``default_rng(seed + repeat)``; the folds of a k-fold share one shuffle, so that there
        ``repeat`` counts folds: fold ``repeat % folds`` of shuffle ``repeat // folds``.
    n : int
        Number of rows.
    """
    if protocol.split == "k-fold":
        return _fold(protocol, repeat, n)
    # The same parts as those of LabelDataset.split with this seed, so that a repeat can be had by hand.
    order = np.random.default_rng(protocol.seed + repeat).permutation(n)
    # The small number undoes rounding: 0.6 + 0.2 of 10 rows are 8, not 7.
    cuts = np.floor(np.cumsum(protocol.shares)[:2] * n + 1e-6).astype(int)
    train, validation, test = np.split(order, cuts)
    return train, validation, test


def _fold(protocol: Protocol, repeat: int, n: int) -> tuple[Rows, Rows, Rows]:
    shuffle, fold = divmod(repeat, protocol.folds)
    folds = np.array_split(np.random.default_rng(protocol.seed + shuffle).permutation(n), protocol.folds)
    test = folds.pop(fold)
    # Shuffled again: the folds are in one order, and the last rows of it would be validation rows in every fold.
    rest = np.random.default_rng([protocol.seed, repeat]).permutation(np.concatenate(folds))
    cut = int(np.floor((1.0 - protocol.validation) * len(rest) + 1e-6))
    return rest[:cut], rest[cut:], test


def make_split(data: AnyDataset, spec: DatasetSpec, protocol: Protocol, repeat: int, *, sparse: bool = False) -> Split:
    """The three parts of a repeat, scaled by what the training part shows.

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
    D = None if data.D is None else check_distributions(data.D)
    Y = _given_labels(data, spec) if D is None else _logical(D, spec, protocol)
    rows = split_rows(protocol, repeat, data.n_samples)
    for part, found in zip(("training", "validation", "test"), rows, strict=True):
        if not len(found):
            raise InputError(f"The {part} part of {spec.name!r} has no rows; it has only {data.n_samples} in all.")
    # It scales its columns itself, and learns all else that it needs from the training rows too.
    if isinstance(data, PreparedTable):
        features = data.numbers(*rows, sparse=sparse)
    else:
        features = _scaled(data.X, rows, protocol.scaling)
    return Split(
        *(Part(part, X, Y[part], None if D is None else D[part]) for part, X in zip(rows, features, strict=True))
    )


def _scaled(X: Any, parts: Sequence[Rows], scaling: str) -> list[Any]:
    scale = _scaler(scaling, X).fit(_fresh_floats(X[parts[0]]))
    return [scale.transform(_fresh_floats(X[part])) for part in parts]


def _given_labels(data: AnyDataset, spec: DatasetSpec) -> NDArray[Any]:
    """0/1 labels, NaN where they are unknown."""
    Y: NDArray[Any] = np.asarray(data.Y)
    empty = ~Y.any(axis=1)  # an unknown label may be there
    if empty.any():
        where = describe_rows(empty, range(1, len(Y) + 1))
        raise InputError(f"{spec.name!r}, {where}: no label is 1; drop such rows.")
    return Y if np.isnan(Y).any() else Y.astype(np.int8)


def _logical(D: NDArray[np.float64], spec: DatasetSpec, protocol: Protocol) -> NDArray[np.int8]:
    rule = replace(protocol, **spec.binarisation)  # a data set may have its own
    Y = binarize(D, rule.rule, delta=rule.threshold, total=rule.total, k=rule.k)
    empty = int((Y.sum(axis=1) == 0).sum())
    if empty:
        raise InputError(f"{empty} rows of {spec.name!r} have no positive label under this rule; lower its threshold.")
    return Y


def _fresh_floats(X: Any) -> Any:
    """A fresh array, so that results cannot depend on how the data reached this process."""
    return X.astype(np.float64) if sparse.issparse(X) else np.array(X, dtype=np.float64, order="C")


def _scaler(scaling: str, X: Any) -> Any:
    if scaling == "none":
        return FunctionTransformer()  # changes nothing
    if scaling == "minmax":
        # MinMaxScaler moves zeros, and a sparse matrix would be dense.
        return MaxAbsScaler() if sparse.issparse(X) else MinMaxScaler()
    return StandardScaler(with_mean=not sparse.issparse(X))  # without its mean, a sparse matrix would be dense
