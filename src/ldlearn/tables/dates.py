"""Datetime columns: which format they have, and the numbers that a model gets of them."""

import re
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.values import import_pandas, is_missing

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


def find_date_format(series: Any, column: str) -> str | None:
    """The format that nearly all cells of a column have, ISO 8601 included; None if they are no dates.

    Raises
    ------
    TableError
        If days and months cannot be distinguished: 03/04/2024 in every row.
    """
    if series.dtype.kind == "M":
        return _ISO_TIME if _has_times(series) else _ISO
    present = series[~is_missing(series)]
    first = present.head(50)  # most columns are no dates, and a few cells show it
    if 2 * sum(isinstance(cell, str) and _LIKE_A_DATE.match(cell) is not None for cell in first) <= len(first):
        return None
    likely = [form for form in _FORMATS if 2 * _parse(first, form).notna().sum() >= len(first)]
    counts = {form: int(_parse(present, form).notna().sum()) for form in likely}
    found = [form for form in likely if counts[form] == max(counts.values()) >= 0.9 * len(present)]
    if not found:
        return None
    if found[0].translate(_DAY_AND_MONTH_SWAPPED) in found[1:]:
        problem = f"its dates may begin with the day or with the month ({present.iloc[0]!r})"
        raise TableError(f"{problem}; write them as 2024-03-31, or leave the column out (ignore).", column=column)
    return _ISO_TIME if found[0] == _ISO and _has_times(_parse(present, _ISO)) else found[0]


def date_parts(series: Any, form: str) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.bool_]]:
    """Year, month, weekday (Monday is 0), days, and the hour if there are times; and which cells are malformed.

    Days are counted from 1970, with fractions. A method that standardises its features sees days since the first.
    """
    if series.dtype.kind == "M":
        when = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
    else:
        # ISO 8601 cannot be mistaken for another format.
        when = _parse(series, form)
        when = when.fillna(_parse(series[when.isna()], _ISO))
    days = (when - import_pandas().Timestamp(0).as_unit("us")).dt.total_seconds().to_numpy(dtype=np.float64) / 86_400
    parts = {"year": when.dt.year, "month": when.dt.month, "weekday": when.dt.day_of_week, "days": days}
    if "%H" in form or "%I" in form:
        parts["hour"] = (days % 1) * 24
    malformed = when.isna().to_numpy() & ~is_missing(series)
    return {name: np.asarray(values, dtype=np.float64) for name, values in parts.items()}, malformed


def example(form: str) -> str:
    """A date in a format, for messages."""
    # No month has the number 31, so that the example shows where the day stands.
    return date(2024, 3, 31).strftime(form)


def _parse(series: Any, form: str) -> Any:
    """The cells as times of UTC without a zone, NaT where they have another format."""
    pandas_format = "ISO8601" if form in (_ISO, _ISO_TIME) else form
    texts = series.astype(str).str.strip()
    when = import_pandas().to_datetime(texts, format=pandas_format, errors="coerce", utc=True)
    return when.dt.tz_localize(None).astype("datetime64[us]")  # in nanoseconds there is nothing before 1677


def _has_times(when: Any) -> bool:
    present = when.dropna()
    return bool((present != present.dt.normalize()).any())
