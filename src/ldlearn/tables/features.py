"""From the columns of a table to the numbers a method works on: impute, encode, scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import gen_batches

from ldlearn.core.scaling import column_moments
from ldlearn.exceptions import TableError, format_list
from ldlearn.tables.column_kinds import (
    COUNTER,
    EMPTY,
    FLAT,
    LONG_CODE,
    WORD,
    ColumnKinds,
    JunkCells,
    NamedCells,
    check_not_all_junk,
    columns_by_kind,
    has_ticks,
)
from ldlearn.tables.dates import date_parts, example
from ldlearn.tables.embedding import NamedEmbedding
from ldlearn.tables.sparse_table import SparseTable
from ldlearn.tables.values import import_pandas, is_missing, to_texts

Matrix = NDArray[np.float64]

_LARGEST = 1e100  # squares of such numbers, summed over any table, are still finite
_FAR = 20.0  # spreads from the mean
_STAND_INS = [sign * (10.0**k - 1) for k in range(2, 7) for sign in (-1, 1)]  # 99, 999, ... for "unknown"
_FAR_FROM_OTHERS = 2.0  # times the range of these
SPARSE_BELOW = 0.3  # share of numbers that are not 0 below which a sparse matrix pays
_ROUNDING = np.finfo(np.float64).eps
_ROWS_AT_ONCE = 64  # stay in cache while their order changes
_VALUES_AT_ONCE = 2**18
MOST_WORDS = 2000
STATEMENT = (
    "numbers: a missing value becomes the median, then mean 0 and variance 1",
    "categories: a missing value becomes the most frequent one (in a column with a single value, another one), then "
    "one 0/1 column per value (all 0 for a value never seen in training)",
    "dates: year, month, weekday (Monday is 0), days since the first, and the hour if there are times; then as numbers",
    "texts: how often each word occurs, weighted by how rare it is (TF-IDF), of at most "
    f"{MOST_WORDS:,} words; or the embedding that the fit was given",
)


@dataclass
class TablePreprocessing:
    """What a table model does to a cleaned table (`feature_frame`) before its estimator sees it.

    Our own rather than scikit-learn's ColumnTransformer, which spends seconds on checking ten thousand columns one by
    one, and whose state depends on its version. ``STATEMENT`` says in words what it does.

    Attributes
    ----------
    numbers, categorical, texts : tuple of str
        The columns of a cleaned table.
    medians, means, scales : ndarray
        Of the numbers: what missing ones become, and what is then subtracted and divided by.
    modes : list of str
        Of the categories: what missing ones become.
    categories : list of list of str
        The values of each column of categories, sorted.
    encoders : dict of str to transformer
        What makes numbers of each column of texts.
    sparse : bool
        Whether the result is a CSR matrix.
    """

    numbers: tuple[str, ...]
    categorical: tuple[str, ...]
    texts: tuple[str, ...]
    medians: Matrix
    means: Matrix
    scales: Matrix
    modes: list[str]
    categories: list[list[str]]
    encoders: dict[str, Any]
    sparse: bool = False

    @classmethod
    def fit(cls, cleaned: Any, kinds: ColumnKinds, *, sparse: bool = False, embedding: Any = None) -> tuple[Self, Any]:
        """Learn from a cleaned table; also gives the numbers of its rows.

        Parameters
        ----------
        cleaned : DataFrame
        kinds : ColumnKinds
        sparse : bool
            Whether the result may be sparse, which it then is if few of its numbers are not 0.
        embedding : transformer, optional
            Takes texts and gives numbers; by default TF-IDF.
        """
        of_texts = {*kinds.categorical, *kinds.texts}
        names = [name for name in cleaned.columns if name not in of_texts]
        modes = [_most_frequent(cleaned[name]) for name in kinds.categorical]
        filled = zip(kinds.categorical, modes, strict=True)
        medians, means, scales = _moments(cleaned, names)
        made = cls(
            tuple(names),
            kinds.categorical,
            kinds.texts,
            medians,
            means,
            scales,
            modes,
            # The mode of ticks is a value that no cell has.
            [sorted({*cleaned[name].dropna().tolist(), mode}) for name, mode in filled],
            {name: _fit_encoder(cleaned[name], name, embedding) for name in kinds.texts},
        )
        parts = made._parts(cleaned)
        size = sum(part.shape[0] * part.shape[1] for part in parts)
        full = sum(part.nnz if scipy.sparse.issparse(part) else part.size for part in parts)
        # A table that came sparse was found to pay; made dense, it may not fit into memory.
        made.sparse = isinstance(cleaned, SparseTable) or (sparse and full < SPARSE_BELOW * size)
        return made, made._joined(parts)

    @property
    def embedded(self) -> bool:
        """Whether an embedding that the user names makes the numbers of some texts."""
        return any(isinstance(transformer, NamedEmbedding) for transformer in self.encoders.values())

    def transform(self, cleaned: Any, junk: JunkCells | None = None, n_training_rows: int = 0) -> Any:
        """The numbers of the rows of a cleaned table: an array, or a CSR matrix.

        ``junk`` is told categories and numbers that training did not have.
        """
        return self._joined(self._parts(cleaned, junk, max(_FAR, n_training_rows**0.5)))

    def feature_names(self) -> list[str]:
        """Names of the numbers that the estimator sees."""
        names = list(self.numbers)
        for name, values in zip(self.categorical, self.categories, strict=True):
            names += [f"{name}_{value}" for value in values]
        for name, transformer in self.encoders.items():
            named = getattr(transformer, "get_feature_names_out", None)
            # What the user brings may not name its numbers; a text without content shows how many there are.
            words = range(transformer.transform([""]).shape[1]) if named is None else named()
            names += [f"{name}: {word}" for word in words]
        return names

    def _parts(self, cleaned: Any, junk: JunkCells | None = None, reach: float = _FAR) -> list[Any]:
        if isinstance(cleaned, SparseTable) and self.means[: len(cleaned.names)].any():
            cleaned = cleaned.to_frame()  # of a model whose numbers had no such zeros
        parts = []
        for values, which in _number_columns(cleaned, self.numbers):
            parts.append(self._scaled(values, which))
            if junk is not None and not scipy.sparse.issparse(values):
                self._note_far(cleaned, parts[-1], which, junk.noted["far"], reach)
        for name, mode, values in zip(self.categorical, self.modes, self.categories, strict=True):
            codes = _codes(cleaned[name], mode, values)
            parts.append(_one_hot(codes, len(values)))
            if junk is not None:
                junk.noted["unseen"].add(cleaned[name], name, codes < 0)
        return parts + [transformer.transform(cleaned[name].tolist()) for name, transformer in self.encoders.items()]

    def _note_far(self, cleaned: Any, scaled: Matrix, which: slice, far: NamedCells, reach: float) -> None:
        """Note numbers farther from the mean than ``reach`` spreads: none of n rows is farther than sqrt(n)."""
        # Without a table of absolute values.
        farthest = np.maximum(scaled.max(axis=0, initial=0.0), -scaled.min(axis=0, initial=0.0))
        for j in np.flatnonzero(farthest > reach).tolist():
            name = self.numbers[which][j]
            far.add(cleaned[name], name, np.abs(scaled[:, j]) > reach)

    def _scaled(self, values: Any, which: slice) -> Any:
        """Row after row, as solvers read them; frames have column after column. Sparse ones have mean 0."""
        if scipy.sparse.issparse(values):
            return scipy.sparse.csr_array(
                (values.data / self.scales[values.indices], values.indices, values.indptr), shape=values.shape
            )
        scaled = np.empty(values.shape)
        for rows in gen_batches(max(1, len(values)), _ROWS_AT_ONCE):
            filled = np.where(np.isnan(values[rows]), self.medians[which], values[rows])
            filled -= self.means[which]
            np.divide(filled, self.scales[which], out=scaled[rows])
        return scaled

    def _joined(self, parts: list[Any]) -> Any:
        if self.sparse:
            return scipy.sparse.hstack([scipy.sparse.csr_array(part) for part in parts], format="csr")
        dense = [part.toarray() if scipy.sparse.issparse(part) else np.asarray(part) for part in parts]
        return dense[0] if len(dense) == 1 else np.hstack(dense)


def _number_columns(cleaned: Any, names: Sequence[str]) -> list[tuple[Any, slice]]:
    """The columns of numbers of a cleaned table, as one array or as a sparse one and an array; and which they are."""
    if not isinstance(cleaned, SparseTable):
        return [(cleaned[list(names)].to_numpy(dtype=np.float64), slice(None))] if names else []
    k = len(cleaned.names)
    rest = _number_columns(cleaned.frame, names[k:])
    return [(cleaned.matrix, slice(0, k)), *((values, slice(k, None)) for values, _ in rest)]


def _moments(cleaned: Any, names: list[str]) -> Matrix:
    """Medians, means and spreads of the columns of numbers, a row each; sparse ones keep their zeros: mean 0."""
    found = [
        _sparse_moments(values) if scipy.sparse.issparse(values) else _dense_moments(values)
        for values, _ in _number_columns(cleaned, names)
    ]
    return np.hstack([np.empty((3, 0)), *found])


def _sparse_moments(values: Any) -> Matrix:
    n, m = values.shape
    # In two passes: in one, a constant column would be divided by its rounding error.
    scales = np.sqrt(column_moments(values)[1] / n)
    return np.vstack([np.zeros((2, m)), np.where(scales > 0, scales, 1.0)])


def _dense_moments(values: Matrix) -> Matrix:
    """Of each column its median over what is known, 0 where nothing is; and mean and spread of the column so filled."""
    # A few columns at a time: new memory for copies of a large table costs more than what is done to them.
    batches = gen_batches(values.shape[1], max(1, _VALUES_AT_ONCE // max(1, len(values))))
    return np.hstack([_moments_of_columns(values.T[batch]) for batch in batches])


def _moments_of_columns(columns: Matrix) -> Matrix:
    columns = np.ascontiguousarray(columns)  # several times faster than along the first axis
    medians = np.median(columns, axis=1) if columns.shape[1] else np.zeros(len(columns))
    # The median of a column with gaps is NaN, so that they are found without a pass of their own.
    incomplete = np.flatnonzero(np.isnan(medians))
    columns = columns.copy() if len(incomplete) else columns
    for j in incomplete:
        missing = np.isnan(columns[j])
        medians[j] = 0.0 if missing.all() else np.median(columns[j][~missing])
        columns[j][missing] = medians[j]
    means, scales = columns.mean(axis=1), columns.std(axis=1)
    # what is left of a constant after rounding is no spread
    scales[scales <= _ROUNDING * columns.shape[1] * np.abs(means)] = 1.0
    return np.array([medians, means, scales])


def _most_frequent(series: Any) -> str:
    """The most frequent text, of several the first in the alphabet; a column of ticks gets a value of its own."""
    counts = series.dropna().value_counts()
    if not len(counts) or has_ticks(series):
        return "missing" if "missing" not in counts else "missing value"
    return str(min(counts.index[counts == counts.max()]))


def _codes(series: Any, mode: str, values: list[str]) -> NDArray[np.intp]:
    """Positions among the values, -1 where a text is none of them."""
    bare = [value.strip() for value in values]  # an older model may have kept spaces
    known = import_pandas().Index(bare if len(set(bare)) == len(bare) else values, dtype=object)
    return np.asarray(known.get_indexer(series.where(series.notna(), mode.strip())))


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

    vocabulary: list[str]
    idf: Matrix

    @classmethod
    def fit(cls, texts: list[str]) -> Self:
        """Learn the most frequent words of some texts."""
        fitted = _vectorizer(max_features=MOST_WORDS).fit(texts)
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
        return TfidfEncoder.fit(texts.tolist()) if embedding is None else clone(embedding).fit(texts.tolist())
    except ValueError as error:
        raise TableError(f"its texts give no numbers: {error}", column=column) from None


def feature_frame(table: Any, kinds: ColumnKinds, junk: JunkCells) -> Any:
    """The feature columns of a table, cleaned: floats with NaN, categories with NaN, texts; junk is noted."""
    pandas = import_pandas()
    if isinstance(table, SparseTable):
        rest = replace(kinds, numeric=tuple(name for name in kinds.numeric if name not in table.place))
        sparse = table.take_columns([name for name in kinds.numeric if name in table.place])
        _check_known(sparse)
        return replace(sparse, frame=feature_frame(table.frame, rest, junk))
    parts = [_numbers(table, kinds, junk)]
    if kinds.dates:
        parts.append(_date_columns(table, kinds, junk))
    texts: dict[str, Any] = {name: to_texts(table[name], name) for name in kinds.categorical}
    texts |= {name: _prose(table[name]) for name in kinds.texts}
    parts.append(pandas.DataFrame(texts, index=table.index, dtype=object))
    filled = [part for part in parts if part.shape[1]]
    return pandas.concat(filled, axis=1) if filled else parts[0]


def _check_known(table: SparseTable) -> None:
    """Refuse numbers of a sparse matrix that are none: a cell without a number is a 0 there."""
    # Not the reverse, which NaN would pass.
    bad = ~(np.abs(table.matrix.data) <= _LARGEST)
    if bad.any():
        k = int(np.argmax(bad))
        row = int(np.searchsorted(table.matrix.indptr, k, side="right")) - 1
        problem = f"{table.matrix.data[k]:g} is no number that can be computed with; a sparse matrix has none missing."
        raise TableError(problem, row=table.index[row], column=table.names[table.matrix.indices[k]])


def _numbers(table: Any, kinds: ColumnKinds, junk: JunkCells) -> Any:
    """All columns of numbers as one block, because work on every column by itself would take most of the time."""
    names = list(kinds.numeric)
    chosen = table[names]
    if all(kind.kind in "iuf" for kind in chosen.dtypes):
        values = chosen.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = np.empty((len(table), len(names)))
        for j, name in enumerate(names):
            values[:, j] = junk.read_numbers(chosen[name], name)
    _check_moderate(values, table.index, names)
    return import_pandas().DataFrame(values, index=table.index, columns=names)


def _date_columns(table: Any, kinds: ColumnKinds, junk: JunkCells) -> Any:
    columns: dict[str, Matrix] = {}
    for name, form in kinds.dates.items():
        found = date_parts(table[name], form)
        also = ", or as 2024-03-31" if example(form) != "2024-03-31" else ""
        advice = f"dates were written as {example(form)} in training; write them so{also}."
        check_not_all_junk(table[name], name, found.junk, advice)
        junk.add(table[name], name, found.junk)
        junk.noted["other_dates"].add(table[name], name, found.other)
        columns |= {f"{name} ({part})": values for part, values in found.numbers.items()}
    return import_pandas().DataFrame(columns, index=table.index)


def _prose(series: Any) -> list[str]:
    """Texts, empty where there is none."""
    missing = is_missing(series)
    return ["" if gone else str(cell) for cell, gone in zip(series.tolist(), missing, strict=True)]


def _check_moderate(values: Matrix, rows: Any, names: list[str]) -> None:
    """Refuse numbers whose squares, summed over the rows, are no numbers any more."""
    large = np.abs(values) > _LARGEST
    if large.any():
        i, j = np.argwhere(large)[0]
        number = values[i, j]
        size = "too large to compute with" if np.isfinite(number) else "not a finite number"
        problem = f"{number:g} is {size}; correct it, or leave the cell empty if the value is unknown."
        raise TableError(problem, row=rows[i], column=names[j])


def column_summary(cleaned: Any, kinds: ColumnKinds, junk: JunkCells) -> dict[str, Any]:
    """What is known of the feature columns: what they were taken for, what is missing, what the user should know."""
    frame = cleaned.frame if isinstance(cleaned, SparseTable) else cleaned
    missing = {str(name): int(count) for name, count in frame.isna().sum().items() if count}
    left_out = columns_by_kind(kinds.left_out)
    groups = {
        "Columns without any value, left out": left_out.get(EMPTY),
        "Columns with the same value in every row, left out": left_out.get(FLAT),
        "Columns of whole numbers that name the rows, left out (name one as id, or as numeric if it counts)": [
            *left_out.get(COUNTER, []),
            *left_out.get(LONG_CODE, []),
        ],
        "Columns of which more than half is missing": [n for n, count in missing.items() if 2 * count > len(cleaned)],
    }
    present = set(frame.columns)  # the numbers of a sparse matrix have no stand-ins: what is unknown is 0 there
    numbers = [name for name in kinds.numeric if name in present]
    doubtful = _stand_ins(frame[numbers].to_numpy(dtype=np.float64), numbers) if numbers else []
    notes = [
        *junk.sentences(),
        *doubtful,
        *(f"{text}: {format_list(names)}." for text, names in groups.items() if names),
    ]
    return {"missing": missing, "columns": kinds.in_words(), "warnings": notes}


def _stand_ins(values: NDArray[np.float64], names: Sequence[str]) -> list[str]:
    """Sentences on numbers such as -999 that come again, far from all others of their column."""
    said = []
    # What lies far from all others is the smallest or the largest.
    for end in (np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)):
        for j in np.flatnonzero(np.isin(end, _STAND_INS)).tolist():
            column, value = values[:, j], end[j]
            rest = column[(column != value) & ~np.isnan(column)]
            count = int((column == value).sum())
            # Once it may be an outlier, and in most rows a value like any other.
            if 1 < count < len(rest) and np.abs(rest - value).min() > _FAR_FROM_OTHERS * np.ptp(rest):
                cells = f"Column {names[j]!r}: {count:,} cells are {value:g}"
                said.append(f"{cells}, far from all others; leave them empty if that means unknown.")
    return said
