"""Numbers as people write them into a column: 1,234.5 or 1 234,5, $3.50, 15%, (12), <0.1, 12 kg, 7/10, 1.2k."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_CURRENCY = r"[$€£¥₹₽₩]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
_UNIT = r"[A-Za-zµ°Ω][A-Za-zµ°Ω²³/]{0,7}|/[1-9]\d{0,2}"  # 7/10 is a mark on a scale, if most are
_TIMES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "mn": 1e6, "Mio": 1e6, "bn": 1e9, "Mrd": 1e9}
_SAME_CURRENCY = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}  # ¥ is missing: two currencies have it
_GAP = r"'’ \u00a0\u202f"  # between thousands, wherever the decimal mark is
# (12.50) and 12.50- are a negative amount, <0.1 a limit, 1.2k a thousand and two hundred
_DECORATED = re.compile(
    rf"(?P<limit>[<>≤≥]=?)?\s*(?P<debit>\()?\s*[-+−]?\s*(?P<before>{_CURRENCY})?\s*[-+−]?"
    rf"(?P<digits>(?:[1-9]\d{{0,2}}(?P<mark>[,{_GAP}])\d{{3}}(?:(?P=mark)\d{{3}})*|\d+)(?:\.\d*)?)"
    rf"(?P<times>(?:[kKMB]|\s*(?:mn|Mio|bn|Mrd))(?![A-Za-zµ°Ω²³/]))?"
    rf"\s*(?P<after>{_CURRENCY}|%|(?P<unit>{_UNIT}))?\s*(?(debit)\)|(?P<minus>[-−])?)"
)
_ALONE = r"(?<![\d.,]){}(?![\d.,])"
_WITH_COMMA = re.compile(_ALONE.format(r"(\d+),(\d+)"))
_WITH_COMMA_AND_GAPS = re.compile(_ALONE.format(rf"(\d{{1,3}}(?:[{_GAP}]\d{{3}})+),(\d+)"))  # 1 234,5
_WITH_COMMA_AND_POINTS = re.compile(_ALONE.format(r"(\d{1,3}(?:\.\d{3})+),(\d+)"))  # 1.234,5
_FRACTION = re.compile(_ALONE.format(r"0,\d+"))
_NO_THOUSAND = re.compile(_ALONE.format(r"\d+,(?:\d{1,2}|\d{4,})"))
_SURELY_THOUSANDS = re.compile(r"\d,\d{3}(?:,\d{3}|\.)")
_WITH_POINT = re.compile(r"\.\d")
_PERHAPS_FRACTION = re.compile(r"[-+−]?[1-9]\d{0,2},\d{3}")


class WrittenNumbers(NamedTuple):
    """What cells of one column are read as, and how they are written.

    Attributes
    ----------
    values : ndarray
        NaN where a cell is no number.
    commas, marks, limits, times, percents, debits : ndarray of bool
        Where a cell has a decimal comma; marks between thousands; a limit; k, M and the like; a percent sign; brackets
        or a sign behind it, which make it negative.
    doubtful : ndarray of bool
        Where marks between thousands may be meant as decimal commas: 1,234.
    """

    values: NDArray[np.float64]
    commas: NDArray[np.bool_]
    marks: NDArray[np.bool_]
    limits: NDArray[np.bool_]
    times: NDArray[np.bool_]
    percents: NDArray[np.bool_]
    debits: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]


def read_written(cells: list[Any], plain: NDArray[np.float64], decimal: str | None = None) -> WrittenNumbers:
    """Cells as numbers, as long as they are on one scale: of one currency, and of the unit of most of the column.

    Parameters
    ----------
    cells : list
        Those of a column that are no plain numbers.
    plain : ndarray
        The others.
    decimal : {".", ","}, optional
        The decimal mark, if it is known; where that is a point, a comma stands between thousands or in no number.
    """
    texts = [_unquoted(cell.strip()) if isinstance(cell, str) else "" for cell in cells]
    points_only = decimal == "."
    pointed, commas = _with_points(texts, bool((plain % 1 != 0).any()), points_only)
    found = [_DECORATED.fullmatch(text) for text in pointed]
    known = [match for match in found if match is not None]
    # amounts in several currencies are not on one scale, nor are lengths in m and cm
    signs = {match["before"] or match["after"] for match in known if not match["unit"]} - {None, "%"}
    currencies = {_SAME_CURRENCY.get(sign, sign) for sign in signs}
    refused = {"before", "after"} if len(currencies) > 1 else set()
    # A comma that is still in 0,5 was not taken for a decimal mark, so that nobody can tell what 1,234 is.
    refused |= {"mark"} if not points_only and any(map(_FRACTION.search, pointed)) else set()
    refused |= {"limit"} if _are_two_sides(known) else set()
    refused |= {"minus"} if _are_school_marks(known, plain) else set()
    refused |= {"unit"} if any(match["times"] for match in known) else set()  # 1080p beside 4K, 5m beside 20k
    unit = _usual_unit([match["unit"] for match in known], len(plain))
    values = np.array([np.nan if match is None else _undecorated(match, refused, unit) for match in found])

    def has(group: str) -> NDArray[np.bool_]:
        return np.array([match is not None and match[group] is not None for match in found], dtype=bool)

    percents = np.array([text.endswith("%") for text in texts], dtype=bool)
    doubtful = np.array([not points_only and bool(_PERHAPS_FRACTION.fullmatch(text)) for text in pointed], dtype=bool)
    debits = has("debit") | has("minus")
    return WrittenNumbers(values, commas, has("mark"), has("limit"), has("times"), percents, debits, doubtful)


def _are_two_sides(known: list[re.Match[str]]) -> bool:
    """Whether limits part the numbers into two sides, as <18 and >=18 do: both are no 18."""
    below, above = (
        {match["digits"] for match in known if (match["limit"] or " ")[0] in signs} for signs in ("<≤", ">≥")
    )
    return bool(below & above)


def _are_school_marks(known: list[re.Match[str]], plain: NDArray[np.float64]) -> bool:
    """Whether 2- is a mark at school, a bit worse than 2, and no debit: all numbers have one digit."""
    return all(len(match["digits"]) == 1 for match in known) and bool(np.isin(plain, range(10)).all())


def _unquoted(text: str) -> str:
    """A number that a spreadsheet was told to keep as a text: '5 or ="5"."""
    return text[2:-1] if text.startswith('="') and text.endswith('"') else text.removeprefix("'")


def _with_points(texts: list[str], has_points: bool, points_only: bool) -> tuple[list[str], NDArray[np.bool_]]:
    """Texts with decimal points instead of commas, and where that was so.

    1 234,5 has a decimal comma for sure. So have 1.234,5 and 12,5, and then 1,234 beside it, unless other numbers of
    the column have decimal points or commas between thousands: then nobody can tell what 12,5 is.
    """
    forms = [] if points_only else [_WITH_COMMA_AND_GAPS]
    has_points |= points_only or any(_WITH_POINT.search(text) and "," not in text for text in texts)
    if not has_points and not any(map(_SURELY_THOUSANDS.search, texts)):
        forms.append(_WITH_COMMA_AND_POINTS)
        surely = (*forms, _FRACTION, _NO_THOUSAND)
        forms += [_WITH_COMMA] if any(form.search(text) for text in texts for form in surely) else []
    pointed = texts
    for form in forms:
        pointed = [form.sub(lambda match: f"{re.sub(r'[^0-9]', '', match[1])}.{match[2]}", text) for text in pointed]
    return pointed, np.array([a != b for a, b in zip(texts, pointed, strict=True)], dtype=bool)


def _usual_unit(units: list[str | None], n_plain: int) -> str | None:
    """The unit that most numbers of a column have, if there is one."""
    named = [unit for unit in units if unit is not None]
    unit = max(set(named), key=named.count, default=None)
    return unit if 2 * sum(name == unit for name in named) > n_plain + len(units) else None


def _undecorated(match: re.Match[str], refused: set[str], unit: str | None) -> float:
    # A percent sign stands where a currency may, but is no second scale.
    if any(match[mark] not in (None, "%") for mark in refused) or match["unit"] not in (None, unit):
        return np.nan
    number = float(re.sub(r"[^\d.]", "", match["digits"])) * _TIMES.get((match["times"] or "").strip(), 1.0)
    # The sign may stand before the currency, after it, or behind the number.
    return -number if match["debit"] or "-" in match[0] or "−" in match[0] else number
