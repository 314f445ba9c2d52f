"""The errors that a user can correct, and what their messages share.

Each is an `LDLearnError` with one sentence: what is wrong, where, what to do. The command line prints that sentence and
exits with 2. Any other exception that reaches it is reported as a bug. Each
class is also the built-in exception that Python programmers, and scikit-learn's checks, expect in its place.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np


class LDLearnError(Exception):
    """An error that the user can correct; its message is one sentence."""


class InputError(LDLearnError, ValueError):
    """A value, parameter, array or file content cannot be used as given."""


class ParameterError(InputError, TypeError):
    """A parameter that does not exist, or a value that it cannot take."""


class DatasetError(InputError):
    """A data set, or the file it should come from, cannot be used as asked."""


class TableError(InputError):
    """A table cannot be used as asked.

    Parameters
    ----------
    problem : str
        What is wrong and what to do about it.
    row : object, optional
        Where: the label of the row, as counted in the file.
    column : str, optional
        Where: the name of the column.
    where : str, optional
        Where: the name of the file.

    Examples
    --------
    >>> print(TableError("'old' is not a number.", row=3, column="age", where="people.csv"))
    people.csv, row 3, column 'age': 'old' is not a number.
    """

    def __init__(
        self, problem: str, *, row: object = None, column: str | None = None, where: str | None = None
    ) -> None:
        place = [where] if where is not None else []
        place += [f"row {row}"] if row is not None else []
        place += [f"column {column!r}"] if column is not None else []
        super().__init__(f"{', '.join(place)}: {problem}" if place else problem)
        self.problem, self.row, self.column, self.where = problem, row, column, where

    def with_file(self, where: str) -> "TableError":
        """The same error with the name of the file, unless it has one."""
        if self.where is not None:
            return self
        return TableError(self.problem, row=self.row, column=self.column, where=where)


class ModelFileError(InputError):
    """A model file cannot be written or read; nothing of it has been executed."""


class FileError(LDLearnError, OSError):
    """The system would not read or write a file; the sentence names it."""


class MissingDependencyError(LDLearnError, ImportError):
    """An optional package is needed and not installed."""


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value of the parameter ``name`` that is none of the choices."""
    if value not in (known := list(choices)):
        raise ParameterError(f"{name} must be one of {', '.join(known)}, got {value!r}.")


def import_optional(module: str, extra: str | None, purpose: str) -> Any:
    """Import an optional package, or raise an error that says how to install it.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"h5py"``.
    extra : str or None
        The extra of ours that installs it, if one does.
    purpose : str
        What needs it, as the subject of the sentence, in the plural: "Parquet files".

    Examples
    --------
    >>> import_optional("nowhere", "cli", "Files")
    Traceback (most recent call last):
    ...
    ldlearn.exceptions.MissingDependencyError: Files need nowhere: pip install nowhere, or ".[cli]" in a checkout...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package, missing = (name.partition(".")[0] for name in (module, error.name or ""))
        # A package that is there but broken must not be reported as absent.
        if not isinstance(error, ModuleNotFoundError) or missing != package:
            raise
        package = package.replace("_", "-")
        raise MissingDependencyError(f"{purpose} need {package}: {install_advice(package, extra)}.") from None


def install_advice(packages: str, extra: str | None) -> str:
    """How to install a missing package; ldlearn itself is in no index, so that its name alone installs nothing.

    Examples
    --------
    >>> print(install_advice("typer rich", "cli"))
    pip install typer rich, or ".[cli]" in a checkout of ldlearn
    """
    ours = f', or ".[{extra}]" in a checkout of ldlearn' if extra else ""
    return f"pip install {packages}{ours}"


def nearest_names(word: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The known names that a misspelt one may stand for, best first; letter case does not count.

    Examples
    --------
    >>> nearest_names("Chebishev", ["chebyshev", "clark"])
    ['chebyshev']
    >>> nearest_names("kl", ["clark", "kl_divergence"]), nearest_names("MSE", ["mean_squared_error", "euclidean"])
    (['kl_divergence'], ['mean_squared_error'])
    """
    query = word.strip().lower()
    lower: dict[str, str] = {}
    for name in known:
        lower.setdefault(name.lower(), name)
    words = {name: name.split("_") for name in lower}
    # One of the words of a name, or their initials; a single letter would abbreviate too many.
    short = [name for name in lower if query in words[name] or query == "".join(word[:1] for word in words[name])]
    found = short[:n] if len(query) > 1 else []
    return [lower[name] for name in found or difflib.get_close_matches(query, lower, n=n, cutoff=0.55)]


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
        name if name.isprintable() and name.strip("'\"") == name else repr(name) for name in nearest_names(word, names)
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
    return ", ".join(name if len(name) <= max_length else f"{name[:max_length]}...'" for name in quoted) + more


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


# Control characters but tabs and line breaks, marks that change the direction of text, and halves of characters.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_commands(text: str) -> str:
    r"""A text without the characters that control a terminal; other text, of several lines perhaps, is unchanged.

    Examples
    --------
    >>> print(escape_commands("sky\x1b[31m"))
    sky\u001b[31m
    """
    return _COMMANDS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def escape_control_chars(text: str) -> str:
    r"""A text from a file with control characters escaped, so that it cannot move the cursor or colour a terminal.

    Examples
    --------
    >>> print(escape_control_chars("sky\x1b[31m"))
    sky\x1b[31m
    """
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)
