"""`ldlearn methods`: every method of the library, found by itself."""

from __future__ import annotations

from typing import Annotated

import typer

from ldlearn.cli.console import PlainTable, show
from ldlearn.discovery import all_estimators


def methods(
    kind: Annotated[str | None, typer.Option(help="Only this kind: enhancer, learner or joint.")] = None,
) -> None:
    """List the methods: name, kind, what it does."""
    table = PlainTable("Method", "Kind", "What it does")
    for name, estimator in all_estimators(kind):
        table.add_row(name, estimator.kind, _summary(estimator))
    show(table)


def _summary(estimator: type) -> str:
    return (estimator.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").strip()
