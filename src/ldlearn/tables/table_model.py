"""TableModel: an estimator with its preprocessing and the names of the columns it was fitted on."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from ldlearn.compose.method_names import default_method, make_predictor
from ldlearn.core.row_groups import Keys, hash_rows
from ldlearn.core.simplex import Array
from ldlearn.exceptions import TableError
from ldlearn.solvers.default_gamma import ScaleWarning
from ldlearn.tables.column_types import CellReport, ColumnTypes
from ldlearn.tables.columns import ColumnType, check_columns
from ldlearn.tables.features import TablePreprocessing, clean_features, summarize_columns
from ldlearn.tables.files import ReadingOptions, TableInput
from ldlearn.tables.label_lists import LabelList, with_label_columns
from ldlearn.tables.labelled_table import LabelledTable, read_labelled
from ldlearn.tables.options import ColumnOptions, Columns, WritingOptions
from ldlearn.tables.source import as_frame
from ldlearn.tables.table_labels import TableLabels, TrainingTargets
from ldlearn.tables.training_rows import sample_keys
from ldlearn.tables.values import describe_repeated, import_pandas
from ldlearn.tables.writing import uncertainty_columns


@dataclass
class TableModel:
    """A fitted estimator that takes tables as they are.

    Tables have named columns and may contain texts and missing values. Make one with
    `TableModel.fit`; keep it with `save_model`.

    Attributes
    ----------
    estimator : fitted estimator
        Any estimator of the library that predicts.
    preprocessing : TablePreprocessing
        Median or most frequent value for what is missing, one-hot categories, words of texts,
        standardised numbers.
    types : ColumnTypes
        The type of each feature column, the formats of datetimes, and the units of numbers.
    labels : tuple of str
        The label columns.
    id : str or None
        The identifier column; it is no feature and is returned with the predictions.
    facts : dict
        Figures of the training: rows, label counts, column types, scores beside baselines,
        warnings.
    decimal : {".", ","}
        The decimal mark of the training table.
    groups : str or None
        The column that names groups of rows that belong together; it is no feature.
    classifier : FromClassifier or None
        A plain classifier fitted to the same rows, which evaluations compare the estimator with.
    training_keys : ndarray or None
        Keys of some training rows, by which evaluations recognise them: see
        `ldlearn.tables.training_rows`.

    Examples
    --------
    >>> import pandas as pd
    >>> from ldlearn.tables import TableModel
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

    learned: ClassVar = {
        "estimator": "any",
        "preprocessing": "TablePreprocessing",
        "types": "ColumnTypes",
        "labels": "names (n_labels)",
        "id": "str | None",
        "facts": "facts",
        "decimal": "str",
        "groups": "str | None",
        "classifier": "FromClassifier | None",
        "training_keys": "int (n_training_keys) | None",
    }

    estimator: Any
    preprocessing: TablePreprocessing
    types: ColumnTypes
    labels: tuple[str, ...]
    id: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    decimal: str = "."
    groups: str | None = None
    classifier: Any = None
    training_keys: Keys | None = None

    @classmethod
    def fit(
        cls,
        table: Any,
        labels: Columns,
        *,
        estimator: Any = None,
        embedding: Any = None,
        columns: ColumnOptions = ColumnOptions(),
    ) -> Self:
        """Fit preprocessing and estimator on a table.

        Parameters
        ----------
        table : DataFrame
            One row a sample.
        labels : str or sequence
            The label columns: 0/1 (empty where unknown, if the estimator takes that), degrees that
            sum to 1 if the estimator is a learner, or votes (see `ColumnOptions`). Or one column of
            lists: ``sky|sea``.
        estimator : estimator, optional
            Anything of the library that predicts, unfitted; by default `DLDL`, and `CountLDL` if
            ``columns`` declares votes.
        embedding : transformer, optional
            What makes numbers of prose, unfitted: anything like scikit-learn's vectorisers, which
            takes a series of texts. By default TF-IDF. A model file can hold only that and what
            `import_embedding` gives.
        columns : ColumnOptions, optional
            Which columns are features, the types of some, the identifier, and how labels are read.
        """
        labelled = read_labelled(table, labels, columns, ReadingOptions())
        return cls.fit_labelled(labelled, estimator, embedding)[0]

    @classmethod
    def fit_labelled(
        cls, table: LabelledTable, estimator: Any, embedding: Any, types: ColumnTypes | None = None
    ) -> tuple[Self, Any, TrainingTargets]:
        """Fit preprocessing and estimator; also return the features and targets of the fit."""
        model, X, targets = cls.learn_columns(table, estimator, embedding, types)
        # A frame gives the estimator the names of the labels.
        y = import_pandas().DataFrame(targets.y, columns=list(model.labels))
        row_data = dict(targets.row_data)
        if table.columns.groups is not None and get_tags(model.estimator).groups:
            row_data["groups"] = table.named_groups
        with warnings.catch_warnings():
            # Numbers are standardised; words, categories and embeddings have another scale on
            # purpose.
            warnings.simplefilter("ignore", ScaleWarning)
            model.estimator.fit(X, y, **row_data)
        keys = hash_rows(X)
        model.training_keys = sample_keys(keys)
        model.facts["repeated_rows"] = len(keys) - len(np.unique(keys))
        return model, X, targets

    @classmethod
    def learn_columns(
        cls,
        table: LabelledTable,
        estimator: Any,
        embedding: Any = None,
        types: ColumnTypes | None = None,
    ) -> tuple[Self, Any, TrainingTargets]:
        """Fit the preprocessing and set up the estimator, which is not fitted yet.

        The ``types`` of the columns are inferred unless they are given.
        """
        if estimator is None:
            estimator = make_predictor(default_method(table.labels.kind))
        estimator = clone(estimator)
        sparse = get_tags(estimator).input_tags.sparse
        cleaned, types, report = table.clean(types, sparse=sparse)
        if embedding is not None and not types.select(ColumnType.TEXT):
            raise TableError(
                "no column is prose, which an embedding needs; name one with --text (text=...)."
            )
        targets = table.labels.for_estimator(estimator)
        labels = tuple(table.labels.names)
        preprocessing, X = TablePreprocessing.fit(
            cleaned, types, sparse=sparse, embedding=embedding
        )
        T = targets.truth
        columns = summarize_columns(cleaned, types, report)
        messages = [*targets.messages, *columns["warnings"]]
        id = table.columns.id
        if id is not None and id != table.columns.groups:
            messages += describe_repeated(table.frame[id])
        facts = {
            "rows": len(T),
            "transformed_features": X.shape[1],
            "label_kind": targets.kind,
            "label_means": dict(zip(labels, targets.label_means().tolist(), strict=True)),
            "positives_per_row": float((T > 0).sum() / len(T)),
            "mean_distribution": targets.mean_distribution().tolist(),
            "holdout": None,
            "source": {},
            **columns,
            "warnings": messages,
        }
        if targets.counts is not None:
            facts["votes"] = _summarize_votes(targets.counts)
        if table.label_list is not None:
            facts["label_list"] = table.label_list._asdict()
        model = cls(
            estimator,
            preprocessing,
            types,
            labels,
            id,
            facts,
            decimal=table.decimal or ".",
            groups=table.columns.groups,
        )
        return model, X, targets

    @property
    def features(self) -> tuple[str, ...]:
        """The feature columns, numbers first."""
        return tuple(self.types.columns)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The feature columns of numbers."""
        return self.types.select(ColumnType.NUMERIC)

    @property
    def categorical(self) -> tuple[str, ...]:
        """The feature columns of categories."""
        return self.types.select(ColumnType.CATEGORICAL)

    def check_can_enhance(self) -> None:
        """Refuse a model that cannot give degrees to new rows with 0/1 labels."""
        if not hasattr(self.estimator, "enhance"):
            raise TableError(
                f"{type(self.estimator).__name__} gives degrees only to the rows it was fitted on; "
                "fit it on this table (`ldlearn enhance --labels ... --method ...`), "
                "or use a model fitted with DLDL, of votes CountLDL."
            )

    def transform(self, table: Any, report: CellReport | None = None) -> Any:
        """The numbers that the estimator sees, dense or sparse: shape (rows, transformed features).

        Parameters
        ----------
        table : DataFrame
        report : CellReport, optional
            Collects malformed cells, which are treated as missing, and unseen categories; by
            default they become a warning.
        """
        table = as_frame(table)
        check_columns(table.columns, self.features, "feature")
        found = CellReport() if report is None else report
        numbers = self.preprocessing.transform(clean_features(table, self.types, found), found)
        if report is None:  # a few new categories are usual
            found.unseen = {
                name: cells for name, cells in found.unseen.items() if 2 * len(cells) > len(table)
            }
            if messages := found.messages():
                warnings.warn(" ".join(messages), UserWarning, stacklevel=2)
        return numbers

    def predict(
        self,
        table: Any,
        report: CellReport | None = None,
        *,
        writing: WritingOptions = WritingOptions(),
    ) -> Any:
        """Label distributions of new rows, as a table with the label names as columns.

        Parameters
        ----------
        table : DataFrame
            Has the feature columns, in any order; other columns are ignored.
        report : CellReport, optional
            As for `transform`.
        writing : WritingOptions, optional
            Of these ``interval``, ``raters`` and ``flag_far``: further columns.

        Returns
        -------
        DataFrame
            Of the library of the table. A pandas frame keeps the index; a polars frame has none,
            and begins with the id column instead, if the model has one and the table too.
        """
        frame = as_frame(table)
        X = self.transform(frame, report)
        further = uncertainty_columns(self.estimator, self.labels, writing, X)
        return self._make_table(self.estimator.predict(X), frame, table, further)

    def enhance(
        self,
        table: Any,
        report: CellReport | None = None,
        *,
        kind: str = "auto",
        blank: float | None = None,
        empty_rows: str = "error",
        writing: WritingOptions = WritingOptions(),
    ) -> Any:
        """Degrees of rows whose labels are known, as a table with the label names as columns.

        Parameters
        ----------
        table : DataFrame
            Has the feature columns and the label columns: 0/1, or counts of votes if the estimator
            takes these. A row without votes gets the predicted degrees.
        kind : {"auto", "votes"}, default="auto"
            What the labels are declared to be; by default what the estimator takes.
        blank : float, optional
            Value of empty label cells: 0, or NaN for unknown; by default they are unknown, too, but
            some known label must be 0 if more than 10 % are empty.
        empty_rows : {"error", "drop", "unknown"}, default="error"
            See `ColumnOptions`.
        report, writing
            As for `predict`.

        Returns
        -------
        DataFrame
            As for `predict`.
        """
        self.check_can_enhance()
        frame = as_frame(table)
        found = self.read_labels(frame, blank, kind).resolve_kind(self.estimator)
        labels, rows = found.handle_empty_rows(empty_rows)
        if len(rows) < len(frame):
            frame = frame.take(rows)
        Y = labels.to_enhance(self.estimator)
        X = self.transform(frame, report)
        further = uncertainty_columns(self.estimator, self.labels, writing, X, Y)
        return self._make_table(self.estimator.enhance(X, Y), frame, table, further)

    def read_labels(
        self, table: Any, blank: float | None = None, kind: str = "auto"
    ) -> TableLabels:
        """The labels of a table: a column for each, or one column of lists as at the fit.

        See `fit_table`.
        """
        listed = self.label_list
        if listed is not None and self.label_columns(table.columns) != self.labels:
            table = with_label_columns(table, listed, self.labels)
        check_columns(table.columns, self.labels, "label")
        return TableLabels.from_columns(table, self.labels, blank, kind)

    def label_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of a table with its labels: that of lists as at the fit, or one for each."""
        if self.label_list is not None and self.label_list.column in names:
            return (self.label_list.column,)
        return self.labels

    def make_input(
        self, table: Any, reading: ReadingOptions, label_file: str | None = None
    ) -> TableInput:
        """A table to apply the model to."""
        list_column = None if self.label_list is None else self.label_list.column
        return TableInput(table, reading, self.decimal, label_file, list_column)

    @property
    def label_list(self) -> LabelList | None:
        """The column of lists that the labels came from, if they did."""
        return LabelList(**self.facts["label_list"]) if "label_list" in self.facts else None

    def _make_table(
        self, distributions: Any, frame: Any, table: Any, further: dict[str, Any]
    ) -> Any:
        """Degrees and further columns, as a frame of the library that the table comes from."""
        columns = dict(zip(self.labels, np.asarray(distributions).T, strict=True)) | further
        # By name, because polars need not be installed.
        if type(table).__module__.partition(".")[0] != "polars":
            return import_pandas().DataFrame(columns, index=frame.index)
        if self.id is not None and self.id in table.columns:
            columns = {self.id: frame[self.id].to_numpy()} | columns
        return type(table)(columns)


def _summarize_votes(counts: Array) -> dict[str, float | int]:
    """Number of votes, of rows with votes, and of rows with a single one."""
    n_votes = counts.sum(axis=1)
    return {
        "total": float(n_votes.sum()),
        "voted_rows": int((n_votes > 0).sum()),
        "single_vote_rows": int((n_votes == 1).sum()),
    }
