"""What the commands say: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ldlearn.cli.main import ignoring_closed_pipe
from ldlearn.exceptions import printable
from ldlearn.metrics.against_baselines import Score
from ldlearn.tables import WrittenTable
from ldlearn.tables.progress import silent
from ldlearn.tables.source import PIPE
from ldlearn.tables.table_fit import held_out_scores, signal_words


def note(text: str) -> None:
    """Tell the user something on standard error."""
    with ignoring_closed_pipe(sys.stderr):
        # Line by line: the breaks are ours, other control characters come from files and could steer a terminal.
        typer.echo("\n".join(printable(line) for line in text.split("\n")), err=True)


def say(text: str) -> None:
    """Report something on standard output. If nobody listens any more, the work is done all the same."""
    with ignoring_closed_pipe(sys.stdout):
        typer.echo(text)


def note_about_table(found: str) -> None:
    """Say how a table was understood, or what else the user should know of it."""
    note(f"note: {found}")


def show_json(result: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    say(json.dumps(result, indent=2, ensure_ascii=False, default=str))


def check_one_stdout(output: str, as_json: bool) -> None:
    """Refuse to mix a table and JSON on standard output."""
    if output == PIPE and as_json:
        problem = "standard output cannot hold both the table and the JSON; name a file."
        raise typer.BadParameter(problem, param_hint="-o")


@contextmanager
def progress(task: str, total: int | None, *, is_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if that is a terminal; the result advances it."""
    # a log file would fill with frames of the bar
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    amount_column = DownloadColumn() if is_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount_column, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        identifier = bars.add_task(task, total=total)
        yield lambda amount: bars.advance(identifier, amount)


def progress_beside(output: str) -> Callable[..., Any]:
    """`progress`, unless rows go to the terminal: a bar would be drawn between them."""
    return silent if output == PIPE and sys.stdout.isatty() else progress


def show_table(headings: Sequence[str], rows: Iterable[Iterable[object]], numbers: int = 0) -> None:
    """Print a table on standard output, every cell as it is, whatever a file has put into it.

    Parameters
    ----------
    headings : sequence of str
    rows : iterable of rows
    numbers : int
        The last columns of this number are aligned to the right.
    """
    table = Table(box=None, header_style="bold", pad_edge=False)
    for k, heading in enumerate(headings):
        table.add_column(_as_it_is(heading), justify="right" if k >= len(headings) - numbers else "left")
    for row in rows:
        table.add_row(*map(_as_it_is, row))
    if sys.stdout.isatty():
        Console().print(table)
        return
    console = Console(width=200, no_color=True)  # as wide as needed where there is no terminal
    # Captured, so that the lines go through `say`, which outlives a reader who leaves.
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        say(line.rstrip())


def _as_it_is(cell: object) -> Text:
    # Text, because rich reads [brackets] in a string as markup.
    return Text(printable(str(cell)))


def show_written(written: WrittenTable, as_json: bool) -> None:
    """Say what a command has written, unless it went to standard output."""
    for text in written.notes:
        note_about_table(text)
    if as_json:
        show_json({"rows": written.rows, "labels": written.labels, "output": written.output})
    elif written.output != PIPE:
        say(f"{written.rows:,} rows: {written.output}")


def show_quality(facts: dict[str, Any]) -> None:
    """Scores on rows held out, beside the baselines, if there are any; then the warnings."""
    if scores := held_out_scores(facts):
        show_scores(scores, f"On {facts['holdout']['rows']:,} rows held out")
        if facts["holdout"]["better_than_baselines"]:  # otherwise it is among the warnings
            say(signal_words(facts["holdout"]))
    for warning in facts["warnings"]:
        note(f"warning: {warning}")


def show_scores(scores: list[Score], title: str) -> None:
    """Print scores as a table."""
    beside = ["model", "mean", "uniform", *["classifier"] * all(score.classifier is not None for score in scores)]
    rows = []
    for score in scores:
        # In words: a colour would be lost in a file.
        mark = "" if score.beats_baselines else "  (no better than a baseline)"
        rows.append([score.heading + mark, *(f"{getattr(score, name):.4f}" for name in beside)])
    show_table([title, *beside], rows, numbers=len(beside))
