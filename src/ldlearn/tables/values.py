"""Columns of a data frame as numbers, texts or labels, with errors that name row and column."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldlearn._messages import describe_rows
from ldlearn._optional_imports import import_optional
from ldlearn.core.simplex import Array, Mask
from ldlearn.exceptions import TableError

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
_DIGIT = re.compile(r"\d")
_PADDED = re.compile(r"0\d+")
# As Python and spreadsheets write them; the same value must be the same category.
TRUTH_SPELLINGS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
_CURRENCY = r"[$€£¥₹₽₩]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
# Without ¥, which two currencies have.
_CURRENCY_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}
_UNIT = r"[A-Za-zµ°Ω][A-Za-zµ°Ω²³/]{0,7}"
_GAP = r"'’ \u00a0\u202f"  # between thousands, with either decimal mark
_FRACTION = re.compile(r"(?<![\d.,])0,\d+(?![\d.,])")
# A comma that cannot stand between thousands: 0,5 and 12,5 and 1.234,5.
_DECIMAL_COMMA = re.compile(
    rf"(?<![\d.,])(0,\d+|\d+,(\d{{1,2}}|\d{{4,}})|\d{{1,3}}([.{_GAP}]\d{{3}})+,\d+)(?![\d.,])"
)
_THOUSANDS_COMMA = re.compile(r"\d,\d{3}(?:,\d{3}|\.)")
_DECIMAL_POINT = re.compile(r"[^,]*\.\d[^,]*")
_LONGEST_NUMBER = 100
_LABEL_WORDS = {"true": 1.0, "yes": 1.0, "x": 1.0, "✓": 1.0, "☑": 1.0, "false": 0.0, "no": 0.0}


def import_pandas() -> Any:
    """Pandas, or a sentence on how to get it."""
    return import_optional("pandas", "tables", "Tables")


def is_missing(series: Any) -> Mask:
    """Where a column has no value: null, NaN, or one of the words in ``MISSING``."""
    missing = series.isna()
    if not _is_plain_number(series):  # in which infinities would be found too
        missing |= series.isin(MISSING)
    return missing.to_numpy(dtype=bool)


def is_numeric(series: Any) -> bool:
    """Whether every value that is not missing reads as a number (truth values do not)."""
    if _is_plain_number(series):
        return True
    is_number = ~np.isnan(_parse_plain_numbers(series))
    return bool(np.all(is_number | is_missing(series)))


class _NumberColumn(NamedTuple):
    """A column read as numbers.

    Attributes
    ----------
    values : ndarray
        NaN where there is no number.
    malformed : boolean ndarray
        Cells that are neither numbers nor missing.
    unit : str
        The unit, currency or percent sign of most numbers; empty if they have none.
    signs : Counter
        How many numbers have each unit, currency or percent sign.
    """

    values: Array
    malformed: Mask
    unit: str
    signs: Counter[str]


def read_numbers(
    series: Any,
    decimal: str | None = None,
    unit: str | None = None,
) -> _NumberColumn:
    """Read a column as floats.

    Decimal commas, marks between thousands, percent signs, brackets around a negative amount, a
    currency and a unit are parsed, too; `docs/guide/tables.md` lists the rules. Truth values are no
    numbers.

    Parameters
    ----------
    series : Series
    decimal : {".", ","}, optional
        The decimal mark, if the user gives it.
    unit : str, optional
        The unit or currency that numbers may have; by default the one that most of them have, or
        the only currency.
    """
    numbers = _parse_plain_numbers(series)
    malformed = np.isnan(numbers) & ~is_missing(series)
    texts = []
    for cell in series[malformed]:
        # No number is longer; the patterns take time that grows with the square of the length.
        is_short = isinstance(cell, str) and len(cell) <= _LONGEST_NUMBER
        texts.append(cell.strip() if is_short else "")
    if not any(map(_DIGIT.search, texts)):
        return _NumberColumn(numbers, malformed, "", Counter())
    numbers = numbers.copy()  # pandas may give a view, or one that is read-only
    plain = numbers[~np.isnan(numbers)]
    mark = decimal or _find_decimal_mark(texts, plain)
    thousands = "." if mark == "," else ","
    # Beside decimal points, 0,5 makes 1,234 ambiguous.
    if mark == "." and decimal is None and any(map(_FRACTION.search, texts)):
        thousands = ""
    matches = list(map(_number_pattern(mark, thousands).fullmatch, texts))
    found = list(filter(None, matches))
    signs = Counter(chain.from_iterable(map(_units_and_currencies, found)))
    if unit is None:
        unit = _find_unit(signs, len(plain) + len(found))
    numbers[malformed] = [_to_number(match, mark, unit) for match in matches]
    return _NumberColumn(numbers, malformed & np.isnan(numbers), unit, signs)


def _find_decimal_mark(texts: list[str], plain: Array) -> str:
    """A comma if some number has one that cannot separate thousands, and none has a point."""
    if (plain % 1 != 0).any() or any(map(_DECIMAL_POINT.fullmatch, texts)):
        return "."
    if any(map(_THOUSANDS_COMMA.search, texts)):
        return "."
    return "," if any(map(_DECIMAL_COMMA.search, texts)) else "."


def _number_pattern(mark: str, thousands: str) -> re.Pattern[str]:
    grouped = rf"[1-9]\d{{0,2}}(?P<gap>[{thousands}{_GAP}])\d{{3}}(?:(?P=gap)\d{{3}})*"
    return re.compile(
        rf"(?P<debit>\()?\s*+[-+−]?\s*+(?P<before>{_CURRENCY})?\s*+[-+−]?"
        rf"(?P<digits>(?:{grouped}|\d+)(?:[{mark}]\d*)?)"
        rf"\s*+(?P<after>{_CURRENCY}|%|{_UNIT})?\s*(?(debit)\))"
    )


_AMOUNT_WITH_COMMA = _number_pattern(",", ".")


def with_decimal_point(cell: Any) -> Any:
    """A text of a number with a decimal comma, written with a point, without thousands marks."""
    number = _AMOUNT_WITH_COMMA.fullmatch(cell) if isinstance(cell, str) else None
    if number is None:
        return cell
    start, end = number.span("digits")
    digits = re.sub(r"[^\d,]", "", number["digits"])
    return cell[:start] + digits.replace(",", ".") + cell[end:]


def _find_unit(signs: Counter[str], n_numbers: int) -> str:
    """The unit, currency or percent sign of more than half of the numbers, or the only currency."""
    for unit, count in signs.most_common(1):
        if 2 * count > n_numbers:
            return unit
    currencies = list(filter(re.compile(_CURRENCY).fullmatch, signs))
    return currencies[0] if len(currencies) == 1 else ""


def _units_and_currencies(match: re.Match[str]) -> set[str]:
    """Units, percent signs and currencies (as symbols) that stand beside the digits."""
    signs = filter(None, (match["before"], match["after"]))
    return {_CURRENCY_SYMBOLS.get(sign, sign) for sign in signs}


def _to_number(match: re.Match[str] | None, mark: str, unit: str) -> float:
    if match is None or not _units_and_currencies(match) <= {unit, "%"}:
        return np.nan
    digits = re.sub(rf"[^\d{mark}]", "", match["digits"])
    number = float(digits.replace(",", "."))
    if match["after"] == "%":
        number /= 100
    # The sign may stand before the currency or after it.
    if match["debit"] or "-" in match[0] or "−" in match[0]:
        number = -number
    return number


def has_leading_zero(value: Any) -> bool:
    """Whether a cell is a code of digits that begins with 0: 01067 is no number."""
    return isinstance(value, str) and _PADDED.fullmatch(value.strip()) is not None


def to_numbers(series: Any, column: str) -> Array:
    """A column as floats, NaN where missing.

    Raises
    ------
    TableError
        Naming the first value that is no finite number.
    """
    advice = "correct it, or leave the cell empty if the value is unknown."
    return _check_finite(_parse_plain_numbers(series), series, column, advice)


def _check_finite(numbers: Array, series: Any, column: str, advice: str) -> Array:
    missing = is_missing(series)
    bad = ~np.isfinite(numbers) & ~missing
    if bad.any():
        raise cell_error(series, column, bad, f"{{}} is not a finite number; {advice}")
    return np.where(missing, np.nan, numbers)


def to_texts(series: Any, column: str) -> list[Any]:
    """A column as texts, NaN where missing; a value gives the same text whatever its file.

    Spaces around a text are not part of it.
    """
    texts = []
    for cell, missing, row in zip(series, is_missing(series), series.index, strict=True):
        texts.append(np.nan if missing else _cell_to_text(cell, row, column))
    return texts


def _cell_to_text(value: Any, row: object, column: str) -> str:
    if isinstance(value, str):
        return TRUTH_SPELLINGS.get(value.strip(), value.strip())
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, int | float | np.integer | np.floating):
        return str(int(value)) if value % 1 == 0 else repr(float(value))
    problem = f"a value of type {type(value).__name__} is neither a number nor a text"
    raise TableError(f"{problem}; convert it, or leave the column out.", row=row, column=column)


def describe_repeated(ids: Any) -> list[str]:
    """A sentence about identifiers that occur in several rows; none if all differ."""
    name = str(ids.name)
    texts = import_pandas().Series(to_texts(ids, name), ids.index, dtype=object).dropna()
    repeated = texts[texts.duplicated()].unique()
    if not len(repeated):
        return []
    problem = f"Column {name!r}: the identifier {repeated[0]!r} is not unique"
    rows = describe_rows(texts == repeated[0], texts.index)
    if len(repeated) > 1:
        rows += f" ({len(repeated)} such identifiers)"
    return [f"{problem}: {rows}."]


def read_groups(column: Any) -> NDArray[np.intp]:
    """The groups that a column names, as numbers; none may be missing."""
    name = str(column.name)
    groups, _ = import_pandas().factorize(np.array(to_texts(column, name), dtype=object))
    if (groups < 0).any():
        row = column.index[np.argmax(groups < 0)]
        advice = "fill it in, with a value of its own if the row belongs to no group."
        raise TableError(f"the group is missing; {advice}", row=row, column=name)
    return groups


def is_label_word(value: Any) -> bool:
    """Whether a text is one of the words that stand for 0 and 1."""
    return str(value).strip().lower() in _LABEL_WORDS


def to_labels(
    frame: Any,
    labels: Sequence[str],
    blank: float | None = None,
) -> Array:
    """Label columns as a matrix: numbers, true/false, yes/no, or a mark; else ``blank``, or NaN.

    Positive are also x, ✓ and ☑, and the text of the option itself: the name of the column, or the
    only text in it.
    """
    # By column in memory: sums over a few labels are several times faster then.
    Y = np.array([_to_label(frame[name], name) for name in labels]).T
    if blank is not None:
        Y = np.where(np.isnan(Y), blank, Y)
    return Y


def _to_label(series: Any, column: str) -> Array:
    numbers = read_numbers(series).values
    if not _is_plain_number(series):
        texts = series.astype(str).str.strip().str.lower()
        words = texts.map(_LABEL_WORDS).to_numpy(dtype=np.float64)
        numbers = np.where(np.isnan(words), numbers, words)
        filled = texts[~is_missing(series)]
        option = column.strip().lower()
        if filled.nunique() == 1:
            option = filled.iloc[0]
        numbers = np.where(np.isnan(numbers) & (texts == option), 1.0, numbers)
    advice = "write 0 or 1, yes or no, x or nothing, a number of votes, or drop the row."
    return _check_finite(numbers, series, column, advice)


def _is_plain_number(series: Any) -> bool:
    return getattr(series.dtype, "kind", "O") in "iuf"


def _parse_plain_numbers(series: Any) -> Array:
    numbers = series
    if not _is_plain_number(series):
        numbers = import_pandas().to_numeric(series.map(_numeric_candidate), errors="coerce")
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _numeric_candidate(value: Any) -> Any:
    """What may be read as a number: texts and numbers, not truth values, which pandas counts."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and abs(value) > 10**308:  # no float can hold it
        return np.inf
    if isinstance(value, bool | np.bool_):
        return np.nan
    return value


def cell_error(series: Any, column: str, bad: Mask, problem: str) -> TableError:
    """An error about the first bad cell of a column, whose value replaces ``{}``."""
    first = np.argmax(bad)
    problem = problem.format(repr_cell(series.iloc[first]))
    return TableError(problem, row=series.index[first], column=column)


def repr_cell(value: Any) -> str:
    """A cell as a message shows it."""
    text = repr(value) if isinstance(value, str) else str(value)
    if len(text) > 40:
        text = text[:37] + "..."
    return text
