"""A finding of the audit of the paper: what is in print, what is true, and how to see it."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from research.paper.printed_tables import read_text

Severity = Literal["slip", "conclusion", "impossible", "doubt"]
_WIDTH = 110


@dataclass(frozen=True)
class Finding:
    """A place where the paper and a computation disagree.

    Attributes
    ----------
    id : str
        Its topic and the place, as ``"ranks/S5"``.
    claim : str
        What is in print.
    truth : str
        What the computation gives.
    how : str
        How it was computed, and what was assumed.
    severity : {"slip", "conclusion", "impossible", "doubt"}
        No statement of the paper hangs on it; one does; no experiment can give such a value;
        likely, not proved.
    details : tuple of str
        The cells concerned, one each.
    """

    id: str
    claim: str
    truth: str
    how: str
    severity: Severity
    details: tuple[str, ...] = ()

    @classmethod
    def of(cls, id: str, values: Mapping[str, object], details: Sequence[str] = ()) -> Finding:
        """A finding from the template in ``data/findings.toml``, filled with values."""
        # A finding may override parts of the template of its topic.
        templates = _templates()[id.partition("/")[0]] | _templates().get(id, {})
        return cls(
            id,
            **{part: text.format(**values) for part, text in templates.items()},
            details=tuple(details),
        )

    @property
    def topic(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]

    def __str__(self) -> str:
        sections = {"in print": self.claim, "found": self.truth, "how": self.how}
        lines = [f"{self.id} ({self.severity})"]
        lines += [_wrapped(f"{heading}: ", text) for heading, text in sections.items()]
        lines += [_wrapped("  - ", detail) for detail in self.details]
        return "\n".join(lines)


@cache
def _templates() -> dict[str, Any]:
    return tomllib.loads(read_text("findings.toml"))


def _wrapped(heading: str, text: str) -> str:
    indent = "  " + " " * len(heading)
    return textwrap.fill(text, _WIDTH, initial_indent=f"  {heading}", subsequent_indent=indent)
