"""Numbers, durations and lists as text, for reports and logs."""

import re
from collections.abc import Sequence
from typing import Any

from ldlearn.evaluation.record import is_finite_number

# Control characters and halves of characters.
_CONTROL_CHARS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def plural(count: int, noun: str) -> str:
    """``1 data set``, ``2 data sets``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def enumerate_names(names: Sequence[str]) -> str:
    """``A, B and C``; in quotation marks if a name has a comma of its own."""
    if any("," in name for name in names):
        names = [f"“{name}”" for name in names]
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def format_duration(seconds: float) -> str:
    """A duration as text: ``2 min 05 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    if minutes:
        return f"{minutes} min {rest:02d} s"
    return f"{rest} s"


def format_value(value: Any) -> str:
    """A value of a hyperparameter as text: 0.001, 10, 1e-05; None is the default of the method."""
    if value is None:
        return "default"
    return f"{value:g}" if is_finite_number(value) else str(value)


def strip_control_chars(name: object) -> str:
    """A name on one line, without control characters, which no image format can hold."""
    text = " ".join(str(name).split())
    return _CONTROL_CHARS.sub("\N{REPLACEMENT CHARACTER}", text)
