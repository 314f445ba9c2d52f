"""`ldlearn import`: answers of raters, as annotation tools export them, made a table that `fit` reads."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import check_one_stdout, note_about_table, say, show_json
from ldlearn.tables.annotations import read_annotations
from ldlearn.tables.formats import check_output, open_output
from ldlearn.tables.source import PIPE


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Export: .json .jsonl .csv .xlsx ...")],
    output: opt.Output = PIPE,
    kind: Annotated[
        str, typer.Option("--as", metavar="KIND", help="votes (counts of raters), labels (0/1), or auto.")
    ] = "auto",
    item: Annotated[str | None, typer.Option(metavar="COL", help="What was rated; default: found by name.")] = None,
    rater: Annotated[str | None, typer.Option(metavar="COL", help="Who rated it; likewise.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COL", help="The label; in Label Studio, the question.")] = None,
    format: opt.From = None,
    *,
    style: opt.StyleOptions,
    to: opt.To = None,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Make a table of answers by raters: Label Studio, doccano, or a long table.

    One row an item: its id, its text or features, and for each label the number of raters who gave it, or 0/1.

    \b
    ldlearn import project.json -o table.csv
    ldlearn import anna.jsonl ben.jsonl --as labels -o table.csv
    ldlearn import ratings.csv --item photo --rater who --label tag -o table.csv
    """
    check_one_stdout(output, as_json)
    check_output(output, files, overwrite=not no_clobber)
    found = read_annotations(files, kind, item=item, rater=rater, label=label, format=format, style=style)
    with open_output(output, found.labels, to) as sink:
        sink.write(found.table)
    for text in found.notes:
        note_about_table(f"{text}.")
    labels = found.labels
    if as_json:
        show_json({"rows": len(found.table), "id": found.id, "labels": labels, "kind": found.kind, "output": output})
    elif output != PIPE:
        say(f"{len(found.table):,} rows, {len(labels)} labels: {output}")
        # quoted: the line is meant to be pasted into a shell
        columns = f"--labels {quote(found.labels_option)} --id {quote(found.id)}"
        # Counts of 0 and 1 look like labels, so that the next command is told.
        columns += " --kind votes" if found.kind == "votes" else ""
        say(f"Next: ldlearn fit {quote(output)} {columns} -o model.ldl")
