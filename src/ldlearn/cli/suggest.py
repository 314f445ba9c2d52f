"""`ldlearn suggest`: degrees for annotation tools and for training."""

from typing import Annotated

import typer

from ldlearn.cli import console
from ldlearn.cli import options as opt
from ldlearn.tables import write_suggestions


def suggest(
    data: opt.Data,
    model: opt.Model,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write: .json or .parquet.")],
    program: Annotated[str, typer.Option("--for", metavar="NAME", help="argilla, label-studio or datasets.")],
    question: Annotated[str, typer.Option(metavar="NAME", help="Question of the annotation tool.")] = "label",
    id: opt.Id = None,
    keep: Annotated[str | None, typer.Option(metavar="COLS", help="Columns to write; default: texts.")] = None,
    kind: opt.LabelKind = "auto",
    embedding: opt.Embedding = None,
    format: opt.From = None,
    *,
    dialect: opt.DialectOptions,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Write degrees as suggestions (Argilla, Label Studio) or soft labels (Hugging Face).

    \b
    ldlearn suggest new.csv --model model.ldl --for argilla -o records.json
    ldlearn suggest table.csv -m model.ldl --for datasets -o soft.parquet
    """
    opt.load_embedding(embedding, model)
    written = write_suggestions(
        data, model, output, program=program, question=question, id=id, keep=keep, kind=kind, format=format,
        dialect=dialect, overwrite=not no_clobber, on_message=console.log, progress=console.progress,
    )  # fmt: skip
    console.report_written(written, as_json)
