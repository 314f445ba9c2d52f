"""`ldlearn export`: a model for runtimes without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.console import say
from ldlearn.cli.options import NoClobber
from ldlearn.tables import export_onnx, load_table_model
from ldlearn.tables.formats import check_output


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model, an .ldl file.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE.onnx", help="Where the graph goes.")],
    no_clobber: NoClobber = False,
) -> None:
    """Write a linear model as ONNX, its preprocessing included.

    \b
    ldlearn export model.ldl -o model.onnx
    """
    if Path(output).suffix != ".onnx":
        raise typer.BadParameter(f"an ONNX file ends in .onnx, {output!r} does not.", param_hint="-o")
    # Before the work: a file that may not be replaced should not be told of after it.
    check_output(output, [model], overwrite=not no_clobber)
    loaded = load_table_model(model)
    export_onnx(loaded, output)
    inputs = {"numbers": loaded.numeric, "texts": loaded.categorical}
    shown = ", ".join(f"{name} ({len(columns)} columns)" for name, columns in inputs.items() if columns)
    say(f"{output}: inputs {shown}; output degrees ({len(loaded.labels)} labels)")
