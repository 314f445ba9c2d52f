"""`ldlearn import-predictions`: predictions made elsewhere become records of a run."""

from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.console import print_result
from ldlearn.experiments import import_predictions as add_records


def import_predictions(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run; its plan defines the splits.")],
    method: Annotated[str, typer.Option(help="Name of the method in tables.")],
    folder: Annotated[Path, typer.Option("--from", metavar="DIR", help="Folder with DATASET/REPEAT.npz and so on.")],
    trained_on: Annotated[str, typer.Option(help="What it was trained on: logical (0/1 labels) or truth.")] = "logical",
) -> None:
    """Add predictions made elsewhere to a run, to be ranked and reported.

    Each file has the degrees of the test rows ("prediction") and of the training rows ("recovery"), or one of these, in
    the order that `ldlearn run PLAN --export-splits DIR` writes.

    \b
    ldlearn run plan.toml --export-splits splits
    ldlearn import-predictions run --method MyNet --from predictions
    """
    added = add_records(run_dir, method, folder, trained_on=trained_on)
    print_result(f"{len(added)} records of {added[0].method} added; `ldlearn report {run_dir}` shows them.")
