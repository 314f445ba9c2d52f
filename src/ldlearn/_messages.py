"""Parts of messages: lists, names that are nearly right, rows, texts from files."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ldlearn.exceptions import ParameterError


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value of the parameter ``name`` that is none of the choices."""
    if value not in (known := list(choices)):
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
    lower: dict[str, str] = {}
    for name in known:
        lower.setdefault(name.lower(), name)
    words = {name: name.split("_") for name in lower}
    # One of the words of a name, or their initials; a single letter would abbreviate too many.
    short = [
        name
        for name in lower
        if query in words[name] or query == "".join(word[:1] for word in words[name])
    ]
    found = short[:n] if len(query) > 1 else []
    return [
        lower[name] for name in found or difflib.get_close_matches(query, lower, n=n, cutoff=0.55)
    ]


def normalize_name(name: str) -> str:
    """The letters and digits of a name, in lower case, so that SA-BFGS and SABFGS are one name.

    Examples
    --------
    >>> normalize_name("s-JAFFE")
    'sjaffe'
    """
    return "".join(sign for sign in name.lower() if sign.isalnum())


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
    near = [
        name if name.isprintable() and name.strip("'\"") == name else repr(name)
        for name in nearest_names(word, names)
    ]
    return did_you_mean(near, f"{what} {format_list(names)}.")


def did_you_mean(near: Iterable[str], otherwise: str) -> str:
    """The same for similar names that were found already; ``otherwise`` if there are none.

    Examples
    --------
    >>> did_you_mean(["GLLE", "LP"], "see them all with `ldlearn methods`.")
    'did you mean GLLE or LP?'
    """
    words = " or ".join(near)
    return f"did you mean {words}?" if words else otherwise


def format_list(names: Sequence[object], max_names: int = 5, max_length: int = 80) -> str:
    """The first few names, each cut after ``max_length`` characters, and the number of the others.

    Examples
    --------
    >>> format_list(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    quoted = (repr(name) for name in names[:max_names])
    return (
        ", ".join(
            name if len(name) <= max_length else f"{name[:max_length]}...'" for name in quoted
        )
        + more
    )


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
    names = ", ".join(str(row if rows is None else rows[row]) for row in found[:max_rows])
    more = f" (and {len(found) - max_rows} more)" if len(found) > max_rows else ""
    return f"row{'s' if len(found) > 1 else ''} {names}{more}"


# Control characters but tabs and line breaks, marks that change the direction of text, and halves
# of characters.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_commands(text: str) -> str:
    r"""A text without the characters that control a terminal; other text, of several lines perhaps,
    is unchanged.

    Examples
    --------
    >>> print(escape_commands("sky\x1b[31m"))
    sky\u001b[31m
    """
    return _COMMANDS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def escape_control_chars(text: str) -> str:
    r"""A text from a file with control characters escaped, so that it cannot move the cursor or
    colour a terminal.

    Examples
    --------
    >>> print(escape_control_chars("sky\x1b[31m"))
    sky\x1b[31m
    """
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text
    )
