"""TableModel: an estimator, the preprocessing before it, and the names of the columns it was fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ldlearn.errors import TableError, some
from ldlearn.io.columns import check_columns, check_distinct
from ldlearn.io.label_lists import LabelList, with_label_columns
from ldlearn.io.sparse_table import SparseTable
from ldlearn.io.values import check_all_known, check_logical_labels, check_some_label, import_pandas, to_labels
from ldlearn.joint import DLDL
from ldlearn.models.uncertainty import Uncertainty
from ldlearn.preprocessing.column_kinds import ColumnKinds, JunkCells, columns_by_kind, find_kinds
from ldlearn.preprocessing.features import (
    SPARSE_BELOW,
    TablePreprocessing,
    check_categories,
    column_summary,
    feature_frame,
)
from ldlearn.preprocessing.labels import (
    TrainingTargets,
    label_columns,
    mean_distribution,
    read_labels,
    training_targets,
)


class FeatureChoice(TypedDict, total=False):
    """Which columns are features, what some of them are, and which names the rows; `TableModel.fit` tells more."""

    features: Sequence[str] | None
    numeric: Sequence[str]
    categorical: Sequence[str]
    date: Sequence[str] | Mapping[str, str]
    text: Sequence[str]
    ignore: Sequence[str]
    id: str | None


@dataclass
class TableModel:
    """A fitted estimator that takes tables as they are: named columns, texts and missing values included.

    Make one with `TableModel.fit`; keep it with `save_model`.

    Attributes
    ----------
    estimator : fitted estimator
        Any estimator of the library that predicts.
    preprocessing : TablePreprocessing
        Median or most frequent value for what is missing, one-hot categories, words of texts, standardised numbers.
    numeric, categorical : tuple of str
        The feature columns of numbers and of categories.
    labels : tuple of str
        The label columns.
    id : str or None
        A column that names the rows; it is no feature and comes back beside the predictions.
    facts : dict
        What is known of the training: rows, label counts, what columns were taken for, scores beside floors, warnings.
    dates : dict of str to str
        The feature columns of dates, and the form of each.
    texts : tuple of str
        The feature columns of prose.

    Examples
    --------
    >>> import pandas as pd
    >>> from ldlearn.models import TableModel
    >>> table = pd.DataFrame(
    ...     {
    ...         "height": [1.0, 2.0, None, 8.0],
    ...         "place": ["coast", "coast", "inland", "inland"],
    ...         "sea": [1, 1, 0, 0],
    ...         "mountain": [0, 1, 1, 1],
    ...     }
    ... )
    >>> model = TableModel.fit(table, labels=["sea", "mountain"])
    >>> model.predict(table[:1])
       sea  mountain
    0  ...
    """

    estimator: Any
    preprocessing: TablePreprocessing
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    labels: tuple[str, ...]
    id: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls,
        table: Any,
        labels: Sequence[str],
        *,
        estimator: Any = None,
        embedding: Any = None,
        targets: NDArray[np.float64] | None = None,
        kind: str = "auto",
        separator: str | None = None,
        **columns: Unpack[FeatureChoice],
    ) -> Self:
        """Fit preprocessing and estimator on a table.

        Parameters
        ----------
        table : DataFrame
            One row a sample.
        labels : sequence of str
            The label columns: 0/1 (empty where unknown, if the estimator takes that), degrees that sum to 1 if the
            estimator is a learner, or votes (see ``kind``). Or one column of lists: ``sky|sea``.
        features : sequence of str, optional
            The feature columns; by default all that are neither labels nor the id. A column is taken for what it looks
            like: numbers (a few cells that are none count as missing), dates, categories, prose; it is left out if
            it has the same value in every row, and refused if it looks like names of the rows.
        estimator : estimator, optional
            Anything of the library that predicts, unfitted; by default `DLDL`.
        numeric, categorical, date, text, ignore : sequence of str, default=()
            Features to be taken for numbers, for categories (codes), for dates or for prose, or left out, whatever
            they look like. ``date`` may be a mapping of columns to forms such as ``"%d/%m/%Y"``.
        embedding : transformer, optional
            What makes numbers of prose, unfitted: anything like scikit-learn's vectorisers, which takes a series of
            texts. By default TF-IDF. A model file can hold those that scikit-learn brings.
        id : str, optional
            A column that names the rows.
        targets : ndarray of shape (n, c), optional
            The label columns as numbers, where somebody has read them already.
        kind : {"auto", "votes", "mixed"}, default="auto"
            What the label columns hold: counts of votes, and 0/1 labels with the degrees of some rows, are said to be;
            see `training_targets`.
        separator : str, optional
            What separates labels in one column of lists; found by default, see `expand_label_list`.
        """
        table, labels, listed = label_columns(as_frame(table), labels, separator)
        model, _ = cls.fit_rows(table, labels, estimator, embedding, targets, kind, **columns)
        if listed is not None:
            model.facts["label_list"] = listed._asdict()
        return model

    @classmethod
    def fit_rows(
        cls,
        table: Any,
        labels: Sequence[str],
        estimator: Any,
        embedding: Any,
        targets: NDArray[np.float64] | None,
        kind: str,
        *,
        features: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        id: str | None = None,
        **told: Any,
    ) -> tuple[Self, Any]:
        """The model of a table with a column for each label, and the numbers of its rows that the estimator saw."""
        estimator = DLDL() if estimator is None else clone(estimator)
        may_be_sparse = bool(getattr(estimator, "_accepts_sparse", False))
        if isinstance(table, SparseTable) and not (may_be_sparse and table.density < SPARSE_BELOW):
            table = table.to_frame()
        chosen = _feature_columns(table, labels, features, id, ignore)
        kinds = find_kinds(table, chosen, **told)
        if len(kinds.left_out) == len(chosen):
            why = "; ".join(f"{reason}: {some(names)}" for reason, names in columns_by_kind(kinds.left_out).items())
            raise TableError(f"no column is left for the features ({why}).")
        if embedding is not None and not kinds.texts:
            raise TableError("no column is prose, which an embedding needs; name one with --text (text=...).")
        read = read_labels(table, labels) if targets is None else targets
        given = training_targets(read, labels, table.index, estimator, kind)
        junk = JunkCells()
        cleaned = feature_frame(table, kinds, junk)
        check_categories(cleaned, kinds)
        preprocessing, X = TablePreprocessing.fit(cleaned, kinds, sparse=may_be_sparse, embedding=embedding)
        facts = training_summary(labels, given, X.shape[1]) | column_summary(cleaned, kinds, junk)
        facts["warnings"] = [*given.notes, *facts["warnings"]]
        del cleaned  # as large as the table, and the fit needs memory too
        estimator.fit(X, import_pandas().DataFrame(given.y, columns=list(labels)), **given.row_data)
        names = (kinds.numeric, kinds.categorical, tuple(labels), id)
        return cls(estimator, preprocessing, *names, facts, dict(kinds.dates), kinds.texts), X

    @property
    def features(self) -> tuple[str, ...]:
        """The feature columns, numbers first."""
        return (*self.numeric, *self.categorical, *self.dates, *self.texts)

    @property
    def kinds(self) -> ColumnKinds:
        """What the feature columns are taken for."""
        return ColumnKinds(self.numeric, self.categorical, self.dates, self.texts)

    @property
    def can_enhance(self) -> bool:
        """Whether the model gives degrees to new rows whose 0/1 labels are known."""
        return hasattr(self.estimator, "enhance")

    def transform(self, table: Any, junk: JunkCells | None = None) -> Any:
        """The numbers that the estimator sees, dense or sparse: shape (rows, transformed features).

        Parameters
        ----------
        table : DataFrame
        junk : JunkCells, optional
            Is told the cells that do not belong into their columns and count as missing; by default they become
            a warning.
        """
        table = as_frame(table)
        check_columns(list(table.columns), self.features, "feature")
        found = JunkCells() if junk is None else junk
        numbers = self.preprocessing.transform(feature_frame(table, self.kinds, found), found, self.facts["rows"])
        if junk is None:  # a few new categories are usual, and everybody knows what becomes of them
            unseen = found.noted["unseen"]
            unseen.counts = {name: n for name, n in unseen.counts.items() if 2 * n > len(table)}
            if said := found.sentences():
                warnings.warn(" ".join(said), UserWarning, stacklevel=2)
        return numbers

    def predict(self, table: Any, junk: JunkCells | None = None, *, uncertainty: Uncertainty | None = None) -> Any:
        """Label distributions of new rows, as a table with the label names as columns.

        Parameters
        ----------
        table : DataFrame
            Has the feature columns, in any order; other columns are ignored.
        junk : JunkCells, optional
            As for `transform`.
        uncertainty : Uncertainty, optional
            Columns that say how sure the degrees are.

        Returns
        -------
        DataFrame
            Of the library of the table. A pandas frame keeps the index; a polars frame has none, and begins with the
            id column instead, if the model has one and the table too.
        """
        frame = as_frame(table)
        X = self.transform(frame, junk)
        said = [] if uncertainty is None else uncertainty.of(self.estimator, X)
        return self._named(self.estimator.predict(X), frame, table, said)

    def enhance(self, table: Any, junk: JunkCells | None = None, *, uncertainty: Uncertainty | None = None) -> Any:
        """Degrees of rows whose 0/1 labels are known, as a table with the label names as columns.

        Parameters
        ----------
        table : DataFrame
            Has the feature columns and the label columns.
        junk, uncertainty
            As for `predict`.

        Returns
        -------
        DataFrame
            As for `predict`.
        """
        if not self.can_enhance:
            raise TableError(
                f"{type(self.estimator).__name__} gives degrees only to the rows it was fitted on; fit it on this "
                "table, or use a model fitted with DLDL."
            )
        frame = self.with_label_columns(as_frame(table))
        check_columns(list(frame.columns), self.labels, "label")
        Y = to_labels(frame, self.labels)
        check_logical_labels(Y, self.labels, frame.index, "only 0/1 labels can be enhanced.")
        if not self.estimator.takes_unknown:
            check_all_known(Y, self.labels, frame.index)
        if getattr(self.estimator, "empty_rows", None) != "all":
            check_some_label(Y, frame.index, "drop such rows.")
        X = self.transform(frame, junk)
        said = [] if uncertainty is None else uncertainty.of(self.estimator, X, Y)
        return self._named(self.estimator.enhance(X, Y), frame, table, said)

    @property
    def label_list(self) -> LabelList | None:
        """The column of lists that the labels came from, if they did."""
        return LabelList(**self.facts["label_list"]) if "label_list" in self.facts else None

    def with_label_columns(self, table: Any) -> Any:
        """A table whose labels stand in one column of lists, as it was at the fit, with a 0/1 column for each."""
        found = self.label_list
        if found is None or found.column not in table.columns:
            return table
        return with_label_columns(table, found, self.labels)

    def _named(self, distributions: Any, frame: Any, table: Any, said: list[Any]) -> Any:
        """Degrees as a frame of the library that the table comes from, and what else is said of them."""
        columns = dict(zip(self.labels, np.asarray(distributions).T, strict=True)) | dict(said)
        if type(table).__module__.partition(".")[0] != "polars":
            return import_pandas().DataFrame(columns, index=frame.index)
        ids = {self.id: table[self.id]} if self.id in table.columns else {}
        return type(table)(ids | columns)


def as_frame(table: Any) -> Any:
    """A pandas frame with distinct text names; frames of other libraries are converted."""
    pandas = import_pandas()
    if isinstance(table, SparseTable):
        return table
    if not isinstance(table, pandas.DataFrame):
        if not hasattr(table, "to_pandas"):
            raise TableError(f"A table with named columns is needed (a data frame), got {type(table).__name__}.")
        table = table.to_pandas()
    names = [str(name) for name in table.columns]
    check_distinct(names)
    return table.set_axis(names, axis=1) if names != list(table.columns) else table


def _feature_columns(
    table: Any, labels: Sequence[str], features: Sequence[str] | None, id: str | None, ignore: Sequence[str]
) -> list[str]:
    if len(table) == 0:
        raise TableError("the table has no rows.")
    if id is not None:
        check_columns(list(table.columns), [id], "id")
    taken = {*labels} | ({id} if id is not None else set())
    if features is None:
        chosen = [name for name in table.columns if name not in taken]
    else:
        check_columns(list(table.columns), features, "feature")
        chosen = list(features)
        both = [name for name in chosen if name in taken]
        if both:
            raise TableError("the column is a feature and a label (or the id) at once.", column=both[0])
    check_columns(list(table.columns), ignore, "ignored")
    chosen = [name for name in chosen if name not in set(ignore)]
    if not chosen:
        raise TableError("no column is left for the features.")
    return chosen


def training_summary(labels: Sequence[str], given: TrainingTargets, n_transformed: int) -> dict[str, Any]:
    """Figures of a training table; `fit_and_check` adds scores and warnings."""
    T = given.truth
    return {
        "rows": len(T),
        "transformed_features": n_transformed,
        "label_kind": given.kind,
        "label_means": dict(zip(labels, np.nanmean(T, axis=0).tolist(), strict=True)),
        "positives_per_row": float((T > 0).sum(axis=1).mean()),
        "mean_distribution": mean_distribution(T).tolist(),
        "holdout": None,
    }
