"""`ldlearn ask`: which rows to annotate next, and which labels look wrong."""

from typing import Annotated

import typer

from ldlearn.cli import console
from ldlearn.cli import options as opt
from ldlearn.tables import ask_table
from ldlearn.tables.files import PIPE


def ask(
    data: opt.Data,
    model: opt.Model,
    output: opt.Output = PIPE,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many rows to ask for.", min=1)] = 50,
    id: opt.Id = None,
    keep: Annotated[str | None, typer.Option(metavar="COLS", help="Columns to write; default: texts.")] = None,
    kind: opt.LabelKind = "auto",
    embedding: opt.Embedding = None,
    format: opt.From = None,
    *,
    dialect: opt.DialectOptions,
    to: opt.To = None,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Choose rows to annotate next, and flag labels that look wrong.

    Rows where another vote reduces the expected error most, without similar ones; then rows with suspicious labels.

    \b
    ldlearn ask table.csv --model model.ldl -n 50 -o ask.csv
    """
    console.check_one_stdout(output, as_json)
    opt.load_embedding(embedding, model)
    written = ask_table(
        data, model, output, n=n, id=id, keep=keep, kind=kind, format=format, dialect=dialect, to=to,
        overwrite=not no_clobber, on_message=console.log, progress=console.progress_unless_printed(output),
    )  # fmt: skip
    console.report_written(written, as_json)
