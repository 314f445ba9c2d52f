"""Live progress of a run on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ldlearn.evaluation import Record
from ldlearn.evaluation.wording import duration_text
from ldlearn.experiments.cells import Cell, Work
from ldlearn.experiments.watchers import TimeLeft, Watcher


class LiveWatcher(Watcher):
    """Shows a bar of cells, the last one done, and the time left.

    Parameters
    ----------
    console : rich.console.Console
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._left = TimeLeft([])
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
            TextColumn("{task.description}", style="dim", markup=False),
            console=console,
            # the bar goes away when the tables are printed
            transient=True,
        )

    def begin(self, cells: int, recorded: int, works: list[Work]) -> None:
        """Draw the bar."""
        self._left = TimeLeft(works)
        before = f" ({recorded} recorded before)" if recorded else ""
        self._console.print(f"{cells} cells{before}.", highlight=False)
        self._task = self._bar.add_task("", total=cells, completed=recorded, left="")
        self._bar.start()

    def note(self, sentence: str) -> None:
        """Print it above the bar."""
        self._bar.console.print(sentence, style="yellow", highlight=False, markup=False)

    def worked(self, work: Work, seconds: float) -> None:
        """Renew the estimate."""
        self._left.worked(work, seconds)
        self._bar.update(self._task, left=f"{duration_text(self._left.seconds())} left")

    def recorded(self, cell: Cell, record: Record) -> None:
        """Move the bar."""
        self._bar.update(self._task, advance=1, description=str(cell))
        if record.status == "failed":
            self.note(f"{cell} failed: {record.message}")

    def end(self) -> None:
        """Leave the terminal as it was."""
        self._bar.stop()
