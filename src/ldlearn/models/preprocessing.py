"""From the columns of a table to the numbers a method works on: impute, encode, scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ldlearn.errors import TableError
from ldlearn.io.values import import_pandas, to_numbers, to_texts

MOST_CATEGORIES = 1000
_LARGEST = 1e100
STATEMENT = (
    "numbers: a missing value becomes the median, then mean 0 and variance 1",
    "texts: a missing value becomes the most frequent one, then one 0/1 column per value (all 0 for a value "
    "never seen in training)",
)


def make_preprocessing(numeric: Sequence[str], categorical: Sequence[str]) -> ColumnTransformer:
    """The pipeline that every table model begins with; ``STATEMENT`` says in words what it does."""
    numbers = Pipeline(
        [("impute", SimpleImputer(strategy="median", keep_empty_features=True)), ("scale", StandardScaler())]
    )
    texts = Pipeline(
        [
            ("impute", SimpleImputer(strategy="most_frequent", keep_empty_features=True)),
            ("encode", OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
        ]
    )
    steps = [("numbers", numbers, list(numeric)), ("texts", texts, list(categorical))]
    return ColumnTransformer([step for step in steps if step[2]], verbose_feature_names_out=False)


def feature_frame(frame: Any, numeric: Sequence[str], categorical: Sequence[str]) -> Any:
    """The feature columns of a table, cleaned: floats with NaN, texts with NaN."""
    cleaned: dict[str, Any] = {name: _moderate_numbers(frame[name], name) for name in numeric}
    cleaned |= {name: to_texts(frame[name], name) for name in categorical}
    return import_pandas().DataFrame(cleaned, index=frame.index, columns=[*numeric, *categorical])


def _moderate_numbers(series: Any, column: str) -> Any:
    """A column as numbers whose squares, summed over the rows, are still numbers."""
    numbers = to_numbers(series, column)
    large = np.abs(numbers) > _LARGEST
    if large.any():
        first = int(np.argmax(large))
        problem = f"{numbers[first]:g} is too large to compute with; correct it, or leave the cell empty."
        raise TableError(problem, row=series.index[first], column=column)
    return numbers


def check_categories(frame: Any, categorical: Sequence[str]) -> None:
    """Refuse text columns with so many values that they can only be identifiers or prose."""
    for name in categorical:
        count = frame[name].nunique()
        if count > MOST_CATEGORIES:
            raise TableError(
                f"{count:,} different texts in {len(frame):,} rows are an identifier or prose, not categories; name it "
                "as the id, or leave it out of the features.",
                column=name,
            )


def fill_empty(frame: Any, categorical: Sequence[str]) -> Any:
    """Give text columns without any value one, because the imputer cannot learn from nothing."""
    empty = [name for name in categorical if frame[name].isna().all()]
    return frame.assign(**dict.fromkeys(empty, "missing")) if empty else frame


def transformed_names(preprocessing: ColumnTransformer) -> list[str]:
    """Names of the numbers that the method sees."""
    return [str(name) for name in np.asarray(preprocessing.get_feature_names_out())]
