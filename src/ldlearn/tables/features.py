"""From the columns of a table to the features an estimator works on: impute, encode, scale."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone

from ldlearn._messages import format_list
from ldlearn.core.scaling import column_moments, to_dense
from ldlearn.exceptions import TableError
from ldlearn.tables.column_types import (
    WORD,
    CellReport,
    ColumnTypes,
    check_malformed,
    columns_by_type,
    split_dates,
)
from ldlearn.tables.embedding import NamedEmbedding
from ldlearn.tables.source import SparseTable
from ldlearn.tables.values import import_pandas, to_texts

Matrix = NDArray[np.float64]

_MAX_NUMBER = 1e100  # squares of such numbers, summed over any table, are still finite
SPARSE_BELOW = 0.3  # fraction of nonzero features below which a sparse matrix pays
MAX_WORDS = 2000
PREPROCESSING_STEPS = (
    "numeric: a missing value becomes the median, then mean 0 and variance 1",
    "categorical: a missing value becomes the most frequent one, then one 0/1 column per value seen in training",
    "datetime: year, month, weekday (Monday is 0), days, and the hour if there are times; then as numeric",
    f"text: TF-IDF of at most {MAX_WORDS:,} words, or the embedding that the fit was given",
)


@dataclass
class TablePreprocessing:
    """What a table model does to a cleaned table (`clean_features`) before its estimator sees it.

    Our own rather than scikit-learn's ColumnTransformer, which spends seconds on checking ten
    thousand columns one by one, and whose state depends on its version. ``PREPROCESSING_STEPS``
    describes it.

    Attributes
    ----------
    numbers, categorical, texts : tuple of str
        The columns of a cleaned table.
    medians, means, scales : ndarray
        Of the numbers: what missing ones become, and what is then subtracted and divided by.
    modes : list of str
        Of the categorical columns: what missing values become.
    categories : list of list of str
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
        "categorical": "names (n_categorical)",
        "texts": "list of str",
        "medians": "float (n_numbers)",
        "means": "float (n_numbers)",
        "scales": "float (n_numbers)",
        "modes": "names (n_categorical)",
        "categories": "list of list of str",
        "encoders": "dict of TfidfEncoder | dict of NamedEmbedding",
        "feature_means": "float (n_features)",
        "sparse": "bool",
    }

    numbers: tuple[str, ...]
    categorical: tuple[str, ...]
    texts: tuple[str, ...]
    medians: Matrix
    means: Matrix
    scales: Matrix
    modes: list[str]
    categories: list[list[str]]
    encoders: dict[str, Any]
    feature_means: Matrix
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
        of_texts = {*types.categorical, *types.texts}
        modes = [_most_frequent(cleaned[name]) for name in types.categorical]
        names = [name for name in cleaned.columns if name not in of_texts]
        moments = [_moments(values) for values, _ in _number_blocks(cleaned, names)]
        medians, means, scales = np.hstack([np.empty((3, 0)), *moments])
        columns = zip(types.categorical, modes, strict=True)
        categories = [sorted({*cleaned[name].dropna(), mode}) for name, mode in columns]
        encoders = {name: _fit_encoder(cleaned[name], name, embedding) for name in types.texts}
        learned = (medians, means, scales, modes, categories, encoders, np.empty(0))
        preprocessing = cls(tuple(names), types.categorical, types.texts, *learned)
        parts = preprocessing._transform_parts(cleaned)
        size = sum(part.shape[0] * part.shape[1] for part in parts)
        nonzero = sum(part.nnz if scipy.sparse.issparse(part) else part.size for part in parts)
        # A sparse table stays sparse: made dense, it may not fit into memory.
        preprocessing.sparse = isinstance(cleaned, SparseTable) or (
            sparse and nonzero < SPARSE_BELOW * size
        )
        X = preprocessing._join(parts)
        preprocessing.feature_means = np.asarray(X.mean(axis=0), dtype=np.float64)
        return preprocessing, X

    @property
    def embedded(self) -> bool:
        """Whether an embedding that the user names makes the features of some texts."""
        return any(isinstance(encoder, NamedEmbedding) for encoder in self.encoders.values())

    def transform(self, cleaned: Any, report: CellReport | None = None) -> Any:
        """The features of the rows of a cleaned table: an array, or a CSR matrix.

        Categories that training did not have are added to ``report``.
        """
        return self._join(self._transform_parts(cleaned, report))

    def feature_names(self) -> list[str]:
        """Names of the features that the estimator sees."""
        return [name for _, name in self.features_with_columns()]

    def features_with_columns(self) -> list[tuple[str, str]]:
        """For each feature that the estimator sees, its column of the cleaned table, and its
        name."""
        names = [(name, name) for name in self.numbers]
        for name, values in zip(self.categorical, self.categories, strict=True):
            names += [(name, f"{name}_{value}") for value in values]
        for name, encoder in self.encoders.items():
            named = getattr(encoder, "get_feature_names_out", None)
            # What the user brings may not name its features; an empty text shows how many there
            # are.
            words = range(encoder.transform([""]).shape[1]) if named is None else named()
            names += [(name, f"{name}: {word}") for word in words]
        return names

    def _transform_parts(self, cleaned: Any, report: CellReport | None = None) -> list[Any]:
        if isinstance(cleaned, SparseTable) and self.means[: len(cleaned.names)].any():
            cleaned = cleaned.to_frame()  # of a model whose numbers had no such zeros
        parts = [
            self._scale(values, which) for values, which in _number_blocks(cleaned, self.numbers)
        ]
        for name, mode, values in zip(self.categorical, self.modes, self.categories, strict=True):
            known = import_pandas().Index(values, dtype=object)
            codes = np.asarray(known.get_indexer(cleaned[name].where(cleaned[name].notna(), mode)))
            parts.append(_one_hot(codes, len(values)))
            if report is not None:
                report.add(report.unseen, cleaned[name], name, codes < 0)
        return parts + [
            encoder.transform(cleaned[name].tolist()) for name, encoder in self.encoders.items()
        ]

    def _scale(self, values: Any, which: slice) -> Any:
        scales = self.scales[which]
        if scipy.sparse.issparse(values):  # their means are 0
            parts = (values.data / scales[values.indices], values.indices, values.indptr)
            return scipy.sparse.csr_array(parts, shape=values.shape)
        scaled = np.array(
            values, order="C"
        )  # then in place: memory for another copy takes longer than the arithmetic
        np.copyto(scaled, self.medians[which], where=np.isnan(scaled))
        scaled -= self.means[which]
        scaled /= scales
        return scaled

    def _join(self, parts: list[Any]) -> Any:
        if self.sparse:
            return scipy.sparse.hstack(
                [scipy.sparse.csr_array(part) for part in parts], format="csr"
            )
        dense = [to_dense(part) for part in parts]
        return dense[0] if len(dense) == 1 else np.hstack(dense)


def _number_blocks(cleaned: Any, names: Sequence[str]) -> list[tuple[Any, slice]]:
    """The numbers of a cleaned table, as one array or as a sparse one and an array; and which
    columns they are."""
    if not isinstance(cleaned, SparseTable):
        return (
            [(_select_columns(cleaned, list(names)).to_numpy(dtype=np.float64), slice(None))]
            if names
            else []
        )
    k = len(cleaned.names)
    rest = _number_blocks(cleaned.frame, names[k:])
    return [(cleaned.matrix, slice(0, k)), *((values, slice(k, None)) for values, _ in rest)]


def _select_columns(frame: Any, names: list[str]) -> Any:
    """Some columns of a frame, without a copy if they are all of them."""
    return frame if list(frame.columns) == names else frame[names]


def _moments(values: Any) -> Matrix:
    """Medians of the columns, and mean and standard deviation of the columns so filled, a row each.

    Sparse columns keep their zeros: median and mean 0.
    """
    if scipy.sparse.issparse(values):
        # In two passes: in one, a constant column would be divided by its rounding error.
        scales = np.sqrt(column_moments(values)[1] / values.shape[0])
        return np.vstack([np.zeros((2, len(scales))), np.where(scales > 0, scales, 1.0)])
    moments = np.zeros((3, values.shape[1]))
    for j, column in enumerate(
        values.T
    ):  # one at a time, which stays in the cache of the processor
        missing = np.isnan(column)
        moments[0, j] = median = _median(column[~missing])
        filled = np.where(missing, median, column)
        mean, scale = filled.mean(), filled.std()
        # What is left of a constant after rounding is no spread.
        moments[1:, j] = (
            mean,
            scale if scale > np.finfo(np.float64).eps * len(filled) * abs(mean) else 1.0,
        )
    return moments


def _median(values: Matrix) -> float:
    """The median, 0 of no values, which are reordered; `numpy.median` partitions twice and is
    several times slower."""
    if not len(values):
        return 0.0
    half = len(values) // 2
    values.partition(half)
    return float(values[half] if len(values) % 2 else (values[:half].max() + values[half]) / 2)


def _most_frequent(series: Any) -> str:
    """The most frequent text, of several the first in the alphabet; "missing" beside a single
    value."""
    if series.nunique() == 1 and series.isna().any():
        return "missing"
    return str(min(series.mode(), default=""))


def _one_hot(codes: NDArray[np.intp], width: int) -> Any:
    known = np.flatnonzero(codes >= 0)
    ones = (np.ones(len(known)), (known, codes[known]))
    return scipy.sparse.csr_array(ones, shape=(len(codes), width))


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
    idf: Matrix

    @classmethod
    def fit(cls, texts: list[str]) -> Self:
        """Learn the most frequent words of some texts."""
        fitted = _vectorizer(max_features=MAX_WORDS).fit(texts)
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
    try:
        return (
            TfidfEncoder.fit(texts.tolist())
            if embedding is None
            else clone(embedding).fit(texts.tolist())
        )
    except ValueError as error:
        raise TableError(f"its texts give no numbers: {error}", column=column) from None


def clean_features(table: Any, types: ColumnTypes, report: CellReport) -> Any:
    """The feature columns of a table, cleaned: floats with NaN, categories with NaN, texts."""
    pandas = import_pandas()
    if isinstance(table, SparseTable):
        rest = replace(
            types,
            numeric=tuple(name for name in types.numeric if name not in table.column_positions),
        )
        sparse = table.take_columns(
            [name for name in types.numeric if name in table.column_positions]
        )
        _check_sparse(sparse)
        return replace(sparse, frame=clean_features(table.frame, rest, report))
    parts = [_clean_numbers(table, types, report)]
    if types.dates:
        parts.append(_clean_dates(table, types, report))
    texts = {name: to_texts(table[name], name) for name in (*types.categorical, *types.texts)}
    parts.append(
        pandas.DataFrame(texts, index=table.index, dtype=object).fillna(
            dict.fromkeys(types.texts, "")
        )
    )
    filled = [part for part in parts if part.shape[1]]
    return pandas.concat(filled, axis=1) if len(filled) > 1 else (filled or parts)[0]


def _check_sparse(table: SparseTable) -> None:
    """Refuse values of a sparse matrix that are not finite or too large: a missing cell is a 0
    there."""
    # Not the reverse, which NaN would pass.
    bad = ~(np.abs(table.matrix.data) <= _MAX_NUMBER)
    if bad.any():
        k = int(np.argmax(bad))
        row = int(np.searchsorted(table.matrix.indptr, k, side="right")) - 1
        problem = f"{table.matrix.data[k]:g} is no number that can be computed with; a sparse matrix has none missing."
        raise TableError(problem, row=table.index[row], column=table.names[table.matrix.indices[k]])


def _clean_numbers(table: Any, types: ColumnTypes, report: CellReport) -> Any:
    """All numeric columns as one block, because work on every column by itself would take most of
    the time."""
    names = list(types.numeric)
    chosen = _select_columns(table, names)
    # Of columns that had percent signs in training it has to be checked that they still have.
    if (
        all(dtype.kind in "iuf" for dtype in set(chosen.dtypes))
        and "%" not in (types.units or {}).values()
    ):
        values = chosen.astype(
            np.float64
        ).to_numpy()  # without a copy; to_numpy(na_value=...) makes one
    else:
        units = (
            dict.fromkeys(names)
            if types.units is None
            else dict.fromkeys(names, "") | dict(types.units)
        )
        values = np.column_stack(
            [report.read_numbers(chosen[name], name, units[name]) for name in names]
        )
    largest = max(
        np.fmax.reduce(values, axis=None, initial=0.0),
        -np.fmin.reduce(values, axis=None, initial=0.0),
    )
    if largest > _MAX_NUMBER:
        i, j = np.argwhere(np.abs(values) > _MAX_NUMBER)[0]
        size = "too large to compute with" if np.isfinite(values[i, j]) else "not a finite number"
        problem = f"{values[i, j]:g} is {size}; correct it, or leave the cell empty if the value is unknown."
        raise TableError(problem, row=table.index[i], column=names[j])
    return import_pandas().DataFrame(values, index=table.index, columns=names)


def _clean_dates(table: Any, types: ColumnTypes, report: CellReport) -> Any:
    columns: dict[str, Matrix] = {}
    for name, form in types.dates.items():
        numbers, malformed = split_dates(table[name], form)
        advice = f"dates were written as {date(2024, 3, 31):{form}} in training; write them so, or as 2024-03-31."
        check_malformed(table[name], name, malformed, advice)
        report.add(report.malformed, table[name], name, malformed)
        columns |= {f"{name} ({part})": values for part, values in numbers.items()}
    return import_pandas().DataFrame(columns, index=table.index)


def summarize_columns(cleaned: Any, types: ColumnTypes, report: CellReport) -> dict[str, Any]:
    """The types of the feature columns, how many values are missing, and what the user should
    know."""
    frame = cleaned.frame if isinstance(cleaned, SparseTable) else cleaned
    missing = {str(name): int(count) for name, count in frame.isna().sum().items() if count}
    groups = columns_by_type(types.left_out)
    left_out = [f"Columns left out ({why}): {format_list(names)}." for why, names in groups.items()]
    return {
        "missing": missing,
        "columns": types.describe(),
        "warnings": [*report.messages(), *left_out],
    }
