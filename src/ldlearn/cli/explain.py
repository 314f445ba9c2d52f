"""`ldlearn explain`: contributions of words and columns to the degrees of one row."""

from typing import Annotated

import numpy as np
import typer

from ldlearn.cli import console
from ldlearn.cli import options as opt
from ldlearn.tables import explain_row


def explain(
    data: opt.Data,
    model: opt.Model,
    row: Annotated[int, typer.Option(metavar="N", help="Number of the row; the header is row 1.")],
    top: Annotated[int, typer.Option(metavar="N", help="How many contributions to print.", min=1)] = 10,
    embedding: opt.Embedding = None,
    format: opt.From = None,
    *,
    dialect: opt.DialectOptions,
    as_json: opt.Json = False,
) -> None:
    """Explain one prediction: contributions of words and columns to each label.

    Differences of centred log-degrees to the average training row, exact for linear models.

    \b
    ldlearn explain new.csv --model model.ldl --row 17
    """
    opt.load_embedding(embedding, model)
    found = explain_row(data, model, row, format=format, dialect=dialect, on_message=console.log)
    for message in found.messages:
        console.log(message)
    if as_json:
        console.print_json(found.as_dict())
        return
    rows: list[tuple[str, np.ndarray]] = list(zip(found.parts, found.contributions, strict=True))
    if n_others := len(rows[top:]):
        rows[top:] = [(f"({n_others} others)", found.contributions[top:].sum(axis=0))]
    lines = [[name, *(f"{value:+.3f}" for value in values)] for name, values in rows]
    lines.append(["sum", *(f"{value:+.3f}" for value in found.contributions.sum(axis=0))])
    for name, degrees in {"average row": found.average_degrees, "this row": found.degrees}.items():
        lines.append([f"degree, {name}", *(f"{value:.3f}" for value in degrees)])
    console.print_table([f"Row {row}: contribution of", *found.labels], lines, n_numeric=len(found.labels))
