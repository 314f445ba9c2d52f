"""Tables of a plan file (TOML), read key by key: every error names its key, unknown keys are errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ldlearn.exceptions import InputError, suggest_name


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
            raise PlanError(f"{path}: expected a table, got {content!r}.")
        self._content = dict(content)
        self._read: list[str] = []

    def where(self, key: str) -> str:
        """Full name of a key of this table."""
        return f"{self.path}.{key}" if self.path else key

    def fail(self, key: str, message: str) -> PlanError:
        """The error for a key."""
        return PlanError(f"{self.where(key)}: {message}")

    def check_name(self, key: str, name: str, valid: Collection[str], what: str) -> None:
        """Refuse a name under a key that is not valid."""
        if name not in valid:
            raise self.fail(key, f"there is no {what} {name!r}; {suggest_name(name, valid)}")

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def raw(self, key: str, default: Any = None) -> Any:
        """The value as it stands."""
        self._read.append(key)
        return self._content.get(key, default)

    def _checked(self, key: str, default: Any, expected: str, fits: Callable[[Any], bool]) -> Any:
        value = self.raw(key, default)
        if value is not None and not fits(value):
            raise self.fail(key, f"expected {expected}, got {value!r}.")
        return value

    def text(self, key: str, default: str | None = None, valid: Collection[str] = (), what: str = "choice") -> Any:
        """A string; one of the valid ones, if these are given."""
        value = self._checked(key, default, "text", lambda found: isinstance(found, str))
        if valid and value is not None:
            self.check_name(key, value, valid, what)
        return value

    def texts(
        self, key: str, default: Sequence[str] = (), valid: Collection[str] = (), what: str = "choice"
    ) -> tuple[str, ...]:
        """A list of strings, among the valid ones if these are given; one string counts as a list of one."""
        value = self.raw(key, list(default))
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.fail(key, f"expected a list of texts, got {value!r}.")
        for name in names if valid else ():
            self.check_name(key, name, valid, what)
        return tuple(names)

    def integer(self, key: str, default: int | None = None, least: int = 0) -> Any:
        """A whole number, at least ``least``."""
        expected = f"a whole number of at least {least}"
        return self._checked(key, default, expected, lambda found: _is(int, found) and found >= least)

    def boolean(self, key: str) -> bool:
        """True or false, which is the default."""
        return bool(self._checked(key, False, "true or false", lambda found: isinstance(found, bool)))

    def number(self, key: str, default: float | None = None, most: float = 1.0) -> Any:
        """A number from 0 to ``most``."""
        expected = f"a number from 0 to {most:g}"
        value = self._checked(key, default, expected, lambda found: _is((int, float), found) and 0 <= found <= most)
        return None if value is None else float(value)

    def table(self, key: str) -> TomlTable:
        """A table inside this one, empty if absent."""
        return TomlTable(self.raw(key, {}), self.where(key))

    def entries(self, valid: Collection[str] | None = None, what: str = "") -> dict[str, Any]:
        """All keys and values, which count as read; keys must be among the valid ones, if these are given."""
        for key in self._content:
            self._read.append(key)
            if valid is not None:
                self.check_name(key, key, valid, what)
        return self._content

    def finish(self) -> None:
        """Refuse keys that were not read."""
        for key in self._content:
            if key not in self._read:
                raise self.fail(key, f"unknown key; {suggest_name(key, dict.fromkeys(self._read))}")


def _is(kind: type | tuple[type, ...], value: Any) -> bool:
    """Whether a value is of a kind of numbers; Python counts true and false among them."""
    return isinstance(value, kind) and not isinstance(value, bool)
