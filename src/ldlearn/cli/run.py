"""`ldlearn run`: an experiment from its plan to its records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.options import Jobs, Log, Quiet
from ldlearn.cli.run_tables import run_and_show
from ldlearn.experiments import load_plan


def run(
    plan: Annotated[str, typer.Argument(help="A plan file (TOML), or the name of a shipped plan such as quick.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the run; an interrupted run continues.")],
    jobs: Jobs = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a running Dask scheduler that does the work instead.")
    ] = None,
    quiet: Quiet = False,
    log: Log = False,
) -> None:
    """Run an experiment; records go to OUTPUT/records.jsonl."""
    run_and_show(load_plan(plan), output, jobs=jobs, scheduler=scheduler, quiet=quiet, log=log)
