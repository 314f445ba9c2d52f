"""`ldlearn report`: from the records of a run to its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.console import say
from ldlearn.reporting import write_report


def report(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or a file of records.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to; that of the run by default.")
    ] = None,
) -> None:
    """Write the report of a run: one HTML page, tables in Markdown and LaTeX, figures."""
    say(f"Report: {write_report(run_dir, output)}")
