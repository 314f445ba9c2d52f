"""The pages of the leaderboard, computed from its records: README.md with the answers, tables.md
with all scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean

from benchmarks.leaderboard.plans import CASES, LEFT_OUT, POINTS, RECORDS, SETTINGS, read_board
from ldlearn.evaluation import (
    Difference,
    MethodScore,
    Record,
    Results,
    Spread,
    Task,
    TaskTable,
    costs,
    difference,
)
from ldlearn.evaluation.formatting import enumerate_names, format_duration
from ldlearn.metrics import METRICS

FOLDER = Path(__file__).parent
METRIC = METRICS["intersection"]
TASKS: dict[Task, str] = {
    "recovery": "degrees of the labelled rows",
    "prediction": "degrees of new rows",
}


@dataclass(frozen=True)
class Board:
    """One task of one case and setting.

    Attributes
    ----------
    table : TaskTable
    gaps : dict of str to dict of str to Difference
        By method and data set, how much better a method is than the baseline with the best average
        rank.
    seconds : dict of str to Spread
        CPU time of a fit.
    scores : dict of (str, str, int) to float
        By method, data set and repeat.
    uninformative : list of str
        Data sets that are left out, because every label is constant.
    """

    table: TaskTable
    gaps: Mapping[str, Mapping[str, Difference]]
    seconds: Mapping[str, Spread | None]
    scores: Mapping[tuple[str, str, int], float]
    uninformative: list[str]
    sizes: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, records: list[Record], task: Task) -> Board | None:
        """The board of a plan; None if no method has a score."""
        constant = {
            r.dataset for r in records if r.sizes and len(r.constant_labels) == r.sizes["n_labels"]
        }
        results = Results([record for record in records if record.dataset not in constant])
        if (table := results.table(task, METRIC)) is None:
            return None
        gaps: dict[str, dict[str, Difference]] = {method.name: {} for method in table.methods}
        for name, dataset in product(gaps, table.datasets if table.baselines else ()):
            gap = difference(results, table, name, table.baselines[0], dataset)
            if gap is not None and name != table.baselines[0]:
                gaps[name][dataset] = gap
        seconds = {cost.method.name: cost.seconds["fit"] for cost in costs(results)}
        scores = {
            (r.method, r.dataset, r.repeat): r.scores(task).get(METRIC.name)
            for r in results.finished_records()
        }
        known = {key: score for key, score in scores.items() if score is not None}
        sizes = {dataset.name: dataset.sizes for dataset in results.present_datasets}
        return cls(table, gaps, seconds, known, sorted(constant), sizes)

    def score(self, method: str, dataset: str) -> MethodScore:
        """The score of a method on a data set."""
        return self.table.score(method, dataset)

    def mean(self, method: str) -> float:
        """Mean over data sets."""
        return fmean(self.score(method, name).mean for name in self.table.datasets)

    def counts(self, method: str) -> tuple[int, int, int]:
        """Numbers of data sets on which it is better than the baseline, significantly better,
        significantly worse."""
        gaps = self.gaps[method].values()
        clear = [gap.mean for gap in gaps if gap.is_significant]
        return (
            sum(gap.mean > 0 for gap in gaps),
            sum(mean > 0 for mean in clear),
            sum(mean < 0 for mean in clear),
        )

    def gain(self, tuned: Board | None, method: str) -> float | None:
        """What selected hyperparameters add to the score, on average over the repeats that both
        have."""
        found = (
            {}
            if tuned is None
            else {key: score for key, score in tuned.scores.items() if key[0] == method}
        )
        gains = [score - self.scores[key] for key, score in found.items() if key in self.scores]
        return fmean(gains) if gains else None


Boards = Mapping[tuple[str, str, Task], Board]


def read_boards(kept: Path = RECORDS) -> dict[tuple[str, str, Task], Board]:
    """The boards of all cases, settings and tasks that have records."""
    found = {
        (case, setting): read_board(case, setting, kept) for case in CASES for setting in SETTINGS
    }
    boards = {
        (*key, task): Board.of(records, task)
        for key, records in found.items()
        for task in TASKS
        if records
    }
    return {key: board for key, board in boards.items() if board is not None}


def write_pages(kept: Path = RECORDS, folder: Path = FOLDER) -> list[Path]:
    """Write both pages."""
    boards = read_boards(kept)
    records = [r for case in CASES for setting in SETTINGS for r in read_board(case, setting, kept)]
    written = []
    for name, content in (
        ("README.md", first_page(boards, records)),
        ("tables.md", tables_page(boards)),
    ):
        (folder / name).write_text("\n".join(content).rstrip() + "\n", encoding="utf-8")
        written.append(folder / name)
    return written


def first_page(boards: Boards, records: list[Record]) -> Iterator[str]:
    """Which method should I use, and is it better than a baseline?"""
    yield from (
        "# Leaderboard: which method should I use?",
        "",
        "It depends on your labels. The answers are for methods with their default "
        "hyperparameters. Scores are mean",
        "intersections with the true degrees: 1 is perfect. [All tables](tables.md) has every "
        "method and data set.",
        "",
    )
    for case in CASES:
        tasks = [task for task in TASKS if (case, "defaults", task) in boards]
        if tasks:
            yield from (f"## {CASES[case].title}", "", CASES[case].made, "")
        for task in tasks:
            sentences = (
                advise(boards[case, "defaults", task]),
                describe_selection(case, task, boards),
            )
            yield f"- {task.capitalize()} ({TASKS[task]}): {' '.join(sentences).strip()}"
        yield ""
    yield from (
        "## Which method is best on data like mine?",
        "",
        "The best method on each data set, with its mean and standard deviation over repeats. ▲ "
        "marks a significant",
        "difference to the baseline with the best average rank; baselines are in *italics*. Where "
        "a cell is empty,",
        "every label is constant. Sizes are the numbers of training rows, features and labels.",
        "",
    )
    for task in TASKS:
        shown = {
            case: boards[case, "defaults", task]
            for case in CASES
            if (case, "defaults", task) in boards
        }
        sizes = {name: size for board in shown.values() for name, size in board.sizes.items()}
        rows = []
        for name, size in sizes.items():
            numbers = ", ".join(
                str(size.get(f"n_{part}", "")) for part in ("train", "features", "labels")
            )
            rows.append([name, *(_best(board, name) for board in shown.values()), numbers])
        yield from _table([task, *(CASES[case].short for case in shown), "sizes"], rows)
    yield from describe_run(records)


def advise(board: Board) -> str:
    """Which method to use, and whether it is better than a baseline."""
    chosen, baseline = choose(board), next(iter(board.table.baselines), None)
    ranks = [
        rank
        for name in board.table.datasets
        if (rank := board.score(chosen, name).rank) is not None
    ]
    place = (
        f"average rank {board.table.average_ranks[chosen]:.1f} of {len(board.table.ranked)} "
        f"methods, "
        f"{min(ranks):g} to {max(ranks):g} on single data sets"
    )
    if baseline is None:
        return f"use **{chosen}** ({place}). There is no baseline to compare it with."
    if chosen == baseline:
        ranked = [method.name for method in board.table.ranked]
        if chosen == ranked[0]:
            return f"use **{chosen}**, a baseline ({place}). No method ranks before it."
        before = enumerate_names(ranked[: ranked.index(chosen)])
        reason = "is significantly better on more data sets than it is significantly worse"
        return (
            f"use **{chosen}**, a baseline ({place}). No method that ranks before it "
            f"({before}) {reason}."
        )
    better, clearly, worse = board.counts(chosen)
    return (
        f"use **{chosen}** ({place}). Against the best baseline, {baseline} (average rank "
        f"{board.table.average_ranks[baseline]:.1f}), it is better on {better} of "
        f"{len(board.table.datasets)} data "
        f"sets, significantly on {clearly}, and significantly worse on {worse}."
    )


def choose(board: Board) -> str:
    """The first method by average rank that beats the best baseline, or this baseline.

    It does if it is significantly better on more data sets than it is significantly worse.
    """
    for method in board.table.ranked:
        _, better, worse = board.counts(method.name)
        if method.is_baseline or better > worse:
            return method.name
    return board.table.ranked[0].name


def describe_selection(case: str, task: Task, boards: Boards) -> str:
    """What selecting hyperparameters adds to the score of the method to use."""
    board = boards[case, "defaults", task]
    best = choose(board)
    tuned = [name for name, setting in SETTINGS.items() if setting.tuned]
    gains = {name: board.gain(boards.get((case, name, task)), best) for name in tuned}
    parts = [
        f"{gain:+.3f} if {SETTINGS[name].title}" for name, gain in gains.items() if gain is not None
    ]
    if not parts:
        return ""
    return (
        f"To its mean, {board.mean(best):.3f}, hyperparameters from {POINTS} grid points add "
        f"{' and '.join(parts)}."
    )


def describe_run(records: list[Record]) -> Iterator[str]:
    """Sizes, versions and how to repeat it."""
    versions = sorted(
        {f"{name} {version}" for record in records for name, version in record.versions.items()}
    )
    failed = sorted(
        {f"{record.method} on {record.dataset}" for record in records if not record.is_ok}
    )
    rows = [
        sum(r.sizes[f"n_{part}"] for part in ("train", "validation", "test"))
        for r in records
        if r.sizes
    ]
    splits = ", ".join(f"{setting.title} {setting.repeats}" for setting in SETTINGS.values())
    seconds = format_duration(sum(record.seconds.get("total", 0.0) for record in records))
    yield f"""## How it was run

{len(records):,} cells took {seconds} on one core. Of each data set at most {max(rows, default=0)}
rows were drawn, and shuffled into 60 % training, 20 % validation and 20 % test rows; features are
standardised on the training rows.
Number of shuffled splits by hyperparameters: {splits}.
Versions: {", ".join(versions)}.

`make leaderboard` computes the cells without a record in `benchmarks/leaderboard/records`, such as
those of a new method, and writes these pages. Data sets that are not embedded come from the cache
of downloads or from the folder that the environment variable `LDLEARN_DATA` names; the records of
data sets that are in neither are kept.
"""
    for name, reason in LEFT_OUT.items():
        yield from (f"Left out: {name} ({reason}).", "")
    if failed:
        yield from (f"Failed: {enumerate_names(failed)}.", "")


def tables_page(boards: Boards) -> Iterator[str]:
    """Every method on every data set."""
    yield f"""# Leaderboard: all tables

Methods are sorted by their average rank over data sets. *Baselines* (italics) ignore the features
or are a plain classifier of each label. **Bold** is the best of a column. ▲ (▼) marks a method that
is significantly better (worse) than the baseline with the best average rank: the 95 % confidence
interval of the difference over repeats, corrected for shared rows, excludes zero. There is no
correction for the number of methods, so some marks are due to chance.

“Gain” is what selecting hyperparameters from {POINTS} grid points adds to the mean. It is empty for
methods without a grid, which have no hyperparameter or select it themselves. True degrees are not
available from 0/1 labels: that column shows what a better selection could gain. CPU time is that of
one fit, on one thread.
"""
    for case, task in (
        (case, task) for case in CASES for task in TASKS if (case, "defaults", task) in boards
    ):
        board = boards[case, "defaults", task]
        yield from (f"## {CASES[case].short.capitalize()}: {task}", "")
        yield from _summary(case, task, boards)
        if board.uninformative:
            names = enumerate_names(board.uninformative)
            yield from (
                f"Left out: {names}, where every label is constant and 0/1 labels carry no "
                f"information.",
                "",
            )
        unranked = [
            method.name
            for method in board.table.methods
            if method.name not in board.table.average_ranks
        ]
        if unranked:
            yield from (
                f"Not ranked, because they failed on a data set: {enumerate_names(unranked)}.",
                "",
            )
        rows = [
            [_name(board, m.name), *(_score(board, m.name, name) for name in board.table.datasets)]
            for m in board.table.methods
        ]
        yield from _table(["method", *board.table.datasets], rows)


def _summary(case: str, task: Task, boards: Boards) -> Iterator[str]:
    board = boards[case, "defaults", task]
    settings = [
        name for name, setting in SETTINGS.items() if setting.tuned and (case, name, task) in boards
    ]
    baseline = board.table.baselines[0] if board.table.baselines else "a baseline"
    rows = []
    for name in (method.name for method in board.table.ranked):
        gains = [board.gain(boards[case, setting, task], name) for setting in settings]
        time, (better, clearly, worse) = board.seconds.get(name), board.counts(name)
        compared = [f"{better} of {len(board.table.datasets)}", f"{clearly} ▲ {worse} ▼"]
        rows.append(
            [
                _name(board, name),
                f"{board.table.average_ranks[name]:.1f}",
                f"{board.mean(name):.3f}",
            ]
            + ["" if gain is None else f"{gain:+.3f}" for gain in gains]
            + (compared if board.gaps[name] else ["", ""])
            + ["" if time is None else "< 0.001" if time.mean < 0.001 else f"{time.mean:.2g}"]
        )
    heads = [
        "method",
        "average rank",
        "mean",
        *(f"gain if {SETTINGS[setting].title}" for setting in settings),
    ]
    yield from _table([*heads, f"better than {baseline}", "significant", "CPU s"], rows)


def _table(heads: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "--:|" * (len(heads) - 1)
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _name(board: Board, method: str) -> str:
    is_baseline = any(entry.name == method and entry.is_baseline for entry in board.table.methods)
    return f"*{method}*" if is_baseline else method


def _score(board: Board, method: str, dataset: str) -> str:
    score, gap = board.score(method, dataset), board.gaps[method].get(dataset)
    if not score.spread:
        return "failed"
    mark = "" if gap is None or not gap.is_significant else " ▲" if gap.mean > 0 else " ▼"
    spread = f" ± {score.spread.std:.3f}" if score.spread.n > 1 else ""
    return f"{f'**{score.mean:.3f}**' if score.best else f'{score.mean:.3f}'}{spread}{mark}"


def _best(board: Board, dataset: str) -> str:
    """Name and score of the best method on a data set; empty if the set is not on the board."""
    if dataset not in board.table.datasets:
        return ""
    names = [method.name for method in board.table.ranked]
    best = min(names, key=lambda name: METRIC.sort_key(board.score(name, dataset).mean))
    return f"{_name(board, best)} {_score(board, best, dataset).replace('**', '')}"
