"""Tables of a plan file (TOML): every error names its key, and unknown keys are errors."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import Any, Self

from ldlearn._messages import suggest_name
from ldlearn.exceptions import InputError

ValidNames = Collection[str]
Settings = dict[str, Any]  # values by their keys in a plan


class PlanError(InputError):
    """A plan cannot be used as written; the message begins with the key that is wrong."""


def option(default: Any, **checks: Any) -> Any:
    """A field of a dataclass that a plan can set.

    The checks are keyword arguments of `TomlTable.get`.
    """
    return field(default=default, metadata={"kind": str} | checks)


def describe_spec(content: Settings) -> Settings:
    """The table of a plan for the fields of a dataclass: without its name and what is not set."""
    described = {}
    for key, value in content.items():
        # Not by equality: 0 equals False, and is a value.
        is_unset = value is None or value is False or value == {}
        if key != "name" and not is_unset:
            described[key] = value
    return described


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

    def full_key(self, key: str) -> str:
        """Full name of a key of this table."""
        return f"{self.path}.{key}" if self.path else key

    def error(self, key: str, message: str) -> PlanError:
        """The error for a key."""
        return PlanError(f"{self.full_key(key)}: {message}")

    def check_name(self, key: str, name: str, valid: ValidNames, what: str = "") -> None:
        """Refuse a name under a key that is not valid."""
        if name not in valid:
            advice = suggest_name(name, valid)
            raise self.error(key, f"there is no {what or key} {name!r}; {advice}")

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def get_raw(self, key: str, default: Any = None) -> Any:
        """The value as it stands."""
        self._read.append(key)
        return self._content.get(key, default)

    def get_present(self, keys: Iterable[str]) -> Settings:
        """The values of those keys that the table has, as they stand."""
        return {key: self.get_raw(key) for key in keys if key in self}

    def get(
        self,
        key: str,
        default: Any = None,
        kind: type = str,
        *,
        minimum: int = 0,
        maximum: float = 1.0,
        valid: ValidNames = (),
        what: str = "",
    ) -> Any:
        """A checked value, or the default.

        Parameters
        ----------
        key : str
        default : object
        kind : {str, bool, int, float}
        minimum : int
            The smallest valid value of an int.
        maximum : float
            The largest valid value of a float; the smallest is 0.
        valid : collection of str
            The texts that are valid, if not all are.
        what : str
            What these are names of; the key by default.
        """
        value = self.get_raw(key, default)
        if value is None:
            return None
        # By type, since true is an int in Python.
        fits = type(value) is kind
        if kind is str:
            expected = "text"
        elif kind is bool:
            expected = "true or false"
        elif kind is int:
            expected = f"a whole number of at least {minimum}"
            fits = fits and value >= minimum
        else:
            expected = f"a number from 0 to {maximum:g}"
            fits = type(value) in (int, float) and 0 <= value <= maximum
        if not fits:
            raise self.error(key, f"expected {expected}, got {value!r}.")
        if valid:
            self.check_name(key, value, valid, what)
        return kind(value)

    def get_options(self, cls: type) -> Settings:
        """Checked values of the keys that are options of a dataclass and present in the table."""
        options = {each.name: each.metadata for each in fields(cls) if each.metadata}
        self._read += options
        return {key: self.get(key, **checks) for key, checks in options.items() if key in self}

    def get_texts(
        self, key: str, default: Sequence[str] = (), valid: ValidNames = (), what: str = ""
    ) -> tuple[str, ...]:
        """A list of strings, among the valid ones if these are given.

        One string counts as a list of one.
        """
        value = self.get_raw(key, list(default))
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.error(key, f"expected a list of texts, got {value!r}.")
        for name in names if valid else ():
            self.check_name(key, name, valid, what)
        return tuple(names)

    def get_table(self, key: str) -> Self:
        """A table inside this one, empty if absent."""
        return type(self)(self.get_raw(key, {}), self.full_key(key))

    def entries(self, valid: ValidNames | None = None, what: str = "") -> Settings:
        """All keys and values, which count as read.

        Keys must be among the valid ones, if these are given.
        """
        for key in self._content:
            self._read.append(key)
            if valid is not None:
                self.check_name(key, key, valid, what)
        return self._content

    def check_all_read(self) -> None:
        """Refuse keys that were not read."""
        for key in self._content:
            if key not in self._read:
                known = dict.fromkeys(self._read)
                raise self.error(key, f"unknown key; {suggest_name(key, known)}")
