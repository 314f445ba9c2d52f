"""Tables of a plan file (TOML), read key by key: every error names its key, unknown keys are errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldlearn.errors import InputError, hint


class PlanError(InputError):
    """A plan cannot be used as written; the message begins with the key that is wrong."""


class TomlTable:
    """A table of a plan, read key by key.

    Parameters
    ----------
    content : mapping
    path : str
        The keys that lead to this table, for errors: ``"methods.GLLE"``.
    """

    def __init__(self, content: Any, path: str) -> None:
        self.path = path
        if not isinstance(content, Mapping):
            raise PlanError(f"{path}: expected a table, got {_kind(content)}.")
        self._content = dict(content)
        self._asked: list[str] = []

    def where(self, key: str) -> str:
        """Full name of a key of this table."""
        return f"{self.path}.{key}" if self.path else key

    def fail(self, key: str, message: str) -> PlanError:
        """The error for a key."""
        return PlanError(f"{self.where(key)}: {message}")

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def raw(self, key: str, default: Any = None) -> Any:
        """The value as it stands."""
        self._asked.append(key)
        return self._content.get(key, default)

    def text(self, key: str, default: str | None = None, choices: Sequence[str] = ()) -> Any:
        """A string, one of the choices if there are any."""
        value = self.raw(key, default)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.fail(key, f"expected text, got {_kind(value)}.")
        if choices and value not in choices:
            raise self.fail(key, f"{value!r} is not one of {', '.join(choices)}.")
        return value

    def integer(self, key: str, default: int | None = None, least: int = 0) -> Any:
        """A whole number, at least ``least``."""
        value = self.raw(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.fail(key, f"expected a whole number of at least {least}, got {value!r}.")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, f"expected true or false, got {value!r}.")
        return value

    def number(self, key: str, default: float | None = None, low: float = 0.0, high: float = float("inf")) -> Any:
        """A number between ``low`` and ``high``."""
        value = self.raw(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.fail(key, f"expected a number from {low:g} to {high:g}, got {value!r}.")
        return float(value)

    def texts(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        """A list of strings; one string counts as a list of one."""
        value = self.raw(key, list(default))
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.fail(key, f"expected a list of texts, got {_kind(value)}.")
        return tuple(value)

    def table(self, key: str) -> TomlTable:
        """A table inside this one, empty if absent."""
        return TomlTable(self.raw(key, {}), self.where(key))

    def mapping(self, key: str) -> dict[str, Any]:
        """A table whose keys are free."""
        return dict(self.table(key)._content)

    def items(self) -> list[tuple[str, Any]]:
        """All keys and values; none of them is unknown then."""
        self._asked += list(self._content)
        return list(self._content.items())

    def finish(self) -> None:
        """Complain about keys nobody asked for."""
        for key in self._content:
            if key not in self._asked:
                raise self.fail(key, f"unknown key; {hint(key, dict.fromkeys(self._asked))}")


def _kind(value: Any) -> str:
    words = {dict: "a table", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return words.get(type(value), type(value).__name__)
