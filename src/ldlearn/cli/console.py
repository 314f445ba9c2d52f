"""Output of the commands: results on standard output, everything else on standard error."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from ldlearn._messages import escape_commands, escape_control_chars
from ldlearn.cli.main import ignore_closed_pipe
from ldlearn.evaluation.record import to_json
from ldlearn.metrics import get_metric
from ldlearn.metrics.against_baselines import Score, describe_vote_scores
from ldlearn.tables import WrittenTable
from ldlearn.tables.files import PIPE
from ldlearn.tables.table_fit import describe_signal, held_out_recovery, held_out_scores
from ldlearn.tables.vote_recovery import VoteRecovery


def print_result(text: str) -> None:
    """Print on standard output, without characters that control a terminal."""
    _print_line(escape_commands(text))


def _print_line(text: str) -> None:
    """Print on standard output; if its reader has closed it, the command continues."""
    with ignore_closed_pipe(sys.stdout):
        typer.echo(text)


def quote_for_shell(text: str) -> str:
    """A word of a command that can be pasted into a shell.

    Control characters are escaped as bash and zsh do.
    """
    if escape_commands(text) == text:
        return shlex.quote(text)
    # As bytes, since names of files need not be UTF-8.
    codes = escape_commands(text.replace("\\", "\\\\").replace("'", "\\'"))
    return "$'" + re.sub(r"\\udc([89a-f][0-9a-f])", r"\\x\1", codes) + "'"


def print_message(text: str) -> None:
    """Print on standard error."""
    with ignore_closed_pipe(sys.stderr):
        # Line by line: other control characters than line breaks come from files and could control
        # a terminal.
        typer.echo("\n".join(escape_control_chars(line) for line in text.split("\n")), err=True)


def log(message: str) -> None:
    """Print how a table was read, or another message about it."""
    print_message(f"note: {message}")


def print_warning(message: str) -> None:
    """Print a warning."""
    print_message(f"warning: {message}")


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object; numbers that are not finite, which JSON lacks, are null."""
    print_result(json.dumps(to_json(result), indent=2, ensure_ascii=False, default=str))


def check_one_stdout(output: str, as_json: bool) -> None:
    """Refuse to mix a table and JSON on standard output."""
    if output == PIPE and as_json:
        raise typer.BadParameter(
            "standard output cannot hold both table and JSON; name a file.", param_hint="-o"
        )


@contextmanager
def progress(
    task: str, total: int | None, *, is_bytes: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, if that is a terminal.

    Yields a function that advances the bar.
    """
    # A log file would fill with frames of the bar.
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    amount = DownloadColumn() if is_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        identifier = bars.add_task(task, total=total)
        yield lambda amount: bars.advance(identifier, amount)


def print_table(
    headings: Sequence[str], rows: Iterable[Iterable[object]], n_numeric: int = 0, title: str = ""
) -> None:
    """Print a table, its cells verbatim; the last `n_numeric` columns are aligned to the right."""
    table = Table(
        title=plain_text(title) if title else None,
        box=None,
        pad_edge=False,
        header_style="bold",
        title_style="bold cyan",
        title_justify="left",
    )
    for heading in headings:
        table.add_column(plain_text(heading))
    for column in table.columns[len(headings) - n_numeric :]:
        column.justify = "right"
    for row in rows:
        table.add_row(*map(plain_text, row))
    console = Console()
    if not sys.stdout.isatty():
        console = Console(width=200, no_color=True)  # as wide as needed
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        _print_line(line.rstrip())


def plain_text(cell: object, style: str = "") -> Text:
    """Text that rich prints verbatim; it would read [brackets] in a string as markup."""
    if isinstance(cell, Text):
        return cell
    return Text(escape_control_chars(str(cell)), style)


def report_written(written: WrittenTable, as_json: bool) -> None:
    """Report what a command has written, unless it was written to standard output."""
    for message in written.messages:
        log(message)
    if as_json:
        print_json({"rows": written.rows, "labels": written.labels, "output": written.output})
    elif written.output != PIPE:
        print_result(f"{written.rows:,} rows: {written.output}")


def report_quality(facts: dict[str, Any], n_labels: int) -> None:
    """Print the scores on held-out rows, if there are any, and then the warnings.

    The scores of the baselines stand beside them.
    """
    if scores := held_out_scores(facts):
        held = facts["holdout"]
        title = f"On {held['rows']:,} rows held out"
        votes = held.get("votes")
        if votes is not None:
            title += f", {votes:,.10g} votes"
        print_scores(scores, title)
        if held["better_than_baselines"]:  # otherwise a warning says so
            print_result(describe_signal(held))
        recovery = held_out_recovery(facts)
        if recovery is not None:
            print_recovery(recovery)
        if votes is not None:
            print_result(describe_vote_scores(n_labels))
    for warning in facts["warnings"]:
        print_warning(warning)


def print_recovery(recovery: VoteRecovery) -> None:
    """Print the scores of degrees recovered from half of the votes of a row."""
    print_result(
        "Recovery from half of the votes of a row, scored by the other half "
        f"({recovery.rows:,} rows, {recovery.votes:,.0f} votes):"
    )
    columns = ["", "recovered", "prediction", "raw shares", "Laplace"]
    values = [
        recovery.recovered,
        recovery.prediction,
        recovery.raw_shares,
        recovery.smoothed_shares,
    ]
    row = [get_metric("cross_entropy").heading, *(f"{value:.4f}" for value in values)]
    print_table(columns, [row], n_numeric=len(values))
    if recovery.better_than_baselines:  # otherwise a warning says so
        print_result(recovery.describe())


def print_scores(scores: list[Score], title: str) -> None:
    """Print scores of a model and of the baselines as a table."""
    columns = ["model", "mean", "uniform"]
    if None not in [score.classifier for score in scores]:
        columns.append("classifier")
    rows = []
    for score in scores:
        heading = score.heading
        if not score.beats_baselines:  # as text: a colour would be lost in a file
            heading += "  (no better than a baseline)"
        rows.append([heading, *(f"{getattr(score, name):.4f}" for name in columns)])
    print_table([title, *columns], rows, n_numeric=len(columns))
