"""Types of the columns of a table: numeric, categorical, datetime, text; or nothing that a model
can use."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn._messages import format_list
from ldlearn.exceptions import TableError
from ldlearn.tables.source import SparseTable
from ldlearn.tables.values import (
    cell_error,
    has_leading_zero,
    import_pandas,
    is_missing,
    read_numbers,
    repr_cell,
)

MAX_CATEGORIES = 1000
EMPTY, CONSTANT = "no value in any row", "the same value in every row"
ROW_COUNTER = "a row counter, which identifies rows"
IDENTIFIER = "an identifier by its name, with distinct integers; --numeric uses it"
_LEFT_OUT = (EMPTY, CONSTANT, ROW_COUNTER, IDENTIFIER)
_MAX_MALFORMED = 0.1  # of the cells of a numeric column
_MIN_CELLS = 5  # fewer cells do not show how often values are repeated
_MIN_DISTINCT = 0.8  # of the cells of an identifier
# movie_id, movieId, Movie ID; not paid or price_index.
_IDENTIFIER_NAME = re.compile(
    r"(?i:(?:.*[\W_])?(?:id|uid|uuid|guid|identifier)|index|unnamed: 0)|.*[a-z0-9]I[dD]"
)
# A word, or one character of a script that writes without spaces.
WORD = r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+"
_LETTERS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\b[^\W\d_\u3040-\u30ff\u3400-\u9fff]{2,}\b")
_ISO = "%Y-%m-%d"
_ISO_TIME = _ISO + " %H:%M"
_DATES = (
    "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
_FORMATS = (_ISO, _ISO + " %I:%M %p", *(date + time for date in _DATES for time in _TIMES))
_DAY_AND_MONTH_SWAPPED = str.maketrans("dm", "md")
_LIKE_A_DATE = re.compile(r"\s*(\d{1,4}[-/. ]\w|[^\W\d]{3,9} \d)")

Mask = NDArray[np.bool_]


@dataclass
class CellReport:
    """Cells that the user should know of, by column: how many there are, and which are the first.

    Attributes
    ----------
    decimal : str or None
        The decimal mark of the table, if the user gives it.
    units : dict of str to str
        The units, currencies or percent signs that were found in numeric columns, empty where there
        was none.
    columns : dict of str to str
        Messages about columns: only some of the numbers have the unit or a percent sign, or it may
        be an identifier.
    malformed, unseen : dict of str to list of str
        Cells that are treated as missing, and categories that training did not have.
    """

    decimal: str | None = None
    units: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    malformed: dict[str, list[str]] = field(default_factory=dict)
    unseen: dict[str, list[str]] = field(default_factory=dict)

    def add(self, found: dict[str, list[str]], series: Any, column: str, cells: Mask) -> None:
        """Add the marked cells of a column to ``malformed`` or ``unseen``."""
        positions = np.flatnonzero(cells)
        if len(positions):
            named = (f"row {series.index[i]} {repr_cell(series.iloc[i])}" for i in positions[:3])
            found.setdefault(column, []).extend([*named, *[""] * (len(positions) - 3)])

    def read_numbers(
        self, series: Any, column: str, unit: str | None = None
    ) -> NDArray[np.float64]:
        """A column as numbers; malformed cells are NaN. ``unit`` is the one that numbers had in
        training."""
        found = read_numbers(series, self.decimal, unit)
        n_numbers = int(np.isfinite(found.values).sum())
        meanings = {}
        if unit is None:
            self.units[column] = found.unit
            meanings[found.unit] = "which is assumed for the others too"
        elif n_numbers:
            _check_percent_signs(column, found.signs["%"] / n_numbers, unit == "%")
        meanings["%"] = "the others count as they are"
        for sign in (sign for sign in meanings if 0 < found.signs[sign] < n_numbers):
            text = f"{found.signs[sign]:,} of {n_numbers:,} numbers have the unit {sign}, {meanings[sign]}"
            self.columns[column] = f"Column {column!r}: {text}."
        if found.malformed.any():
            known = (
                ""
                if unit is None
                else f", with {f'the unit {unit}' if unit else 'no unit'} as in training"
            )
            check_malformed(
                series, column, found.malformed, f"are the columns named correctly{known}?"
            )
            self.add(self.malformed, series, column, found.malformed)
        return found.values

    def messages(self) -> list[str]:
        """One sentence for each column."""
        treated = {"as missing": self.malformed, "as a category not seen in training": self.unseen}
        cells = [
            _describe_cells(*item, how) for how, found in treated.items() for item in found.items()
        ]
        return [*self.columns.values(), *cells]


def _check_percent_signs(column: str, share: float, in_training: bool) -> None:
    """Refuse a column that has lost its percent signs since training, or got some: 45 may mean 45
    or 0.45."""
    if share == 0 and in_training:
        problem = "its numbers have no percent sign, but had one in training; add it"
    elif share == 1 and not in_training:
        problem = "its numbers have percent signs, but had none in training; write them without"
    else:
        return
    raise TableError(f"{problem} (5% is 0.05).", column=column)


def _describe_cells(column: str, cells: list[str], how: str) -> str:
    named = [cell for cell in cells if cell][:3]
    more = f" and {len(cells) - len(named):,} more" if len(cells) > len(named) else ""
    count = "1 cell counts" if len(cells) == 1 else f"{len(cells):,} cells count"
    return f"Column {column!r}: {count} {how}: {', '.join(named)}{more}."


@dataclass(frozen=True)
class ColumnTypes:
    """The feature columns by type.

    Attributes
    ----------
    numeric, categorical, texts : tuple of str
        Columns of numbers; of texts that are repeated; of prose.
    dates : dict of str to str
        Datetime columns, and the format of each; see `find_date_format`.
    units : dict of str to str or None
        Numeric columns with a unit, a currency or percent signs, and which; None if that is yet to
        be found.
    left_out : dict of str to str
        Columns that no model can use, and why.
    """

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    dates: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] | None = None

    def describe(self) -> dict[str, str]:
        """The type of each column, for messages."""
        found = dict.fromkeys(self.numeric, "numeric") | dict.fromkeys(
            self.categorical, "categorical"
        )
        found |= {name: f"datetime ({form})" for name, form in self.dates.items()} | dict.fromkeys(
            self.texts, "text"
        )
        return found | {name: f"left out: {reason}" for name, reason in self.left_out.items()}


def find_column_types(
    table: Any,
    features: Sequence[str],
    *,
    decimal: str | None = None,
    **given: Sequence[str] | Mapping[str, str],
) -> ColumnTypes:
    """Infer the types of columns, except those ``given`` as numeric, categorical, date (with
    formats) or text.

    Raises
    ------
    TableError
        If a column looks like an identifier, which carries no information about other rows.
    """
    if isinstance(table, SparseTable):
        rest = [name for name in features if name not in table.column_positions]
        others = find_column_types(table.frame, rest, decimal=decimal, **given)
        return _add_sparse_columns(
            others,
            table.take_columns([name for name in features if name in table.column_positions]),
        )
    types = {name: type_ for type_, names in given.items() for name in names}
    numbers = {
        name for name, dtype in zip(table.columns, table.dtypes, strict=True) if dtype.kind in "iuf"
    }
    inferred = [name for name in features if name not in types]
    types |= _infer_number_types(table, [name for name in inferred if name in numbers])
    types |= {
        name: _infer_type(table[name], name, decimal) for name in inferred if name not in numbers
    }
    numeric, categorical, date, text = (
        tuple(name for name in features if types[name] == type_)
        for type_ in ("numeric", "categorical", "datetime", "text")
    )
    dates, formats = {}, given.get("datetime")
    for name in date:
        form = (formats.get(name) if isinstance(formats, Mapping) else None) or find_date_format(
            table[name], name
        )
        if form is None:
            raise TableError("nothing in it reads as dates; write them as 2024-03-31.", column=name)
        dates[name] = form
    left_out = {name: types[name] for name in features if types[name] in _LEFT_OUT}
    return ColumnTypes(numeric, categorical, dates, text, left_out)


def _add_sparse_columns(others: ColumnTypes, table: SparseTable) -> ColumnTypes:
    """The types of the other columns, and before them the numbers of a sparse matrix; columns of
    zeros are constant."""
    # Zeros may be stored, too.
    filled = np.bincount(table.matrix.indices[table.matrix.data != 0], minlength=len(table.names))
    used = tuple(name for name, count in zip(table.names, filled, strict=True) if count)
    constant = {
        name: CONSTANT for name, count in zip(table.names, filled, strict=True) if not count
    }
    return replace(
        others, numeric=(*used, *others.numeric), left_out=constant | dict(others.left_out)
    )


def _infer_number_types(table: Any, names: list[str]) -> dict[str, str]:
    """The types of columns of numbers, or why they are left out."""
    # As one block: a call for each of thousands of columns would take most of the time.
    values = table[names].to_numpy(dtype=np.float64, na_value=np.nan)
    lowest, highest = (
        np.fmin.reduce(values, axis=0),
        np.fmax.reduce(values, axis=0),
    )  # of what is known
    types = dict.fromkeys(names, "numeric")
    types |= {names[j]: EMPTY for j in np.flatnonzero(np.isnan(lowest))}
    # A single row does not show that a column is constant.
    for j in np.flatnonzero((lowest == highest) & (len(values) > 1)):
        types[names[j]] = _type_of_constant(np.isnan(values[:, j]))
    for j in np.flatnonzero(np.isin(lowest, (0, 1)) & (highest < len(values) + 1)):
        if _is_row_counter(values[:, j]):
            types[names[j]] = ROW_COUNTER
    columns = zip(names, values.T, strict=True)
    named = ((name, column) for name, column in columns if _IDENTIFIER_NAME.fullmatch(str(name)))
    for name, column in named:
        if types[name] == "numeric" and _share_of_distinct_integers(column) >= _MIN_DISTINCT:
            types[name] = IDENTIFIER
    return types


def _type_of_constant(missing: Mask) -> str:
    """A column with one value: a missing one is a second, as in a column of check boxes."""
    return "categorical" if missing.any() else CONSTANT


def _is_row_counter(values: NDArray[np.float64], min_rows: int = 20) -> bool:
    """Whether numbers count the rows from 0 or 1, in any order; of a few rows 1, 2, 3 may be
    anything."""
    values = values[~np.isnan(values)]
    if len(values) < min_rows:
        return False
    return bool(np.array_equal(np.sort(values), np.arange(len(values)) + values.min()))


def _share_of_distinct_integers(values: NDArray[np.float64]) -> float:
    """Fraction of distinct values; NaN if some are no integers, or if there are few."""
    values = values[~np.isnan(values)]
    if len(values) < _MIN_CELLS or (values % 1 != 0).any():
        return np.nan
    return len(np.unique(values)) / len(values)


def describe_doubtful_numbers(table: Any, names: Sequence[str]) -> dict[str, str]:
    """Messages about numeric columns that may be identifiers by their names, but not clearly."""
    found = {}
    for name in (name for name in names if str(name).lower().endswith("id")):
        if table[name].dtype.kind in "iuf":
            share = _share_of_distinct_integers(table[name].to_numpy(np.float64, na_value=np.nan))
            if share >= _MIN_DISTINCT or (share > 0 and _IDENTIFIER_NAME.fullmatch(str(name))):
                advice = (
                    "leave it out (--ignore), or use --categorical, if they identify rows or groups"
                )
                found[name] = f"Column {name!r}: its integers are used as numbers; {advice}."
    return found


def _infer_type(series: Any, column: str, decimal: str | None) -> str:
    """The type of a column that is not plain numbers, or why it is left out."""
    missing = is_missing(series)
    present = series[~missing]
    try:
        count = present.nunique()
    except TypeError:
        problem = "a list is no feature; leave the column out (ignore)."
        raise TableError(problem, row=present.index[0], column=column) from None
    if not count:
        return EMPTY
    if count == 1 and len(series) > 1:
        return _type_of_constant(missing)
    if series.dtype.kind == "M":
        return "datetime"
    if not _has_leading_zeros(present) and _is_nearly_numeric(present, decimal):
        return "numeric"
    if find_date_format(series, column) is not None:
        return "datetime"
    if len(present) < _MIN_CELLS or count < min(_MIN_DISTINCT * len(present), MAX_CATEGORIES + 1):
        return "categorical"
    if _words_per_cell(present) >= 3:
        return "text"
    malformed = read_numbers(present, decimal).malformed
    if 0 < malformed.mean() < 0.5:
        problem = f"{malformed.sum():,} of {len(present):,} values are not numbers"
        advice = "correct them, name the column as numeric to treat them as missing, or leave it out (ignore)"
        raise cell_error(present, column, malformed, f"{problem} ({{}}); {advice}.")
    texts = (
        f"{count:,} different texts in {len(series):,} rows, such as {repr_cell(present.iloc[0])}"
    )
    advice = "name the column as id, categorical or text, or leave it out (ignore)"
    raise TableError(f"{texts}, look like an identifier; {advice}.", column=column)


def _has_leading_zeros(present: Any) -> bool:
    """Whether a column holds codes of digits, some of which begin with 0."""
    cells = present.tolist()
    return all(isinstance(cell, str) and cell.strip().isdigit() for cell in cells) and any(
        map(has_leading_zero, cells)
    )


def _is_nearly_numeric(present: Any, decimal: str | None) -> bool:
    # About a thousand cells distinguish most texts from numbers; only what passes is parsed as a
    # whole.
    some = present.iloc[:: max(1, len(present) // 1000)]
    parts = ((some, 0.5), (present, _MAX_MALFORMED))
    return all(read_numbers(cells, decimal).malformed.mean() <= limit for cells, limit in parts)


def _words_per_cell(present: Any) -> float:
    cells = present.head(1000).tolist()
    return sum(len(_LETTERS.findall(cell)) for cell in cells if isinstance(cell, str)) / len(cells)


def check_categories(cleaned: Any, columns: Sequence[str]) -> None:
    """Refuse cleaned categorical columns with too many categories."""
    for name in columns:
        count = cleaned[name].nunique()
        if count > MAX_CATEGORIES:
            problem = (
                f"{count:,} different texts in {len(cleaned):,} rows are too many for categories"
            )
            raise TableError(
                f"{problem}; name it as id or text, or leave it out (ignore).", column=name
            )


def check_malformed(series: Any, column: str, malformed: Mask, advice: str) -> None:
    """Refuse a column most of which is of another type than in training, or than the user gives."""
    count, present = int(malformed.sum()), int((~is_missing(series)).sum())
    # Of a few cells, as in a row or two to be predicted, most may be malformed by chance.
    if present >= 2 * _MIN_CELLS and count > present / 2:
        problem = f"{count:,} of {present:,} values do not have the type of the column"
        raise cell_error(series, column, malformed, f"{problem} ({{}}); {advice}")


def columns_by_type(types: Mapping[str, str]) -> dict[str, list[str]]:
    """The columns of each type, or of each reason to leave them out."""
    return {
        type_: [name for name in types if types[name] == type_]
        for type_ in dict.fromkeys(types.values())
    }


def describe_types(types: Mapping[str, str]) -> list[str]:
    """The types of columns in a few lines: by type, the first names and how many more."""
    return [f"{type_}: {format_list(names)}" for type_, names in columns_by_type(types).items()]


def find_date_format(series: Any, column: str) -> str | None:
    """The format that nearly all cells of a column have, ISO 8601 included; None if they are no
    dates.

    Raises
    ------
    TableError
        If days and months cannot be distinguished: 03/04/2024 in every row.
    """
    if series.dtype.kind == "M":
        return _ISO_TIME if _has_times(series) else _ISO
    present = series[~is_missing(series)]
    first = present.head(50)  # most columns are no dates, and a few cells show it
    if 2 * sum(
        isinstance(cell, str) and _LIKE_A_DATE.match(cell) is not None for cell in first
    ) <= len(first):
        return None
    likely = [
        form for form in _FORMATS if 2 * _parse_dates(first, form).notna().sum() >= len(first)
    ]
    counts = {form: int(_parse_dates(present, form).notna().sum()) for form in likely}
    found = [form for form in likely if counts[form] == max(counts.values()) >= 0.9 * len(present)]
    if not found:
        return None
    if found[0].translate(_DAY_AND_MONTH_SWAPPED) in found[1:]:
        problem = f"its dates may begin with the day or with the month ({present.iloc[0]!r})"
        raise TableError(
            f"{problem}; write them as 2024-03-31, or leave the column out (ignore).", column=column
        )
    return _ISO_TIME if found[0] == _ISO and _has_times(_parse_dates(present, _ISO)) else found[0]


def split_dates(series: Any, form: str) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.bool_]]:
    """Year, month, weekday (Monday is 0), days, and the hour if there are times; and which cells
    are malformed.

    Days are counted from 1970, with fractions. A method that standardises its features sees days
    since the first.
    """
    if series.dtype.kind == "M":
        when = (
            series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
        )
    else:
        # ISO 8601 cannot be mistaken for another format.
        when = _parse_dates(series, form)
        when = when.fillna(_parse_dates(series[when.isna()], _ISO))
    days = (when - import_pandas().Timestamp(0).as_unit("us")).dt.total_seconds().to_numpy(
        dtype=np.float64
    ) / 86_400
    parts = {
        "year": when.dt.year,
        "month": when.dt.month,
        "weekday": when.dt.day_of_week,
        "days": days,
    }
    if "%H" in form or "%I" in form:
        parts["hour"] = (days % 1) * 24
    malformed = when.isna().to_numpy() & ~is_missing(series)
    return {name: np.asarray(values, dtype=np.float64) for name, values in parts.items()}, malformed


def _parse_dates(series: Any, form: str) -> Any:
    """The cells as times of UTC without a zone, NaT where they have another format."""
    pandas_format = "ISO8601" if form in (_ISO, _ISO_TIME) else form
    texts = series.astype(str).str.strip()
    when = import_pandas().to_datetime(texts, format=pandas_format, errors="coerce", utc=True)
    return when.dt.tz_localize(None).astype(
        "datetime64[us]"
    )  # in nanoseconds there is nothing before 1677


def _has_times(when: Any) -> bool:
    present = when.dropna()
    return bool((present != present.dt.normalize()).any())
