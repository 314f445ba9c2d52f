"""Types of the columns of a table, found from their cells; or why a model cannot use a column."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import Any, ClassVar

import numpy as np

from ldlearn._messages import format_list
from ldlearn.core.simplex import Array, Mask
from ldlearn.exceptions import TableError
from ldlearn.tables.columns import ColumnType
from ldlearn.tables.source import SparseTable
from ldlearn.tables.values import (
    cell_error,
    has_leading_zero,
    import_pandas,
    is_missing,
    read_numbers,
    repr_cell,
)

_MAX_CATEGORIES = 1000
# Why columns are left out.
_EMPTY = "no value in any row"
_CONSTANT = "the same value in every row"
_ROW_COUNTER = "a row counter, which identifies rows"
_IDENTIFIER = "an identifier by its name, with distinct integers; --numeric uses it"
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
_DATETIME_FORMATS = (_ISO, _ISO + " %I:%M %p", *(date + time for date in _DATES for time in _TIMES))
_DAY_AND_MONTH_SWAPPED = str.maketrans("dm", "md")
_LIKE_A_DATE = re.compile(r"\s*(\d{1,4}[-/. ]\w|[^\W\d]{3,9} \d)")


@dataclass
class CellReport:
    """Cells that the user should know of, by column: how many there are, and which are the first.

    Attributes
    ----------
    decimal : str or None
        The decimal mark of the table, if the user gives it.
    units : dict of str to str
        The units, currencies or percent signs that were found in numeric columns.
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
            named = [f"row {series.index[i]} {repr_cell(series.iloc[i])}" for i in positions[:3]]
            found.setdefault(column, []).extend(named + [""] * (len(positions) - 3))

    def read_numbers(self, series: Any, column: str, unit: str | None = None) -> Array:
        """A column as numbers, NaN where malformed; ``unit`` is what numbers had in training."""
        found = read_numbers(series, self.decimal, unit)
        n_numbers = np.isfinite(found.values).sum()
        meanings = {}
        if unit is None:
            if found.unit:
                self.units[column] = found.unit
            meanings[found.unit] = "which is assumed for the others too"
        elif n_numbers:
            _check_percent_signs(column, found.signs["%"] / n_numbers, unit == "%")
        meanings["%"] = "the others count as they are"
        for sign, meaning in meanings.items():
            count = found.signs[sign]
            if 0 < count < n_numbers:
                text = f"{count:,} of {n_numbers:,} numbers have the unit {sign}, {meaning}"
                self.columns[column] = f"Column {column!r}: {text}."
        advice = "are the columns named correctly"
        if unit is not None:
            advice += f", with {'the' if unit else 'no'} unit{unit and f' {unit}'} as in training"
        self.add_malformed(series, column, found.malformed, f"{advice}?")
        return found.values

    def add_malformed(self, series: Any, column: str, cells: Mask, advice: str) -> None:
        """Add malformed cells of a column; refuses one most of which has another type."""
        count = cells.sum()
        present = (~is_missing(series)).sum()
        # Of a few cells, as in a row or two to be predicted, most may be malformed by chance.
        if present >= 2 * _MIN_CELLS and count > present / 2:
            problem = f"{count:,} of {present:,} values do not have the type of the column"
            raise cell_error(series, column, cells, f"{problem} ({{}}); {advice}")
        self.add(self.malformed, series, column, cells)

    def messages(self) -> list[str]:
        """One sentence for each column."""
        found = list(self.columns.values())
        for column, cells in self.malformed.items():
            found.append(_describe_cells(column, cells, "as missing"))
        for column, cells in self.unseen.items():
            found.append(_describe_cells(column, cells, "as a category not seen in training"))
        return found


def _check_percent_signs(column: str, share: float, in_training: bool) -> None:
    """Refuse percent signs that were lost or added since training: 45 may mean 45 or 0.45."""
    if share == 0 and in_training:
        problem = "its numbers have no percent sign, but had one in training; add it"
    elif share == 1 and not in_training:
        problem = "its numbers have percent signs, but had none in training; write them without"
    else:
        return
    raise TableError(f"{problem} (5% is 0.05).", column=column)


def _describe_cells(column: str, cells: list[str], how: str) -> str:
    named = list(filter(None, cells))[:3]
    shown = ", ".join(named)
    if len(cells) > len(named):
        shown += f" and {len(cells) - len(named):,} more"
    count = "1 cell counts" if len(cells) == 1 else f"{len(cells):,} cells count"
    return f"Column {column!r}: {count} {how}: {shown}."


@dataclass(frozen=True)
class ColumnTypes:
    """What the feature columns of a table are taken for.

    Attributes
    ----------
    columns : dict of str to str
        The columns that a model uses, numeric ones first, and the `ColumnType` of each.
    formats : dict of str to str
        Of datetime columns.
    left_out : dict of str to str
        Columns that no model can use, and why.
    units : dict of str to str, or None
        Numeric columns whose numbers have a unit, a currency or percent signs, and which; None if
        this is to be found.
    """

    learned: ClassVar = {
        "columns": "dict of str",
        "formats": "dict of str",
        "left_out": "dict of str",
        "units": "dict of str",
    }

    columns: Mapping[str, str]
    formats: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] | None = None

    def select(self, wanted: str) -> tuple[str, ...]:
        """The columns of a type."""
        return tuple(name for name, type_ in self.columns.items() if type_ == wanted)

    def describe(self) -> dict[str, str]:
        """The type of each column, for messages."""
        found = dict(self.columns)
        for name, form in self.formats.items():
            found[name] += f" ({form})"
        for name, reason in self.left_out.items():
            found[name] = f"left out: {reason}"
        return found


def find_column_types(
    table: Any,
    features: Sequence[str],
    given: Mapping[str, str],
    report: CellReport,
    formats: Mapping[str, str] | None = None,
) -> ColumnTypes:
    """Infer the types of columns, except those ``given``, and the formats of datetimes.

    Numeric columns that may be identifiers are added to ``report``.

    Raises
    ------
    TableError
        If a column looks like an identifier, which carries no information about other rows.
    """
    if isinstance(table, SparseTable):
        sparse = [name for name in features if name in table.column_positions]
        rest = [name for name in features if name not in table.column_positions]
        others = find_column_types(table.frame, rest, given, report, formats)
        return _add_sparse_columns(others, table.take_columns(sparse))
    types = dict(given)
    dtypes = table.dtypes.to_dict()
    inferred = [name for name in features if name not in types]
    plain = [name for name in inferred if dtypes[name].kind in "iuf"]
    # As one block: a call for each of thousands of columns would take most of the time.
    values = table[plain].to_numpy(dtype=np.float64, na_value=np.nan)
    lowest = np.fmin.reduce(values, axis=0).tolist()  # of what is known
    highest = np.fmax.reduce(values, axis=0).tolist()
    for j, name in enumerate(plain):
        types[name] = _infer_number_type(name, values[:, j], lowest[j], highest[j], report)
    for name in inferred:
        if name not in types:
            types[name] = _infer_type(table[name], name, report.decimal)
    by_type = columns_by_type({name: types[name] for name in features})
    formats = dict(formats or {})
    for name in by_type.get(ColumnType.DATETIME, ()):
        form = formats.get(name) or find_datetime_format(table[name], name)
        if form is None:
            raise TableError("nothing in it reads as dates; write them as 2024-03-31.", column=name)
        formats[name] = form
    columns: dict[str, str] = {}
    for type_ in ColumnType:
        columns |= dict.fromkeys(by_type.pop(type_, ()), type_.value)
    left_out = {name: types[name] for name in chain(*by_type.values())}
    return ColumnTypes(columns, formats, left_out)


def _add_sparse_columns(others: ColumnTypes, table: SparseTable) -> ColumnTypes:
    """The types of the other columns, and before them those of a sparse matrix of numbers."""
    # Zeros may be stored, too.
    stored = table.matrix.indices[table.matrix.data != 0]
    filled = np.bincount(stored, minlength=len(table.names)) > 0
    numeric = dict.fromkeys(compress(table.names, filled), ColumnType.NUMERIC.value)
    constant = dict.fromkeys(compress(table.names, ~filled), _CONSTANT)
    return replace(
        others,
        columns=numeric | dict(others.columns),
        left_out=constant | dict(others.left_out),
    )


def _infer_number_type(
    name: str, values: Array, lowest: float, highest: float, report: CellReport
) -> str:
    """The type of a column of numbers, or why it is left out."""
    if math.isnan(lowest):
        return _EMPTY
    # A single row does not show that a column is constant.
    if lowest == highest and len(values) > 1:
        return _type_of_constant(np.isnan(values))
    if lowest in (0, 1) and highest <= len(values) and _is_row_counter(values):
        return _ROW_COUNTER
    is_named = _IDENTIFIER_NAME.fullmatch(name)
    may_be_named = name.lower().endswith("id")
    if is_named or may_be_named:
        share = _share_of_distinct_integers(values)
        if is_named and share >= _MIN_DISTINCT:
            return _IDENTIFIER
        if may_be_named and (share >= _MIN_DISTINCT or (is_named and share > 0)):
            advice = (
                "leave it out (--ignore), or use --categorical, if they identify rows or groups"
            )
            text = f"Column {name!r}: its integers are used as numbers; {advice}."
            report.columns[name] = text
    return ColumnType.NUMERIC


def _type_of_constant(missing: Mask) -> str:
    """A column with one value: a missing one is a second, as in a column of check boxes."""
    return ColumnType.CATEGORICAL if missing.any() else _CONSTANT


def _is_row_counter(values: Array, min_rows: int = 20) -> bool:
    """Whether numbers count many rows from 0 or 1, in any order; a few may be 1, 2, 3 by chance."""
    values = np.sort(values[~np.isnan(values)])
    if len(values) < min_rows:
        return False
    return np.array_equal(values, np.arange(len(values)) + values[0])


def _share_of_distinct_integers(values: Array) -> float:
    """Fraction of distinct values; NaN if some are no integers, or if there are few."""
    values = values[~np.isnan(values)]
    if len(values) < _MIN_CELLS or (values % 1 != 0).any():
        return np.nan
    return len(np.unique(values)) / len(values)


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
        return _EMPTY
    if count == 1 and len(series) > 1:
        return _type_of_constant(missing)
    if series.dtype.kind == "M":
        return ColumnType.DATETIME
    if not _has_leading_zeros(present) and _is_nearly_numeric(present, decimal):
        return ColumnType.NUMERIC
    if find_datetime_format(series, column) is not None:
        return ColumnType.DATETIME
    if len(present) < _MIN_CELLS or count < min(_MIN_DISTINCT * len(present), _MAX_CATEGORIES + 1):
        return ColumnType.CATEGORICAL
    if _words_per_cell(present) >= 3:
        return ColumnType.TEXT
    malformed = read_numbers(present, decimal).malformed
    if 0 < malformed.mean() < 0.5:
        problem = f"{malformed.sum():,} of {len(present):,} values are not numbers ({{}})"
        advice = "name the column as numeric to treat them as missing, or leave it out (ignore)."
        raise cell_error(present, column, malformed, f"{problem}; correct them, {advice}")
    texts = f"{count:,} different texts in {len(series):,} rows"
    example = repr_cell(present.iloc[0])
    advice = "name the column as id, categorical or text, or leave it out (ignore)"
    raise TableError(
        f"{texts}, such as {example}, look like an identifier; {advice}.", column=column
    )


def _has_leading_zeros(present: Any) -> bool:
    """Whether a column holds codes of digits, some of which begin with 0."""
    cells = present.tolist()
    for cell in cells:
        if not (isinstance(cell, str) and cell.strip().isdigit()):
            return False
    return any(map(has_leading_zero, cells))


def _is_nearly_numeric(present: Any, decimal: str | None) -> bool:
    # About a thousand cells distinguish most texts from numbers; only what passes is parsed whole.
    sample = present.iloc[:: max(1, len(present) // 1000)]
    if read_numbers(sample, decimal).malformed.mean() > 0.5:
        return False
    return read_numbers(present, decimal).malformed.mean() <= _MAX_MALFORMED


def _words_per_cell(present: Any) -> float:
    cells = present.head(1000)
    return cells.map(lambda cell: isinstance(cell, str) and len(_LETTERS.findall(cell))).mean()


def check_categories(cleaned: Any, columns: Sequence[str]) -> None:
    """Refuse cleaned categorical columns with too many categories."""
    for name in columns:
        count = cleaned[name].nunique()
        if count > _MAX_CATEGORIES:
            problem = f"{count:,} different texts in {len(cleaned):,} rows are too many"
            advice = "name it as id or text, or leave it out (ignore)"
            raise TableError(f"{problem} for categories; {advice}.", column=name)


def columns_by_type(types: Mapping[str, str]) -> dict[str, list[str]]:
    """The columns of each type, or of each reason to leave them out."""
    found: dict[str, list[str]] = {}
    for name, type_ in types.items():
        found.setdefault(type_, []).append(name)
    return found


def describe_types(types: Mapping[str, str]) -> list[str]:
    """The types of columns in a few lines: by type, the first names and how many more."""
    return [f"{type_}: {format_list(names)}" for type_, names in columns_by_type(types).items()]


def find_datetime_format(series: Any, column: str) -> str | None:
    """The format that nearly all cells have, ISO 8601 included; None if they are no datetimes.

    Raises
    ------
    TableError
        If days and months cannot be distinguished: 03/04/2024 in every row.
    """
    if series.dtype.kind == "M":
        return _ISO_TIME if _has_times(series) else _ISO
    present = series[~is_missing(series)]
    first = present.head(50)  # most columns are no dates, and a few cells show it
    if 2 * first.astype(str).str.match(_LIKE_A_DATE).sum() <= len(first):
        return None
    counts = {}
    for form in _DATETIME_FORMATS:
        if 2 * _parse_datetimes(first, form).notna().sum() >= len(first):
            counts[form] = _parse_datetimes(present, form).notna().sum()
    most = max(counts.values(), default=0)
    if most < 0.9 * len(present):
        return None
    found = [form for form, count in counts.items() if count == most]
    if found[0].translate(_DAY_AND_MONTH_SWAPPED) in found[1:]:
        problem = f"its dates may begin with the day or with the month ({present.iloc[0]!r})"
        advice = "write them as 2024-03-31, or leave the column out (ignore)"
        raise TableError(f"{problem}; {advice}.", column=column)
    if found[0] == _ISO and _has_times(_parse_datetimes(present, _ISO)):
        return _ISO_TIME
    return found[0]


def split_datetimes(series: Any, form: str) -> tuple[Any, Mask]:
    """Numbers of a datetime column as a frame, and which cells are malformed.

    They are year, month, weekday (Monday is 0), days, and the hour if there are times. Days are
    counted from 1970, with fractions. A method that standardises its features sees days since the
    first.
    """
    pandas = import_pandas()
    if series.dtype.kind == "M":
        when = series if series.dt.tz is None else series.dt.tz_convert("UTC").dt.tz_localize(None)
    else:
        # ISO 8601 cannot be mistaken for another format.
        when = _parse_datetimes(series, form)
        when = when.fillna(_parse_datetimes(series[when.isna()], _ISO))
    since_1970 = when - pandas.Timestamp(0).as_unit("us")
    parts = pandas.DataFrame(
        {
            "year": when.dt.year,
            "month": when.dt.month,
            "weekday": when.dt.day_of_week,
            "days": since_1970.dt.total_seconds() / 86_400,
        },
        dtype=np.float64,
    )
    if "%H" in form or "%I" in form:
        parts["hour"] = (parts["days"] % 1) * 24
    return parts, when.isna().to_numpy() & ~is_missing(series)


def _parse_datetimes(series: Any, form: str) -> Any:
    """The cells as times of UTC without a zone, NaT where they have another format."""
    pandas_format = "ISO8601" if form in (_ISO, _ISO_TIME) else form
    texts = series.astype(str).str.strip()
    when = import_pandas().to_datetime(texts, format=pandas_format, errors="coerce", utc=True)
    # In nanoseconds there is nothing before 1677.
    return when.dt.tz_localize(None).astype("datetime64[us]")


def _has_times(when: Any) -> bool:
    present = when.dropna()
    return (present != present.dt.normalize()).any()
