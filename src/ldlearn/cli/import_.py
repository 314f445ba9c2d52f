"""`ldlearn import`: annotations of raters, as annotation tools export them, as a table for `fit`."""

from shlex import quote
from typing import Annotated

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import check_one_stdout, log, print_json, print_result
from ldlearn.compose.method_names import make_enhancer
from ldlearn.tables.annotations import read_annotations
from ldlearn.tables.files import PIPE
from ldlearn.tables.formats import check_output, write_table
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.values import to_labels


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Export: .json .jsonl .csv .xlsx ...")],
    output: opt.Output = PIPE,
    kind: Annotated[
        str, typer.Option("--as", metavar="KIND", help="votes (numbers of raters), labels (0/1), or auto.")
    ] = "auto",
    item: Annotated[str | None, typer.Option(metavar="COL", help="Item column; default: found by name.")] = None,
    rater: Annotated[str | None, typer.Option(metavar="COL", help="Rater column; default: found by name.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COL", help="Label column, or question of a tool.")] = None,
    zeros: Annotated[str | None, typer.Option(metavar="none|less", help="0 means none, or less: for fit.")] = None,
    *,
    reading: opt.ReadingOptions,
    to: opt.To = None,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Make a table of annotations: Label Studio, Argilla, doccano, Prodigy, or long format.

    One row for each item: identifier, text or features, and for each label the number of raters who gave it, or 0/1.

    \b
    ldlearn import project.json -o table.csv
    ldlearn import anna.jsonl ben.jsonl --as labels -o table.csv
    ldlearn import ratings.csv --item photo --rater who --label tag -o table.csv
    """
    check_one_stdout(output, as_json)
    check_output(output, files, overwrite=not no_clobber)
    how = {name: value for name, value in reading.arguments().items() if name in ("format", "dialect")}
    found = read_annotations(files, kind, item=item, rater=rater, label=label, **how)
    write_table(output, [found.table], found.labels, to)
    for message in found.messages:
        log(f"{message}.")
    if zeros is None and found.kind == "labels":
        labels = TableLabels(found.labels, to_labels(found.table, found.labels), None)
        labels.report_zeros(make_enhancer(), log)
    if as_json:
        facts = {"id": found.id, "labels": found.labels, "kind": found.kind, "output": output}
        print_json({"rows": len(found.table)} | facts)
    elif output != PIPE:
        print_result(f"{len(found.table):,} rows, {len(found.labels)} labels: {output}")
        # quoted: the line is meant to be pasted into a shell
        columns = f"--labels {quote(found.labels_option)} --id {quote(found.id)}"
        # Counts of 0 and 1 look like 0/1 labels.
        columns += " --kind votes" * (found.kind == "votes") + (f" --zeros {zeros}" if zeros else "")
        print_result(f"Next: ldlearn fit {quote(output)} {columns} -o model.ldl")
