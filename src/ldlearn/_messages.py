"""Parts of messages: lists, names that are nearly right, rows, texts from files."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ldlearn.exceptions import ParameterError


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value of the parameter ``name`` that is none of the choices."""
    known = list(choices)
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}, got {value!r}.")


def nearest_names(word: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The known names that a misspelt one may stand for, best first; letter case does not count.

    Examples
    --------
    >>> nearest_names("Chebishev", ["chebyshev", "clark"])
    ['chebyshev']
    >>> (
    ...     nearest_names("kl", ["clark", "kl_divergence"]),
    ...     nearest_names("MSE", ["mean_squared_error", "euclidean"]),
    ... )
    (['kl_divergence'], ['mean_squared_error'])
    """
    query = word.strip().lower()
    by_lower: dict[str, str] = {}
    abbreviated = []
    for name in known:
        lower = name.lower()
        by_lower.setdefault(lower, name)
        words = lower.split("_")
        initials = "".join(word[:1] for word in words)
        # A single letter would abbreviate too many.
        if len(query) > 1 and (query == initials or query in words):
            abbreviated.append(lower)
    near = list(dict.fromkeys(abbreviated))[:n]
    if not near:
        near = difflib.get_close_matches(query, by_lower, n=n, cutoff=0.55)
    return [by_lower[name] for name in near]


def normalize_name(name: str) -> str:
    """The letters and digits of a name, in lower case, so that SA-BFGS and SABFGS are one name.

    Examples
    --------
    >>> normalize_name("s-JAFFE")
    'sjaffe'
    """
    return "".join(filter(str.isalnum, name.lower()))


def suggest_name(word: str, known: Iterable[str], what: str = "known are") -> str:
    """The end of a message about an unknown name: similar names, or the known ones.

    Examples
    --------
    >>> suggest_name("sse", ["sky", "sea"])
    'did you mean sea?'
    >>> suggest_name("mountain", ["sky", "sea"], "the columns are")
    "the columns are 'sky', 'sea'."
    """
    names = list(known)
    near = []
    for name in nearest_names(word, names):
        if not name.isprintable() or name.strip("'\"") != name:
            name = repr(name)
        near.append(name)
    return did_you_mean(near, f"{what} {format_list(names)}.")


def did_you_mean(near: Iterable[str], otherwise: str) -> str:
    """The same for similar names that were found already; ``otherwise`` if there are none.

    Examples
    --------
    >>> did_you_mean(["GLLE", "LP"], "see them all with `ldlearn methods`.")
    'did you mean GLLE or LP?'
    """
    words = " or ".join(near)
    if words:
        return f"did you mean {words}?"
    return otherwise


def format_list(names: Sequence[object], max_names: int = 5, max_length: int = 80) -> str:
    """The first few names, each cut after ``max_length`` characters, and the number of the others.

    Examples
    --------
    >>> format_list(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    quoted = []
    for name in map(repr, names[:max_names]):
        if len(name) > max_length:
            name = f"{name[:max_length]}...'"
        quoted.append(name)
    listed = ", ".join(quoted)
    if len(names) > max_names:
        listed += f" and {len(names) - max_names} more"
    return listed


def describe_rows(mask: Any, rows: Sequence[object] | None = None, max_rows: int = 5) -> str:
    """Name the first few rows of a mask: ``row 3`` or ``rows 0, 4, 7 (and 12 more)``.

    Parameters
    ----------
    mask : array-like of bool, of shape (n_samples,)
    rows : sequence, optional
        Names of the rows; by default their positions, counted from 0.
    max_rows : int, default=5
        How many rows are named; the others are counted.
    """
    found = np.flatnonzero(mask)
    named = found[:max_rows].tolist()
    if rows is not None:
        named = [rows[row] for row in named]
    text = "rows " if len(found) > 1 else "row "
    text += ", ".join(map(str, named))
    if len(found) > max_rows:
        text += f" (and {len(found) - max_rows} more)"
    return text


# Control characters but tabs and line breaks, marks that change the direction of text, and halves
# of characters.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_commands(text: str) -> str:
    r"""A text without the characters that control a terminal; line breaks are kept.

    Examples
    --------
    >>> print(escape_commands("sky\x1b[31m"))
    sky\u001b[31m
    """
    return _COMMANDS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def escape_control_chars(text: str) -> str:
    r"""A text from a file in one line, with all control characters escaped.

    Examples
    --------
    >>> print(escape_control_chars("sky\x1b[31m"))
    sky\x1b[31m
    """
    escaped = ""
    for mark in text:
        if not mark.isprintable():
            mark = mark.encode("unicode_escape").decode()
        escaped += mark
    return escaped
