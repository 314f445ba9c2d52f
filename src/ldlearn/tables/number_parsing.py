"""Numbers with thousands separators, a decimal comma, a currency, a percent sign or a unit: 1,234.5, 1 234,5, (12 kg).

The rules are listed in `docs/guide/tables.md`.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CURRENCY = r"[$€£¥₹₽₩]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
_SAME_CURRENCY = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}  # without ¥, which two currencies have
_UNIT = r"[A-Za-zµ°Ω][A-Za-zµ°Ω²³/]{0,7}"
_GAP = r"'’ \u00a0\u202f"  # between thousands, with either decimal mark
_FRACTION = re.compile(r"(?<![\d.,])0,\d+(?![\d.,])")
# A comma that cannot stand between thousands: 0,5 and 12,5 and 1.234,5.
_DECIMAL_COMMA = re.compile(rf"(?<![\d.,])(0,\d+|\d+,(\d{{1,2}}|\d{{4,}})|\d{{1,3}}([.{_GAP}]\d{{3}})+,\d+)(?![\d.,])")
_THOUSANDS_COMMA = re.compile(r"\d,\d{3}(?:,\d{3}|\.)")
_DECIMAL_POINT = re.compile(r"[^,]*\.\d[^,]*")


def parse_number_cells(cells: list[Any], plain: NDArray[np.float64], decimal: str | None = None) -> NDArray[np.float64]:
    """Parse cells that have one scale: one currency, and the unit that most of the column has; NaN where malformed.

    Parameters
    ----------
    cells : list
        Those of a column that are no plain numbers.
    plain : ndarray
        The others.
    decimal : {".", ","}, optional
        The decimal mark, if it is known.
    """
    texts = [cell.strip() if isinstance(cell, str) else "" for cell in cells]
    mark = decimal or _find_decimal_mark(texts, plain)
    # Beside decimal points, 0,5 makes 1,234 ambiguous.
    is_ambiguous = decimal is None and any(map(_FRACTION.search, texts))
    number = _number_pattern(mark, "." if mark == "," else "" if is_ambiguous else ",")
    matches = [number.fullmatch(text) for text in texts]
    found = [match for match in matches if match is not None]
    signs = {match["before"] or match["after"] for match in found if not match["unit"]} - {None, "%"}
    currencies = {_SAME_CURRENCY.get(sign, sign) for sign in signs}
    unit = _most_frequent_unit([match["unit"] for match in found], len(plain))
    allowed = {None, "%", unit, *(signs if len(currencies) == 1 else ())}
    return np.array([np.nan if match is None else _value(match, mark, allowed) for match in matches])


def _find_decimal_mark(texts: list[str], plain: NDArray[np.float64]) -> str:
    """A comma if some number has one that cannot separate thousands, and none has a decimal point."""
    has_points = bool((plain % 1 != 0).any()) or any(map(_DECIMAL_POINT.fullmatch, texts))
    has_points |= any(map(_THOUSANDS_COMMA.search, texts))
    return "," if not has_points and any(map(_DECIMAL_COMMA.search, texts)) else "."


def _number_pattern(mark: str, thousands: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<debit>\()?\s*[-+−]?\s*(?P<before>{_CURRENCY})?\s*[-+−]?"
        rf"(?P<digits>(?:[1-9]\d{{0,2}}(?P<gap>[{thousands}{_GAP}])\d{{3}}(?:(?P=gap)\d{{3}})*|\d+)(?:[{mark}]\d*)?)"
        rf"\s*(?P<after>{_CURRENCY}|%|(?P<unit>{_UNIT}))?\s*(?(debit)\))"
    )


def _most_frequent_unit(units: list[str | None], n_plain: int) -> str | None:
    """The unit that more than half of the numbers of a column have, if there is one."""
    unit = max(set(filter(None, units)), key=units.count, default=None)
    return unit if 2 * units.count(unit) > n_plain + len(units) else None


def _value(match: re.Match[str], mark: str, allowed: set[str | None]) -> float:
    if not {match["before"], match["after"]} <= allowed:
        return np.nan
    number = float(re.sub(rf"[^\d{mark}]", "", match["digits"]).replace(",", "."))
    # The sign may stand before the currency or after it.
    return -number if match["debit"] or "-" in match[0] or "−" in match[0] else number
