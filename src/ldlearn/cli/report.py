"""`ldlearn report`: the report of a run, from its records."""

from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.console import print_result
from ldlearn.reporting import write_report


def report(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or a file of records.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to; default: the folder of the run.")
    ] = None,
) -> None:
    """Write the report of a run: one HTML page, tables in Markdown and LaTeX, figures."""
    print_result(f"Report: {write_report(run_dir, output)}")
