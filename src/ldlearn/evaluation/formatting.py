"""Numbers, durations and lists as text, for reports and logs."""

import unicodedata
from collections.abc import Sequence
from typing import Any

from ldlearn.evaluation.record import is_number


def plural(count: int, noun: str) -> str:
    """``1 data set``, ``2 data sets``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def enumerate_names(names: Sequence[str]) -> str:
    """``A, B and C``; in quotation marks if a name has a comma of its own."""
    if any("," in name for name in names):
        names = [f"“{name}”" for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def format_duration(seconds: float) -> str:
    """A duration as text: ``2 min 05 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def format_value(value: Any) -> str:
    """A value of a hyperparameter as text: 0.001, 10, 1e-05; None is the default of the method."""
    if value is None:
        return "default"
    return f"{value:g}" if is_number(value) else str(value)


def strip_control_chars(name: object) -> str:
    """A name on one line, without control characters, which no image format can hold."""
    text = " ".join(str(name).split())
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in ("Cc", "Cs") else sign
        for sign in text
    )
