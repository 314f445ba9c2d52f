"""From the columns of a table to the numbers a method works on: impute, encode, scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ldlearn.errors import TableError
from ldlearn.io.values import import_pandas, is_missing, read_numbers, to_texts
from ldlearn.models.column_kinds import MOST_CATEGORIES, WORD, ColumnKinds, JunkCells, check_not_all_junk

_LARGEST = 1e100
_SPARSE_BELOW = 0.3  # share of numbers that are not 0 below which a sparse matrix pays
MOST_WORDS = 2000
STATEMENT = (
    "numbers: a missing value becomes the median, then mean 0 and variance 1",
    "categories: a missing value becomes the most frequent one, then one 0/1 column per value (all 0 for a value "
    "never seen in training)",
    "dates: year, month, weekday (Monday is 0), days since the first, and the hour if there are times; then as numbers",
    "texts: how often each word occurs, weighted by how rare it is (TF-IDF), of at most "
    f"{MOST_WORDS:,} words; or the embedding that the fit was given",
)


def make_preprocessing(kinds: ColumnKinds, *, sparse: bool = False, embedding: Any = None) -> ColumnTransformer:
    """The pipeline that every table model begins with; ``STATEMENT`` says in words what it does.

    Parameters
    ----------
    kinds : ColumnKinds
    sparse : bool
        Whether the result may be sparse, which it is if few of its numbers are not 0.
    embedding : transformer, optional
        Takes texts and gives numbers; by default TF-IDF.
    """
    numbers = Pipeline(
        [("impute", SimpleImputer(strategy="median", keep_empty_features=True)), ("scale", StandardScaler())]
    )
    categories = Pipeline(
        [
            ("impute", SimpleImputer(strategy="most_frequent", keep_empty_features=True)),
            ("encode", OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)),
        ]
    )
    steps: list[tuple[str, Any, Any]] = [
        ("numbers", numbers, numeric_names(kinds)),
        ("texts", categories, list(kinds.categorical)),
    ]
    # one column of texts is one series, as vectorisers want it
    steps += [(f"words of {name}", embedding or _word_weights(), name) for name in kinds.texts]
    return ColumnTransformer(
        [step for step in steps if step[2]],
        sparse_threshold=_SPARSE_BELOW if sparse else 0,
        verbose_feature_names_out=False,
    )


def _word_weights() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=WORD, max_features=MOST_WORDS, sublinear_tf=True)


def numeric_names(kinds: ColumnKinds) -> list[str]:
    """The columns of numbers of a cleaned table: those of the table, then the parts of dates."""
    if not kinds.dates:
        return list(kinds.numeric)
    from ldlearn.io.dates import part_names

    return [*kinds.numeric, *(f"{name} ({part})" for name, form in kinds.dates.items() for part in part_names(form))]


def feature_frame(table: Any, kinds: ColumnKinds, junk: JunkCells) -> Any:
    """The feature columns of a table, cleaned: floats with NaN, categories with NaN, texts; junk is noted."""
    pandas = import_pandas()
    parts = [_numbers(table, kinds, junk)]
    if kinds.dates:
        parts.append(_date_columns(table, kinds, junk))
    texts: dict[str, Any] = {name: to_texts(table[name], name) for name in kinds.categorical}
    texts |= {name: _prose(table[name]) for name in kinds.texts}
    parts.append(pandas.DataFrame(texts, index=table.index, dtype=object))
    return pandas.concat([part for part in parts if part.shape[1]], axis=1)


def _numbers(table: Any, kinds: ColumnKinds, junk: JunkCells) -> Any:
    """All columns of numbers as one block, because work on every column by itself would take most of the time."""
    names = list(kinds.numeric)
    chosen = table[names]
    if all(kind.kind in "iuf" for kind in chosen.dtypes):
        values = chosen.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = np.empty((len(table), len(names)))
        for j, name in enumerate(names):
            values[:, j], bad = read_numbers(chosen[name])
            if bad.any():
                check_not_all_junk(chosen[name], name, bad)
                junk.add(chosen[name], name, bad)
    _check_moderate(values, table.index, names)
    return import_pandas().DataFrame(values, index=table.index, columns=names)


def _date_columns(table: Any, kinds: ColumnKinds, junk: JunkCells) -> Any:
    from ldlearn.io.dates import date_parts

    columns: dict[str, NDArray[np.float64]] = {}
    for name, form in kinds.dates.items():
        found, bad = date_parts(table[name], form)
        check_not_all_junk(table[name], name, bad)
        junk.add(table[name], name, bad)
        columns |= {f"{name} ({part})": values for part, values in found.items()}
    return import_pandas().DataFrame(columns, index=table.index)


def _prose(series: Any) -> list[str]:
    """Texts, empty where there is none."""
    missing = is_missing(series)
    return ["" if gone else str(cell) for cell, gone in zip(series.tolist(), missing, strict=True)]


def _check_moderate(values: NDArray[np.float64], rows: Any, names: list[str]) -> None:
    """Refuse numbers whose squares, summed over the rows, are no numbers any more."""
    large = np.abs(values) > _LARGEST
    if large.any():
        i, j = np.argwhere(large)[0]
        number = values[i, j]
        size = "too large to compute with" if np.isfinite(number) else "not a finite number"
        problem = f"{number:g} is {size}; correct it, or leave the cell empty if the value is unknown."
        raise TableError(problem, row=rows[i], column=names[j])


def check_categories(frame: Any, kinds: ColumnKinds) -> None:
    """Refuse columns of categories with more values than a model can hold apart."""
    for name in kinds.categorical:
        count = frame[name].nunique()
        if count > MOST_CATEGORIES:
            raise TableError(
                f"{count:,} different texts in {len(frame):,} rows are too many for categories; name it as the id or "
                "as text, or leave it out of the features (ignore).",
                column=name,
            )


def fill_empty(frame: Any, kinds: ColumnKinds) -> Any:
    """Give columns of categories without any value one, because the imputer cannot learn from nothing."""
    empty = [name for name in kinds.categorical if frame[name].isna().all()]
    return frame.assign(**dict.fromkeys(empty, "missing")) if empty else frame


def transformed_names(preprocessing: ColumnTransformer) -> list[str]:
    """Names of the numbers that the method sees."""
    names: list[str] = []
    for step, transformer, columns in preprocessing.transformers_:
        width = preprocessing.output_indices_[step]
        if isinstance(columns, str):  # the words of a text
            names += [f"{columns}: {word}" for word in _words(transformer, width.stop - width.start)]
        elif transformer != "drop":
            names += [str(name) for name in transformer.get_feature_names_out(columns)]
    return names


def _words(transformer: Any, count: int) -> Any:
    named = getattr(transformer, "get_feature_names_out", None)
    return range(count) if named is None else named()
