"""From the columns of a table to the features an estimator works on: impute, encode, scale."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.base import clone

from ldlearn._messages import format_list
from ldlearn.core.scaling import column_moments, to_dense
from ldlearn.core.simplex import Array
from ldlearn.exceptions import TableError
from ldlearn.tables.column_types import (
    WORD,
    CellReport,
    ColumnTypes,
    columns_by_type,
    split_datetimes,
)
from ldlearn.tables.columns import ColumnType
from ldlearn.tables.embedding import NamedEmbedding
from ldlearn.tables.source import SparseTable
from ldlearn.tables.values import TRUTH_SPELLINGS, import_pandas, to_texts

_MAX_NUMBER = 1e100  # squares of such numbers, summed over any table, are still finite
SPARSE_BELOW = 0.3  # fraction of nonzero features below which a sparse matrix pays
_MAX_WORDS = 2000


@dataclass
class TablePreprocessing:
    """What a table model does to a cleaned table (`clean_features`) before its estimator sees it.

    Our own rather than scikit-learn's ColumnTransformer, which spends seconds on checking ten
    thousand columns one by one, and whose state depends on its version. ``TYPE_HANDLERS`` describes
    it.

    Attributes
    ----------
    numbers : tuple of str
        The columns of numbers of a cleaned table.
    medians, means, scales : ndarray
        Of the numbers: what missing ones become, and what is then subtracted and divided by.
    modes : dict of str to str
        Of the categorical columns: what missing values become.
    categories : dict of str to list of str
        The values of each categorical column, sorted.
    encoders : dict of str to transformer
        What makes features of each text column.
    feature_means : ndarray of shape (n_features,)
        Means of the resulting features over the training rows.
    sparse : bool
        Whether the result is a CSR matrix.
    """

    learned: ClassVar = {
        "numbers": "names (n_numbers)",
        "medians": "float (n_numbers)",
        "means": "float (n_numbers)",
        "scales": "float (n_numbers)",
        "modes": "dict of str",
        "categories": "dict of list of str",
        "encoders": "dict of TfidfEncoder | dict of NamedEmbedding",
        "feature_means": "float (n_features)",
        "sparse": "bool",
    }

    numbers: tuple[str, ...]
    medians: Array
    means: Array
    scales: Array
    modes: dict[str, str]
    categories: dict[str, list[str]]
    encoders: dict[str, Any]
    feature_means: Array
    sparse: bool = False

    @classmethod
    def fit(
        cls, cleaned: Any, types: ColumnTypes, *, sparse: bool = False, embedding: Any = None
    ) -> tuple[Self, Any]:
        """Learn from a cleaned table; also returns the features of its rows.

        Parameters
        ----------
        cleaned : DataFrame
        types : ColumnTypes
        sparse : bool
            Whether the result may be sparse, which it then is if few features are not 0.
        embedding : transformer, optional
            Takes texts and gives numbers; by default TF-IDF.
        """
        categorical = types.select(ColumnType.CATEGORICAL)
        texts = types.select(ColumnType.TEXT)
        others = {*categorical, *texts}
        numbers = tuple(name for name in cleaned.columns if name not in others)
        moments = [_median_mean_and_scale(values) for values, _ in _number_blocks(cleaned, numbers)]
        medians, means, scales = np.hstack([np.empty((3, 0)), *moments])
        modes = {}
        categories = {}
        for name in categorical:
            modes[name] = _most_frequent(cleaned[name])
            categories[name] = sorted({*cleaned[name].dropna(), modes[name]})
        encoders = {name: _fit_encoder(cleaned[name], name, embedding) for name in texts}
        learned = (medians, means, scales, modes, categories, encoders)
        preprocessing = cls(numbers, *learned, feature_means=np.empty(0))
        parts = preprocessing._encode(cleaned, CellReport())
        n_features = sum(part.shape[1] for part in parts)
        n_stored = sum(part.size for part in parts)
        # A sparse table stays sparse: made dense, it may not fit into memory.
        is_sparse = sparse and n_stored < SPARSE_BELOW * n_features * len(cleaned)
        preprocessing.sparse = is_sparse or isinstance(cleaned, SparseTable)
        X = preprocessing._join(parts)
        preprocessing.feature_means = X.mean(axis=0)
        return preprocessing, X

    @property
    def embedded(self) -> bool:
        """Whether an embedding that the user names makes the features of some texts."""
        return any(isinstance(encoder, NamedEmbedding) for encoder in self.encoders.values())

    def transform(self, cleaned: Any, report: CellReport) -> Any:
        """The features of the rows of a cleaned table: an array, or a CSR matrix.

        Categories that training did not have are added to ``report``.
        """
        return self._join(self._encode(cleaned, report))

    def feature_names(self) -> list[str]:
        """Names of the features that the estimator sees."""
        return [name for _, name in self.features_with_columns()]

    def features_with_columns(self) -> list[tuple[str, str]]:
        """For each feature that the estimator sees, its column of the cleaned table, and a name."""
        names = list(zip(self.numbers, self.numbers, strict=True))
        for name, values in self.categories.items():
            names += [(name, f"{name}_{value}") for value in values]
        for name, encoder in self.encoders.items():
            if hasattr(encoder, "get_feature_names_out"):
                words = encoder.get_feature_names_out()
            else:  # of the user: an empty text shows how many features there are
                words = range(encoder.transform([""]).shape[1])
            names += [(name, f"{name}: {word}") for word in words]
        return names

    def _encode(self, cleaned: Any, report: CellReport) -> list[Any]:
        parts = []
        for handler in TYPE_HANDLERS.values():
            if handler.encode is not None:
                parts += handler.encode(self, cleaned, report)
        return parts

    def _encode_numbers(self, cleaned: Any, report: CellReport) -> list[Any]:
        if isinstance(cleaned, SparseTable) and self.means[: len(cleaned.names)].any():
            cleaned = cleaned.to_frame()  # of a model whose numbers had no such zeros
        return [self._scale(*block) for block in _number_blocks(cleaned, self.numbers)]

    def _encode_categories(self, cleaned: Any, report: CellReport) -> list[Any]:
        parts = []
        for name, values in self.categories.items():
            column = cleaned[name]
            known = import_pandas().Index(values, dtype=object)
            codes = known.get_indexer(column.where(column.notna(), self.modes[name]))
            report.add(report.unseen, column, name, codes < 0)
            rows = np.flatnonzero(codes >= 0)
            ones = (np.ones(len(rows)), (rows, codes[rows]))
            parts.append(csr_array(ones, shape=(len(codes), len(values))))
        return parts

    def _encode_texts(self, cleaned: Any, report: CellReport) -> list[Any]:
        return [each.transform(cleaned[name].tolist()) for name, each in self.encoders.items()]

    def _scale(self, values: Any, which: slice) -> Any:
        scales = self.scales[which]
        if issparse(values):  # their means are 0
            parts = (values.data / scales[values.indices], values.indices, values.indptr)
            return csr_array(parts, shape=values.shape)
        scaled = np.array(values, order="C")
        # In place: memory for another copy takes longer than the arithmetic.
        np.copyto(scaled, self.medians[which], where=np.isnan(scaled))
        scaled -= self.means[which]
        scaled /= scales
        return scaled

    def _join(self, parts: list[Any]) -> Any:
        if self.sparse:
            return hstack([csr_array(part) for part in parts], format="csr")
        dense = [to_dense(part) for part in parts]
        return dense[0] if len(dense) == 1 else np.hstack(dense)

    def _export_numbers(self, graph: Any) -> list[str]:
        if not self.numbers:
            return []
        filled = graph.node("Where", graph.node("IsNaN", "numbers"), self.medians, "numbers")
        centred = graph.node("Sub", filled, self.means)
        return [graph.node("Div", centred, self.scales)]

    def _export_categories(self, graph: Any) -> list[str]:
        parts = []
        for j, (name, values) in enumerate(self.categories.items()):
            # An empty text is one more value, with the code of the value that missing ones get; so
            # is another spelling.
            alike = {"": self.modes[name]}
            alike |= {other: usual for other, usual in TRUTH_SPELLINGS.items() if usual in values}
            column = graph.node("Gather", "texts", j, axis=1)
            # zeros=1: a text never seen in training gets zeros, as in Python, and no error.
            cells = [*values, *alike]
            code = graph.ml_node("OneHotEncoder", column, cats_strings=cells, zeros=1)
            positions = [values.index(alike.get(cell, cell)) for cell in cells]
            parts.append(graph.node("MatMul", code, np.eye(len(values))[positions]))
        return parts


def _number_blocks(cleaned: Any, names: Sequence[str]) -> list[tuple[Any, slice]]:
    """Numbers of a cleaned table, sparse ones first; and which of the names each block holds."""
    blocks = []
    n_sparse = 0
    if isinstance(cleaned, SparseTable):
        n_sparse = len(cleaned.names)
        blocks.append((cleaned.matrix, slice(n_sparse)))
        cleaned = cleaned.frame
    if len(names) > n_sparse:
        values = _select_columns(cleaned, list(names[n_sparse:])).to_numpy(dtype=np.float64)
        blocks.append((values, slice(n_sparse, None)))
    return blocks


def _select_columns(frame: Any, names: list[str]) -> Any:
    """Some columns of a frame, without a copy if they are all of them."""
    return frame if list(frame.columns) == names else frame[names]


def _median_mean_and_scale(values: Any) -> Array:
    """Medians of the columns, and mean and standard deviation of the columns so filled, a row each.

    Sparse columns keep their zeros: median and mean 0.
    """
    moments = np.zeros((3, values.shape[1]))
    if issparse(values):
        # In two passes: in one, a constant column would be divided by its rounding error.
        scales = np.sqrt(column_moments(values)[1] / values.shape[0])
        moments[2] = np.where(scales > 0, scales, 1.0)
        return moments
    for j, column in enumerate(values.T):  # one at a time, which stays in the processor's cache
        missing = np.isnan(column)
        median = _median(column[~missing])
        filled = np.where(missing, median, column)
        mean = filled.mean()
        scale = filled.std()
        # What is left of a constant after rounding is no spread.
        if scale <= np.finfo(np.float64).eps * len(filled) * abs(mean):
            scale = 1.0
        moments[:, j] = median, mean, scale
    return moments


def _median(values: Array) -> float:
    """The median, 0 of no values, which are reordered; `numpy.median` is several times slower."""
    if not len(values):
        return 0.0
    half = len(values) // 2
    values.partition(half)
    if len(values) % 2:
        return values[half]
    return (values[:half].max() + values[half]) / 2


def _most_frequent(series: Any) -> str:
    """The most frequent text, of several the first; "missing" beside a single value."""
    if series.nunique() == 1 and series.isna().any():
        return "missing"
    return min(series.mode(), default="")


@dataclass
class TfidfEncoder:
    """TF-IDF of the words of texts, by scikit-learn's `TfidfVectorizer`.

    Attributes
    ----------
    vocabulary : list of str
    idf : ndarray of shape (n_words,)
        How rare each word is.
    """

    learned: ClassVar = {
        "vocabulary": "names (n_words)",
        "idf": "float (n_words)",
    }

    vocabulary: list[str]
    idf: Array

    @classmethod
    def fit(cls, texts: list[str]) -> Self:
        """Learn the most frequent words of some texts."""
        fitted = _vectorizer(max_features=_MAX_WORDS).fit(texts)
        return cls(fitted.get_feature_names_out().tolist(), fitted.idf_)

    def transform(self, texts: list[str]) -> Any:
        """A CSR matrix with a row for each text."""
        vectorizer = _vectorizer(vocabulary=list(self.vocabulary))
        vectorizer.idf_ = self.idf
        return vectorizer.transform(texts)

    def get_feature_names_out(self) -> list[str]:
        """The words."""
        return list(self.vocabulary)


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=WORD, sublinear_tf=True, **options)


def _fit_encoder(texts: Any, column: str, embedding: Any) -> Any:
    if isinstance(embedding, NamedEmbedding):
        return embedding
    encoder = TfidfEncoder if embedding is None else clone(embedding)
    try:
        return encoder.fit(texts.tolist())
    except ValueError as error:
        raise TableError(f"its texts give no numbers: {error}", column=column) from None


def clean_features(table: Any, types: ColumnTypes, report: CellReport) -> Any:
    """The feature columns of a table, cleaned: floats with NaN, categories with NaN, texts."""
    if isinstance(table, SparseTable):
        numeric = types.select(ColumnType.NUMERIC)
        sparse = table.take_columns([name for name in numeric if name in table.column_positions])
        _check_sparse(sparse)
        rest = dict(types.columns)
        for name in sparse.names:
            del rest[name]
        frame = clean_features(table.frame, replace(types, columns=rest), report)
        return replace(sparse, frame=frame)
    parts = []
    for type_, handler in TYPE_HANDLERS.items():
        if names := types.select(type_):
            parts.append(handler.clean(table, names, types, report))
    if len(parts) == 1:
        return parts[0]
    pandas = import_pandas()
    return pandas.concat([pandas.DataFrame(index=table.index), *parts], axis=1)


def _check_sparse(table: SparseTable) -> None:
    """Refuse values of a sparse matrix that are not finite or too large: missing cells are 0."""
    # Not the reverse, which NaN would pass.
    bad = ~(np.abs(table.matrix.data) <= _MAX_NUMBER)
    if bad.any():
        first = np.argmax(bad)
        row = np.searchsorted(table.matrix.indptr, first, side="right") - 1
        problem = f"{table.matrix.data[first]:g} is no number that can be computed with"
        raise TableError(
            f"{problem}; a sparse matrix has none missing.",
            row=table.index[row],
            column=table.names[table.matrix.indices[first]],
        )


def _clean_numbers(table: Any, names: Sequence[str], types: ColumnTypes, report: CellReport) -> Any:
    """Numeric columns as one block: work on every column by itself would take most of the time."""
    chosen = _select_columns(table, list(names))
    units = types.units
    are_numbers = all(dtype.kind in "iuf" for dtype in set(chosen.dtypes))
    # Of columns that had percent signs in training it has to be checked that they still have.
    if are_numbers and "%" not in (units or {}).values():
        values = chosen.astype(np.float64).to_numpy()  # no copy; to_numpy(na_value=...) makes one
    else:
        values = np.empty(chosen.shape)
        for j, name in enumerate(names):
            unit = None if units is None else units.get(name, "")
            values[:, j] = report.read_numbers(chosen[name], name, unit)
    bad = np.abs(values) > _MAX_NUMBER
    if bad.any():
        i, j = np.argwhere(bad)[0]
        size = "too large to compute with" if np.isfinite(values[i, j]) else "not a finite number"
        advice = "correct it, or leave the cell empty if the value is unknown."
        problem = f"{values[i, j]:g} is {size}; {advice}"
        raise TableError(problem, row=table.index[i], column=names[j])
    return import_pandas().DataFrame(values, index=table.index, columns=list(names))


def _clean_datetimes(
    table: Any, names: Sequence[str], types: ColumnTypes, report: CellReport
) -> Any:
    frames = []
    for name in names:
        form = types.formats[name]
        parts, malformed = split_datetimes(table[name], form)
        example = f"{date(2024, 3, 31):{form}}"
        advice = f"dates were written as {example} in training; write them so, or as 2024-03-31."
        report.add_malformed(table[name], name, malformed, advice)
        frames.append(parts.add_prefix(f"{name} (").add_suffix(")"))
    return import_pandas().concat(frames, axis=1)


def _clean_categories(
    table: Any, names: Sequence[str], types: ColumnTypes, report: CellReport
) -> Any:
    texts = {name: to_texts(table[name], name) for name in names}
    return import_pandas().DataFrame(texts, index=table.index, dtype=object)


def _clean_texts(table: Any, names: Sequence[str], types: ColumnTypes, report: CellReport) -> Any:
    return _clean_categories(table, names, types, report).fillna("")


class _TypeHandler(NamedTuple):
    """What is done with the columns of a type."""

    description: str
    clean: Callable[[Any, Sequence[str], ColumnTypes, CellReport], Any]
    # Features of cleaned columns; None if these are encoded with the numbers.
    encode: Callable[[TablePreprocessing, Any, CellReport], list[Any]] | None
    # Nodes of an ONNX graph; None if ONNX cannot read such columns.
    export: Callable[[TablePreprocessing, Any], list[str]] | None = None


# In the order of the columns of a cleaned table.
TYPE_HANDLERS: dict[str, _TypeHandler] = {
    ColumnType.NUMERIC: _TypeHandler(
        "a missing value becomes the median, then mean 0 and variance 1",
        _clean_numbers,
        TablePreprocessing._encode_numbers,
        TablePreprocessing._export_numbers,
    ),
    ColumnType.DATETIME: _TypeHandler(
        "year, month, weekday (Monday is 0), days, and the hour if there are times; "
        "then as numeric",
        _clean_datetimes,
        encode=None,
    ),
    ColumnType.CATEGORICAL: _TypeHandler(
        "a missing value becomes the most frequent one, then one 0/1 column per value seen in "
        "training",
        _clean_categories,
        TablePreprocessing._encode_categories,
        TablePreprocessing._export_categories,
    ),
    ColumnType.TEXT: _TypeHandler(
        f"TF-IDF of at most {_MAX_WORDS:,} words, or the embedding that the fit was given",
        _clean_texts,
        TablePreprocessing._encode_texts,
    ),
}


def summarize_columns(cleaned: Any, types: ColumnTypes, report: CellReport) -> dict[str, Any]:
    """Types of the feature columns, how many values are missing, and what users should know."""
    frame = cleaned.frame if isinstance(cleaned, SparseTable) else cleaned
    counts = frame.isna().sum()
    missing = counts[counts > 0].to_dict()
    messages = report.messages()
    for reason, names in columns_by_type(types.left_out).items():
        messages.append(f"Columns left out ({reason}): {format_list(names)}.")
    return {"missing": missing, "columns": types.describe(), "warnings": messages}
