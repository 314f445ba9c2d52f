"""`ldlearn methods`: every method of the library."""

from __future__ import annotations

from typing import Annotated

import typer

from ldlearn.base.discovery import all_estimators
from ldlearn.cli.console import print_table


def methods(
    kind: Annotated[str | None, typer.Option(help="Only this kind: enhancer, learner or joint.")] = None,
) -> None:
    """List the methods: name, kind, summary."""
    rows = [(name, found.kind, _summary(found)) for name, found in all_estimators(kind)]
    print_table(["Method", "Kind", "Summary"], rows)


def _summary(estimator: type) -> str:
    # Docstrings wrap their first sentence, a table wraps by itself.
    return (estimator.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").strip()
