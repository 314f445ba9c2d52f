"""Texts that a spreadsheet would run as formulas, which text tables hold behind an apostrophe."""

import re
from typing import Any

from numpy.typing import NDArray

# Also behind blanks, and in the full width of East Asian fonts; behind apostrophes, so that
# `unescape_formula` is the inverse.
_FORMULA = re.compile(r"'*(?:[\t\r\n]|[\s\x00-\x1f\ufeff]*[=+\-@＝＋－＠])")
_NUMBER = re.compile(r"\s*[+-]?[.,]?\d[\d.,]*(?:[eE][+-]?\d+)?\s*+%?\s*")


def escape_formula(text: str) -> str:
    """The text behind an apostrophe if it begins like a formula and is no number.

    Examples
    --------
    >>> [escape_formula(text) for text in ("=1+1", "-1.5", "a=b")]
    ["'=1+1", '-1.5', 'a=b']
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def unescape_formula(text: str) -> str:
    """The text that `escape_formula` was given; other texts keep their apostrophes."""
    bare = text.removeprefix("'")
    return bare if escape_formula(bare) == text else text


def unescape_formulas(cells: NDArray[Any]) -> None:
    """Remove these apostrophes from a column of texts."""
    for i, cell in enumerate(cells):
        if isinstance(cell, str) and cell.startswith("'"):
            cells[i] = unescape_formula(cell)
