"""Columns of dates and times as numbers: which form they have, and what of them a model can use."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.values import import_pandas, is_missing

NATIVE = "dates"  # the form of a column that holds dates already
_WITH_TIME = " %H:%M"
_FORMS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y", "%Y-%m",
)  # fmt: skip
_DAY_AND_MONTH_SWAPPED = str.maketrans("dm", "md")
# Those in which no day can be taken for a month, so that a single cell may have them.
_PLAIN_FORMS = [form for form in _FORMS if form.translate(_DAY_AND_MONTH_SWAPPED) not in _FORMS]
_TIMED = (
    r"^\s*(?P<date>.*?\d.*?)"
    r"(?:(?:T|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"\s*(?:Z|UTC|GMT|(?P<zone>[+-]\d{2}:?\d{2}))?)?\s*$"
)


def find_form(series: Any, column: str) -> str | None:
    """The form in which nearly all cells of a column are dates, with ``%H:%M`` if there are times; None for no dates.

    Raises
    ------
    TableError
        If days and months cannot be distinguished: 03/04/2024 in every row.
    """
    if series.dtype.kind == "M":
        return NATIVE + (_WITH_TIME if _has_times(series) else "")
    present = series[~is_missing(series)]
    first = present.head(50)  # most columns are no dates, and a few cells show it
    likely = [isinstance(cell, str) and len(cell) <= 40 and any(map(str.isdigit, cell)) for cell in first]
    if not likely or sum(likely) <= len(likely) / 2:
        return None
    parts, some_parts = None, _split(first)
    counts: dict[str, int] = {}
    for form in _FORMS:
        if _dates(some_parts["date"], form).notna().sum() < len(first) / 2:
            continue
        parts = _split(present) if parts is None else parts
        counts[form] = int(_dates(parts["date"], form).notna().sum())
    best = [form for form in counts if counts[form] == max(counts.values())]
    if parts is None or not _are_nearly_all(parts["date"], best[0], counts[best[0]]):
        return None
    if best[0].translate(_DAY_AND_MONTH_SWAPPED) in best[1:]:
        problem = f"its dates may begin with the day or with the month ({present.iloc[0]!r})"
        raise TableError(f"{problem}; write them as 2024-03-31, or leave the column out (ignore).", column=column)
    return best[0] + (_WITH_TIME if parts["hour"].notna().any() else "")


class DateParts(NamedTuple):
    """What a model can use of a datetime column, and which cells are malformed."""

    numbers: dict[str, NDArray[np.float64]]
    malformed: NDArray[np.bool_]


def _are_nearly_all(texts: Any, form: str, count: int) -> bool:
    """Whether few cells have neither this form nor one in which nothing can be mistaken."""
    enough = 0.9 * len(texts)  # as for numbers, up to 10 % of the cells may be malformed
    return count >= enough or int(_dates_of_plain_forms(texts, form).notna().sum()) >= enough


def date_parts(series: Any, form: str) -> DateParts:
    """Year, month, weekday (Monday is 0), days, and the hour if there are times.

    Days are counted from 1970, with fractions. A method that standardises its features sees days since the first.
    """
    when, malformed = _moments(series, form)
    days = (when - import_pandas().Timestamp(0).as_unit("us")).dt.total_seconds().to_numpy(dtype=np.float64) / 86_400
    parts = {"year": when.dt.year, "month": when.dt.month, "weekday": when.dt.day_of_week, "days": days}
    if form.endswith(_WITH_TIME):
        parts["hour"] = (days % 1) * 24
    numbers = {name: np.asarray(values, dtype=np.float64) for name, values in parts.items()}
    return DateParts(numbers, malformed)


def example(form: str) -> str:
    """A date in a form, for messages."""
    # No month has the number 31, so that the example shows where the day stands.
    return date(2024, 3, 31).strftime(_date_of(form))


def _moments(series: Any, form: str) -> tuple[Any, NDArray[np.bool_]]:
    """The column as moments without a zone, and the cells that hold something else."""
    pandas = import_pandas()
    if series.dtype.kind == "M":
        when = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
        return when, np.zeros(len(series), dtype=bool)
    missing = is_missing(series)
    parts = _split(series.where(~missing, None))
    when = _dates(parts["date"], _date_of(form))
    # Every further form is one more pass, so only the few cells that need it are tried.
    other = np.flatnonzero(when.isna() & ~missing)
    if len(other):
        when.iloc[other] = _dates_of_plain_forms(parts["date"].iloc[other], form)
    hours = pandas.to_numeric(parts["hour"], errors="coerce")
    afternoon = parts["half"].str.lower().str.startswith("p").fillna(False).astype(bool)
    # 12 AM is hour 0, and 12 PM is hour 12.
    hours = hours.where(parts["half"].isna(), hours % 12) + 12 * afternoon
    minutes = pandas.to_numeric(parts["minute"], errors="coerce") - _zone_minutes(parts["zone"])
    seconds = pandas.to_numeric(parts["second"], errors="coerce").fillna(0)
    # In microseconds as the dates are: a sum with nanoseconds would not reach before 1677.
    time = pandas.to_timedelta((hours * 3600 + minutes * 60 + seconds).fillna(0), unit="s").astype("timedelta64[us]")
    return when + time, np.asarray(when.isna().to_numpy() & ~missing, dtype=bool)


def _dates_of_plain_forms(texts: Any, form: str) -> Any:
    """Dates in forms of which none mistakes the days of the usual one for months."""
    found = _dates(texts, _PLAIN_FORMS[0])
    for other in _PLAIN_FORMS[1:]:
        if other != _date_of(form).translate(_DAY_AND_MONTH_SWAPPED):
            found = found.fillna(_dates(texts, other))
    return found


def _date_of(form: str) -> str:
    date = form.removesuffix(_WITH_TIME)
    return _FORMS[0] if date == NATIVE else date


def _split(series: Any) -> Any:
    pandas = import_pandas()
    texts = pandas.Series([str(cell) if cell is not None else "" for cell in series.tolist()], index=series.index)
    return texts.str.extract(_TIMED)


def _dates(texts: Any, form: str) -> Any:
    # in microseconds, because in nanoseconds there is nothing before 1677
    return import_pandas().to_datetime(texts, format=form, errors="coerce").astype("datetime64[us]")


def _zone_minutes(zones: Any) -> Any:
    numbers = import_pandas().to_numeric(zones.str.replace(":", ""))  # +0530 is 5 hours and 30 minutes
    return (np.sign(numbers) * (numbers.abs() // 100 * 60 + numbers.abs() % 100)).fillna(0)


def _has_times(series: Any) -> bool:
    present = series.dropna()
    return bool((present != present.dt.normalize()).any())
