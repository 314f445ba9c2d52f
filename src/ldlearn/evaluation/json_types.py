"""JSON and TOML of unknown origin: parsed, and checked against the type that it should have."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from ldlearn.exceptions import InputError

LARGEST = 1e150  # of a number: the sum of the squares of many is finite
_LARGEST_INTEGER = 2**63
_DEEPEST = 10  # lists and objects within each other, where a value may be anything
_MOST_TOML_BYTES = 1 << 20
# In a line of TOML: parsing a.b.c. ... takes time and memory of the square of its length.
_MOST_POINTS = 1000
_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a character, which no file can hold


def parse_json(content: bytes) -> Any:
    """The value of a JSON text; an InputError if it is none, or is nested too deeply."""
    return _parse(content, lambda text: json.loads(text, parse_constant=_refuse_constant))


def parse_toml(content: bytes) -> dict[str, Any]:
    """The tables of a TOML text; an InputError if it is none, or would take too long to parse."""
    most_points = max(line.count(b".") for line in content.splitlines() or [b""])
    if len(content) > _MOST_TOML_BYTES or most_points > _MOST_POINTS:
        raise InputError(
            f"it has more than {_MOST_TOML_BYTES:,} bytes, "
            f"or a line with more than {_MOST_POINTS:,} points"
        )
    return _parse(content, tomllib.loads)


def _parse(content: bytes, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(content.decode())
    except RecursionError:
        raise InputError("it is nested too deeply") from None
    except ValueError as error:
        raise InputError(str(error)) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def read_value(value: Any, kind: Any) -> Any:
    """A value of this type; objects become dataclasses, whose unknown keys are ignored.

    Parameters
    ----------
    value : object
        Made of the types that JSON and TOML have.
    kind : type
        A dataclass, ``str``, ``bool``, ``int``, ``float``, ``Any``, a union, a Literal,
        ``list[...]`` or ``Mapping[str, ...]``.

    Raises
    ------
    InputError
        If the value has another type, a number is too large, or a text cannot be written to a file.

    Examples
    --------
    >>> read_value([1, 2.5], list[float])
    [1, 2.5]
    >>> read_value({"a": None}, Mapping[str, int])
    Traceback (most recent call last):
    ...
    ldlearn.exceptions.InputError: expected a whole number
    """
    return _reader(kind)(value)


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """The function that checks values of a type; made once, since files have many values."""
    origin = get_origin(kind)
    arguments = get_args(kind)
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    if kind is Any:
        return _read_anything
    if origin is UnionType:
        return _union_reader(arguments)
    if origin is list:
        read_entry = _reader(arguments[0])
        return lambda value: [read_entry(entry) for entry in _check(value, list)]
    if origin is Mapping:
        read_entry = _reader(arguments[1])
        return lambda value: _read_entries(_check(value, dict), read_entry)
    if origin is Literal:
        return lambda value: _check_choice(value, arguments)
    return lambda value: _check(value, kind)


def _read_entries(content: Mapping[Any, Any], read_entry: Callable[[Any], Any]) -> dict[str, Any]:
    return {_check(key, str): read_entry(entry) for key, entry in content.items()}


def _check_choice(value: Any, choices: tuple[str, ...]) -> Any:
    if value not in choices:
        raise InputError(f"expected one of {', '.join(choices)}")
    return value


def _dataclass_reader(kind: Any) -> Callable[[Any], Any]:
    readers = {name: _reader(hint) for name, hint in get_type_hints(kind).items()}
    required = set()
    for each in fields(kind):
        if each.default is each.default_factory is MISSING:
            required.add(each.name)

    def read(value: Any) -> Any:
        absent = required - _check(value, dict).keys()
        if absent:
            raise InputError(f"it must have {min(absent)!r}")
        given = {}
        for name in readers.keys() & value.keys():
            try:
                given[name] = readers[name](value[name])
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
        return kind(**given)

    return read


def _union_reader(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    readers = [_reader(kind) for kind in kinds if kind is not NoneType]

    def read(value: Any) -> Any:
        if value is None and NoneType in kinds:
            return None
        for each in readers[:-1]:
            try:
                return each(value)
            except InputError:
                continue
        return readers[-1](value)

    return read


def _read_anything(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise InputError(f"lists and objects may be nested {_DEEPEST} deep")
    if isinstance(value, list):
        return [_read_anything(entry, depth + 1) for entry in value]
    if isinstance(value, dict):
        return _read_entries(value, lambda entry: _read_anything(entry, depth + 1))
    return None if value is None else _check(value, type(value))


_EXPECTED = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def _check(value: Any, kind: type) -> Any:
    """The value, if it has this type, which JSON or TOML has, and is valid."""
    # A whole number is a number, but true and false are none.
    is_valid = type(value) is kind or (kind is float and type(value) is int)
    if isinstance(value, str):
        is_valid = is_valid and not _SURROGATE.search(value)
    elif isinstance(value, (int, float)):
        limit = LARGEST if isinstance(value, float) else _LARGEST_INTEGER
        is_valid = is_valid and abs(value) <= limit
    if not is_valid:
        raise InputError(f"expected {_EXPECTED.get(kind, 'a value of JSON')}")
    return value
