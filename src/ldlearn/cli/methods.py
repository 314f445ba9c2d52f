"""`ldlearn methods`: every method of the library, found by itself."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ldlearn.discovery import all_estimators


def methods(
    kind: Annotated[str | None, typer.Option(help="Only this kind: enhancer, learner or joint.")] = None,
) -> None:
    """List the methods: name, kind, what it does."""
    table = Table("Method", "Kind", "What it does", box=None, header_style="bold")
    for name, estimator in all_estimators(kind):
        table.add_row(name, estimator.kind, _summary(estimator))
    Console().print(table)


def _summary(estimator: type) -> str:
    return (estimator.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").strip()
