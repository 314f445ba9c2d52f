"""Numbers with thousands separators, a decimal comma, a currency, a percent sign or a unit: 1,234.5, 1 234,5, (12 kg).

The rules are listed in `docs/guide/tables.md`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CURRENCY = r"[$€£¥₹₽₩]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
_SAME_CURRENCY = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}  # without ¥, which two currencies have
_UNIT = r"[A-Za-zµ°Ω][A-Za-zµ°Ω²³/]{0,7}"
_GAP = r"'’ \u00a0\u202f"  # between thousands, with either decimal mark
_NUMBER = re.compile(
    rf"(?P<debit>\()?\s*[-+−]?\s*(?P<before>{_CURRENCY})?\s*[-+−]?"
    rf"(?P<digits>(?:[1-9]\d{{0,2}}(?P<mark>[,{_GAP}])\d{{3}}(?:(?P=mark)\d{{3}})*|\d+)(?:\.\d*)?)"
    rf"\s*(?P<after>{_CURRENCY}|%|(?P<unit>{_UNIT}))?\s*(?(debit)\))"
)
_ALONE = r"(?<![\d.,]){}(?![\d.,])"
_COMMA = re.compile(_ALONE.format(r"(\d+),(\d+)"))
_COMMA_AND_GAPS = re.compile(_ALONE.format(rf"(\d{{1,3}}(?:[{_GAP}]\d{{3}})+),(\d+)"))  # 1 234,5
_COMMA_AND_POINTS = re.compile(_ALONE.format(r"(\d{1,3}(?:\.\d{3})+),(\d+)"))  # 1.234,5
_FRACTION = re.compile(_ALONE.format(r"0,\d+"))
_NO_THOUSAND = re.compile(_ALONE.format(r"\d+,(?:\d{1,2}|\d{4,})"))
_SURELY_THOUSANDS = re.compile(r"\d,\d{3}(?:,\d{3}|\.)")


def parse_number_cells(cells: list[Any], plain: NDArray[np.float64], decimal: str | None = None) -> NDArray[np.float64]:
    """Parse cells that have one scale: one currency, and the unit that most of the column has; NaN where malformed.

    Parameters
    ----------
    cells : list
        Those of a column that are no plain numbers.
    plain : ndarray
        The others.
    decimal : {".", ","}, optional
        The decimal mark, if it is known. If it is a point, a comma can only stand between thousands.
    """
    texts = [cell.strip() if isinstance(cell, str) else "" for cell in cells]
    texts = _with_points(texts, bool((plain % 1 != 0).any()), decimal == ".")
    matches = [_NUMBER.fullmatch(text) for text in texts]
    found = [match for match in matches if match is not None]
    signs = {match["before"] or match["after"] for match in found if not match["unit"]} - {None, "%"}
    refused = {"before", "after"} if len({_SAME_CURRENCY.get(sign, sign) for sign in signs}) > 1 else set()
    # A comma left in 0,5 was not recognised as a decimal mark, so that 1,234 is ambiguous.
    refused |= {"mark"} if decimal != "." and any(map(_FRACTION.search, texts)) else set()
    unit = _most_frequent_unit([match["unit"] for match in found], len(plain))
    return np.array([np.nan if match is None else _value(match, refused, unit) for match in matches])


def _with_points(texts: list[str], has_points: bool, points_only: bool) -> list[str]:
    """Texts with decimal points instead of decimal commas.

    1 234,5 always has a decimal comma. 1.234,5 and 12,5 have one, and then so has 1,234 beside them, unless other
    numbers of the column have decimal points or commas between thousands.
    """
    forms = [] if points_only else [_COMMA_AND_GAPS]
    has_points |= points_only or any(re.search(r"\.\d", text) and "," not in text for text in texts)
    if not has_points and not any(map(_SURELY_THOUSANDS.search, texts)):
        forms.append(_COMMA_AND_POINTS)
        decisive = (*forms, _FRACTION, _NO_THOUSAND)
        forms += [_COMMA] if any(form.search(text) for text in texts for form in decisive) else []
    for form in forms:
        texts = [form.sub(lambda match: f"{re.sub(r'[^0-9]', '', match[1])}.{match[2]}", text) for text in texts]
    return texts


def _most_frequent_unit(units: list[str | None], n_plain: int) -> str | None:
    """The unit that more than half of the numbers of a column have, if there is one."""
    unit = max(set(filter(None, units)), key=units.count, default=None)
    return unit if 2 * units.count(unit) > n_plain + len(units) else None


def _value(match: re.Match[str], refused: set[str], unit: str | None) -> float:
    # A percent sign stands where a currency may, but is no second scale.
    if any(match[mark] not in (None, "%") for mark in refused) or match["unit"] not in (None, unit):
        return np.nan
    number = float(re.sub(r"[^\d.]", "", match["digits"]))
    # The sign may stand before the currency or after it.
    return -number if match["debit"] or "-" in match[0] or "−" in match[0] else number
