"""Writing a resolved plan as TOML (the standard library only reads it)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def to_toml(content: Mapping[str, Any]) -> str:
    """TOML text of nested mappings; entries that are None or empty are left out.

    Parameters
    ----------
    content : mapping
        Of text, numbers, booleans, lists and mappings.

    Examples
    --------
    >>> print(to_toml({"name": "tiny", "protocol": {"repeats": 2, "shares": [0.6, 0.2, 0.2]}}))
    name = "tiny"
    <BLANKLINE>
    [protocol]
    repeats = 2
    shares = [0.6, 0.2, 0.2]
    <BLANKLINE>
    """
    return "\n".join(_lines(content, ())) + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items() if value is not None]
    for key, value in table.items():
        if isinstance(value, Mapping) and (value or len(path) == 1):
            lines += ["", f"[{'.'.join(_key(part) for part in (*path, key))}]", *_lines(value, (*path, key))]
    return lines


def _key(key: str) -> str:
    return key if _BARE.match(key) else json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(entry) for entry in value)}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items()) + "}"
    return repr(value)
