"""`ldlearn export`: a model for runtimes without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.console import print_result
from ldlearn.cli.options import NoClobber
from ldlearn.tables import export_onnx, load_table_model
from ldlearn.tables.formats import check_output


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file (.ldl).")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE.onnx", help="ONNX file to write.")],
    no_clobber: NoClobber = False,
) -> None:
    """Write a linear model as ONNX, its preprocessing included.

    \b
    ldlearn export model.ldl -o model.onnx
    """
    if Path(output).suffix != ".onnx":
        raise typer.BadParameter(f"an ONNX file ends in .onnx, {output!r} does not.", param_hint="-o")
    # Before the work: an output that must not be overwritten is an error at once.
    check_output(output, [model], overwrite=not no_clobber)
    loaded = load_table_model(model)
    export_onnx(loaded, output)
    inputs = {"numbers": loaded.numeric, "texts": loaded.categorical}
    columns = ", ".join(f"{name} ({len(names)} columns)" for name, names in inputs.items() if names)
    print_result(f"{output}: inputs {columns}; output degrees ({len(loaded.labels)} labels)")
