"""Commands that apply a model to rows for people to look at: browse, explain, ask, suggest."""

from typing import Annotated

from typer import Option

from ldlearn import tables
from ldlearn.cli.console import check_one_stdout, log, print_json, print_table, report_written
from ldlearn.cli.options import (
    Data,
    FittedModel,
    Json,
    OutputTable,
    check_ending,
    report_on_console,
)
from ldlearn.tables import ColumnOptions, ReadingOptions, WritingOptions
from ldlearn.tables.files import PIPE

_RowColumns = Annotated[ColumnOptions, {"id", "kind", "blank"}]
_RowOutput = Annotated[WritingOptions, {"keep", "overwrite"}]


def browse(
    data: Data,
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Page to write, an .html file.")
    ],
    interval: Annotated[
        float, Option(metavar="LEVEL", help="Nominal coverage of the intervals.")
    ] = 0.9,
    raters: Annotated[
        float | None, Option(metavar="N", help="Number of raters of a row, if known.")
    ] = None,
    *,
    fitted: FittedModel,
    columns: _RowColumns,
    reading: ReadingOptions,
    writing: _RowOutput,
    as_json: Json = False,
) -> None:
    """Write a page to browse rows: texts, labels, degrees; search, sort, select, export.

    One HTML file that needs no network. Models of counts show the votes of each row, too. Others
    need `fit --intervals` for intervals and distances.

    \b
    ldlearn browse table.csv --model model.ldl -o page.html
    ldlearn browse new.csv -m model.ldl --keep city,price -o page.html
    """
    from ldlearn.reporting import write_browse_page  # the other commands do not need matplotlib

    check_ending(output, "a page", ".html", ".htm")
    model = fitted.import_code()
    written = write_browse_page(
        data,
        model,
        output,
        interval=interval,
        raters=raters,
        columns=columns,
        writing=writing,
        reading=report_on_console(reading),
    )
    report_written(written, as_json)


def explain(
    data: Data,
    row: Annotated[int, Option(metavar="N", help="Number of the row; the header is row 1.")],
    top: Annotated[int, Option(metavar="N", help="How many contributions to print.", min=1)] = 10,
    *,
    fitted: FittedModel,
    reading: ReadingOptions,
    as_json: Json = False,
) -> None:
    """Explain one prediction: contributions of words and columns to each label.

    Differences of centred log-degrees to the average training row, exact for linear models.

    \b
    ldlearn explain new.csv --model model.ldl --row 17
    """
    model = fitted.import_code()
    found = tables.explain_row(data, model, row, reading=report_on_console(reading))
    for message in found.messages:
        log(message)
    if as_json:
        print_json(found.as_dict())
        return
    rows = list(zip(found.parts, found.contributions, strict=True))
    if n_others := len(rows[top:]):
        rows[top:] = [(f"({n_others} others)", found.contributions[top:].sum(axis=0))]
    rows.append(("sum", found.contributions.sum(axis=0)))
    lines = [[name, *(f"{value:+.3f}" for value in values)] for name, values in rows]
    for name, degrees in {"average row": found.average_degrees, "this row": found.degrees}.items():
        lines.append([f"degree, {name}", *(f"{value:.3f}" for value in degrees)])
    print_table([f"Row {row}: contribution of", *found.labels], lines, n_numeric=len(found.labels))


def ask(
    data: Data,
    output: OutputTable = PIPE,
    n: Annotated[int, Option("-n", metavar="N", help="How many rows to ask for.", min=1)] = 50,
    *,
    columns: Annotated[ColumnOptions, {"id", "kind", "blank", "groups"}],
    fitted: FittedModel,
    reading: ReadingOptions,
    writing: Annotated[WritingOptions, {"to", "raw", "keep", "overwrite"}],
    as_json: Json = False,
) -> None:
    """Choose rows to annotate next, and flag labels that look wrong.

    Rows where another vote reduces the expected error most, without similar ones; of models of
    counts, rows where it reduces the variance of the degrees most. Then rows with suspicious
    labels or votes.

    \b
    ldlearn ask table.csv --model model.ldl -n 50 -o ask.csv
    """
    check_one_stdout(output, as_json)
    model = fitted.import_code()
    written = tables.ask_table(
        data,
        model,
        output,
        n=n,
        columns=columns,
        writing=writing,
        reading=report_on_console(reading, output),
    )
    report_written(written, as_json)


def suggest(
    data: Data,
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="File to write: .json or .parquet.")
    ],
    program: Annotated[
        str, Option("--for", metavar="NAME", help="argilla, label-studio or datasets.")
    ],
    question: Annotated[
        str, Option(metavar="NAME", help="Question of the annotation tool.")
    ] = "label",
    *,
    fitted: FittedModel,
    columns: _RowColumns,
    reading: ReadingOptions,
    writing: _RowOutput,
    as_json: Json = False,
) -> None:
    """Write degrees as suggestions (Argilla, Label Studio) or soft labels (Hugging Face).

    \b
    ldlearn suggest new.csv --model model.ldl --for argilla -o records.json
    ldlearn suggest table.csv -m model.ldl --for datasets -o soft.parquet
    """
    model = fitted.import_code()
    written = tables.write_suggestions(
        data,
        model,
        output,
        program=program,
        question=question,
        columns=columns,
        writing=writing,
        reading=report_on_console(reading),
    )
    report_written(written, as_json)
