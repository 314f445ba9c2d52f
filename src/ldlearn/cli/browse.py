"""`ldlearn browse`: a page to look at the rows of a table and at what a model makes of them."""

from typing import Annotated

import typer

from ldlearn.cli import console
from ldlearn.cli import options as opt
from ldlearn.reporting import write_browse_page


def browse(
    data: opt.Data,
    model: opt.Model,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Page to write, an .html file.")],
    id: opt.Id = None,
    keep: Annotated[str | None, typer.Option(metavar="COLS", help="Columns to show; default: texts.")] = None,
    kind: opt.LabelKind = "auto",
    interval: Annotated[float, typer.Option(metavar="LEVEL", help="Nominal coverage of the intervals.")] = 0.9,
    raters: Annotated[float | None, typer.Option(metavar="N", help="Number of raters of a row, if known.")] = None,
    embedding: opt.Embedding = None,
    format: opt.From = None,
    *,
    dialect: opt.DialectOptions,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Write a page to browse rows: texts, labels, degrees; search, sort, select, export.

    One HTML file that needs no network. Intervals and distances need a model of `fit --intervals`.

    \b
    ldlearn browse table.csv --model model.ldl -o page.html
    ldlearn browse new.csv -m model.ldl --keep city,price -o page.html
    """
    if not output.endswith((".html", ".htm")):
        raise typer.BadParameter(f"a page ends in .html, {output!r} does not.", param_hint="-o")
    opt.load_embedding(embedding, model)
    written = write_browse_page(
        data, model, output, id=id, keep=keep, kind=kind, interval=interval, raters=raters, format=format,
        dialect=dialect, overwrite=not no_clobber, on_message=console.log, progress=console.progress,
    )  # fmt: skip
    console.report_written(written, as_json)
