"""TableModel: an estimator, the preprocessing before it, and the names of the columns it was fitted on."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ldlearn.core.simplex import normalize_rows
from ldlearn.core.targets import fill_unknown, ticked_and_known, votes_to_degrees
from ldlearn.errors import ParameterError, TableError, some
from ldlearn.io.columns import check_columns, check_distinct
from ldlearn.io.label_lists import LabelList, expand_label_list, with_label_columns
from ldlearn.io.sparse_table import SparseTable
from ldlearn.io.values import (
    are_logical,
    check_all_known,
    check_degrees,
    check_logical_labels,
    check_some_label,
    check_votes,
    import_pandas,
    to_labels,
)
from ldlearn.joint import DLDL
from ldlearn.models.column_kinds import ColumnKinds, JunkCells, columns_by_kind, find_kinds
from ldlearn.models.preprocessing import (
    SPARSE_BELOW,
    TablePreprocessing,
    check_categories,
    column_summary,
    feature_frame,
)
from ldlearn.models.uncertainty import Uncertainty

_TAKES_DISTRIBUTIONS = "learner"
LABEL_KINDS = ("auto", "votes", "mixed")


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


def label_columns(
    table: Any, labels: Sequence[str], separator: str | None = None
) -> tuple[Any, list[str], LabelList | None]:
    """The table with a column for each label: only a single label column can hold lists; see `expand_label_list`."""
    if len(labels) != 1 and separator is None:
        return table, list(labels), None
    return expand_label_list(table, labels, separator)


def read_labels(table: Any, labels: Sequence[str]) -> NDArray[np.float64]:
    """The label columns as numbers, whatever kind of targets they are."""
    if not labels:
        raise TableError("no label column was named.")
    check_columns(list(table.columns), labels, "label")
    return to_labels(table, labels)


@dataclass(frozen=True)
class TrainingTargets:
    """Labels of a table as an estimator takes them.

    Attributes
    ----------
    y : ndarray of shape (n, c)
        What ``fit`` gets.
    row_data : dict
        What else it gets: weights, degrees, numbers of raters.
    truth : ndarray of shape (n, c)
        What predictions are compared with: 0/1 labels or degrees, NaN where unknown.
    kind : {"0/1", "degrees", "votes"}
    notes : list of str
        What the user should know.
    """

    y: NDArray[np.float64]
    row_data: dict[str, Any]
    truth: NDArray[np.float64]
    kind: str
    notes: list[str]


def training_targets(
    targets: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any, kind: str = "auto"
) -> TrainingTargets:
    """Label columns as the estimator takes them; anything else is refused by row and column.

    Counts of votes (``kind="votes"``) become degrees with the number of votes as weight: for a learner, and for a joint
    model that can be told degrees. Any other joint model is given the 0/1 labels that votes are when only some or none
    are counted, and the number of raters if it takes that. ``kind="mixed"`` is for 0/1 labels with the true degrees of
    some rows, which DLDL keeps.
    """
    if kind not in LABEL_KINDS:
        raise ParameterError(f"kind must be one of {', '.join(LABEL_KINDS)}, got {kind!r}.")
    if kind == "votes":
        return _votes(targets, labels, rows, estimator)
    if kind == "mixed":
        return _mixed(targets, labels, rows, estimator)
    y = check_targets(targets, labels, rows, estimator)
    return TrainingTargets(y, {}, y, "0/1" if are_logical(y) else "degrees", _unknown_cells(y))


def _unknown_cells(y: NDArray[np.float64]) -> list[str]:
    unknown = int(np.isnan(y).sum())
    return [f"{unknown} empty label cells of {y.size} are unknown: neither 0 nor 1."] if unknown else []


def _votes(counts: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any) -> TrainingTargets:
    check_votes(counts, labels, rows)
    degrees, totals = votes_to_degrees(counts)
    voted = totals > 0
    if not voted.any():
        raise TableError("nobody voted: every count is 0.")
    notes = [] if voted.all() else [f"{int((~voted).sum())} rows without votes teach nothing."]
    takes = inspect.signature(estimator.fit).parameters
    if estimator.kind == _TAKES_DISTRIBUTIONS:
        # A row without votes has weight 0, so that any distribution will do for it.
        y, told = np.where(voted[:, None], degrees, 1.0 / len(labels)), {"sample_weight": totals}
    else:
        y = np.where(voted[:, None], counts > 0, np.nan)
        told = {"sample_weight": totals, "degrees": degrees} if "degrees" in takes else {}
        if "n_raters" in takes:
            told = {"n_raters": np.maximum(totals, 1.0)}
        if not told:
            notes.append(f"{type(estimator).__name__} cannot be told degrees: it sees which labels got any vote.")
    unused = [name for name in told if name not in takes]
    if unused:
        notes.append(f"{type(estimator).__name__} takes no weights: a row counts once, however many voted.")
        told = {name: value for name, value in told.items() if name not in unused}
    return TrainingTargets(y, told, degrees, "votes", notes)


def _mixed(targets: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any) -> TrainingTargets:
    if "degrees" not in inspect.signature(estimator.fit).parameters:
        raise ParameterError(f"{type(estimator).__name__} cannot be told the degrees of some rows; DLDL can.")
    # Of a row with a single 1 both readings are the same: all of its degree is there.
    told = ~(np.isin(targets, (0.0, 1.0)) | np.isnan(targets)).all(axis=1)
    degrees = np.full(targets.shape, np.nan)
    degrees[told] = check_degrees(targets[told], labels, rows[told])
    y, logical = comparable_labels(targets, "mixed")
    check_targets(y, labels, rows, estimator)
    if not told.any():
        return TrainingTargets(y, {}, y, "0/1", ["No row has degrees: kind mixed was not needed.", *_unknown_cells(y)])
    notes = [f"True degrees of {int(told.sum())} rows, 0/1 labels of {int((~told).sum())}.", *_unknown_cells(y)]
    return TrainingTargets(y, {"degrees": degrees}, y, "0/1" if logical else "degrees", notes)


def comparable_labels(targets: NDArray[np.float64], kind: str) -> tuple[NDArray[np.float64], bool]:
    """What predictions are compared with, and whether that is 0/1 labels: shares of votes, which degrees are not 0."""
    if kind == "votes":
        return votes_to_degrees(targets)[0], False
    if kind == "mixed":
        targets = np.where(np.isnan(targets), np.nan, targets > 0)
    return targets, are_logical(targets)


def check_targets(
    targets: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any
) -> NDArray[np.float64]:
    """Labels as the kind of targets that the estimator takes; anything else is refused by row and column."""
    if estimator.kind == _TAKES_DISTRIBUTIONS:
        return check_degrees(targets, labels, rows)
    name = type(estimator).__name__
    advice = f"{name} learns from 0/1 labels; for counts say kind='votes' (--kind votes), for degrees of some rows "
    advice += "kind='mixed' (--kind mixed), for degrees of all rows use a learner such as SABFGS."
    check_logical_labels(targets, labels, rows, advice)
    if not estimator.takes_unknown:
        check_all_known(targets, labels, rows, f"write 0 or 1: {name} takes no unknown labels, DLDL does.")
    if getattr(estimator, "empty_rows", None) != "all":
        if (targets == 0).any():
            check_two_labels(labels)
        choice = ", or set empty_rows=all" if hasattr(estimator, "empty_rows") else ""
        check_some_label(targets, rows, f"drop such rows{choice}.")
    return targets


def check_two_labels(labels: Sequence[str]) -> None:
    """Refuse a single label: there is nothing to share."""
    if len(labels) == 1:
        raise TableError("one label has degree 1 in every row; name at least two.", column=labels[0])


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


def mean_distribution(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the rows of the degrees, or of equal shares of the positive labels; a row without any counts as all.

    Unknown labels count as their share of ticks elsewhere, rows of unknown degrees not at all.
    """
    if np.isnan(T).any():
        T = fill_unknown(*ticked_and_known(T)) if are_logical(T) else T[~np.isnan(T).any(axis=1)]
    return np.asarray(normalize_rows(np.where(T.any(axis=1, keepdims=True), T, 1.0)).mean(axis=0), dtype=np.float64)
