"""Running a plan: what is not yet recorded is computed and recorded, cell by cell."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ldlearn.datasets import DatasetNotHereError
from ldlearn.experiments.captured_warnings import captured_warnings, distinct
from ldlearn.experiments.cell_records import cell_record
from ldlearn.experiments.cells import Cell, Work, families, pieces, plan_cells
from ldlearn.experiments.executors import Executor, WorkersLostError, run_here, run_on_dask
from ldlearn.experiments.plan import Plan, load_plan
from ldlearn.experiments.run_folder import RunFolder
from ldlearn.experiments.sources import AnyDataset
from ldlearn.experiments.watchers import Watcher
from ldlearn.experiments.worker import WorkResult
from ldlearn.results import Record


@dataclass(frozen=True)
class RunSummary:
    """What a run left behind.

    Attributes
    ----------
    path : Path
        Folder of the run.
    records : list of Record
        One for each cell of the plan, in its order.
    computed : int
        How many of them this run computed.
    """

    path: Path
    records: list[Record]
    computed: int

    def count(self, status: str) -> int:
        """Number of cells with this status: ok, failed or missing."""
        return sum(record.status == status for record in self.records)


def run_plan(
    plan: Plan | str | os.PathLike[str],
    run_dir: str | os.PathLike[str],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    watcher: Watcher | None = None,
    loaded: Mapping[str, AnyDataset] | None = None,
) -> RunSummary:
    """Run a plan, or continue it.

    Cells whose records are in the folder are not computed again, so a run that was interrupted, in whatever way,
    continues when called again. Cells that failed, or whose data set was missing, are tried again.

    Parameters
    ----------
    plan : Plan, str or path-like
        A plan, the path of its file, or the name of a shipped one.
    run_dir : path-like
        Folder of the run: ``records.jsonl``, ``plan.toml``, ``cells.json`` (the keys of the plan's cells), ``lock``.
    jobs : int, default=1
        Processes on this machine.
    scheduler : str, optional
        Address of a Dask scheduler that does the work instead.
    watcher : Watcher, optional
        Is told how it goes.
    loaded : mapping of str to LabelDataset or PreparedTable, optional
        Data sets of the plan that have been read already, by name.

    Returns
    -------
    RunSummary

    Examples
    --------
    >>> import tempfile
    >>> from ldlearn.experiments import Plan, run_plan
    >>> plan = Plan.from_dict(
    ...     {
    ...         "datasets": {"vader_tweets": {"rows": 100}},
    ...         "methods": {"UniformLE": {}, "DLDL": {"grid": {"beta": [0.1, 1.0]}}},
    ...         "protocol": {"repeats": 2},
    ...     }
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = run_plan(plan, folder)
    >>> len(run.records), run.records[0].method, run.records[0].status
    (4, 'UniformLE', 'ok')
    """
    plan = plan if isinstance(plan, Plan) else load_plan(plan)
    execute = partial(run_here, jobs=jobs) if scheduler is None else partial(run_on_dask, address=scheduler)
    watcher = watcher or Watcher()
    with RunFolder(run_dir) as folder:
        run = _Run(plan, folder, watcher, loaded or {})
        folder.write_plan(plan.to_toml(), list(run.cells))
        try:
            run.execute(execute)
        except WorkersLostError as error:
            raise WorkersLostError(
                f"{error}; {run.recorded} of {len(run.cells)} cells are recorded, and the same command continues."
            ) from None
        finally:
            watcher.end()
        return RunSummary(folder.path, [run.records[key] for key in run.cells], run.computed)


class _Run:
    def __init__(self, plan: Plan, folder: RunFolder, watcher: Watcher, loaded: Mapping[str, AnyDataset]) -> None:
        self.plan, self.folder, self.watcher, self._loaded = plan, folder, watcher, loaded
        self.records = folder.read()
        self.cells = {self._key(cell): cell for cell in plan_cells(plan)}
        self.computed = 0

    def _key(self, cell: Cell) -> str:
        """Under which the cell is recorded; what version 0.1.0 finished need not be computed again."""
        old = cell.key_of_0_1_0
        return old if self._is_done(old) else cell.key

    @property
    def recorded(self) -> int:
        return sum(map(self._is_done, self.cells))

    def _is_done(self, key: str) -> bool:
        return key in self.records and self.records[key].is_ok

    def execute(self, execute: Executor) -> None:
        todo = [cell for key, cell in self.cells.items() if not self._is_done(key)]
        data = self._load({cell.dataset.name for cell in todo})
        groups = [pieces(family) for family in families(cell for cell in todo if cell.dataset.name in data)]
        works = [work for group in groups for work in group]
        self.watcher.begin(len(self.cells), len(self.cells) - len(todo), works)
        self._explain_absent(todo, data)
        waiting = _Waiting(groups)
        tasks = ((number, work, data[work.cells[0].dataset.name]) for number, work in enumerate(works))
        for number, result in execute(tasks):
            work = works[number]
            self.watcher.worked(work, sum(partial.seconds for partial in result.partials))
            for cell, record in waiting.add(number, result):
                self._record(cell, record)

    def _load(self, names: set[str]) -> dict[str, AnyDataset]:
        """The data sets that are needed and here; what is wrong with the others is kept for their records."""
        self._absent: dict[str, tuple[str, str]] = {}
        data = {}
        seed, by_truth = self.plan.protocol.seed, self.plan.selection.mode == "oracle"
        sources = {spec.name: spec for spec in self.plan.datasets}
        for name in sorted(names):
            texts: list[str] = []
            try:
                with captured_warnings(texts):
                    data[name] = self._loaded.get(name) or sources[name].load(seed, needs_truth=by_truth)
            except DatasetNotHereError as error:
                self._absent[name] = "missing", str(error)
            except (ValueError, OSError, ImportError) as error:
                self._absent[name] = "failed", str(error)
            for text in distinct(texts):
                self.watcher.note(text)
        return data

    def _explain_absent(self, todo: list[Cell], data: dict[str, AnyDataset]) -> None:
        for name, (status, sentence) in self._absent.items():
            self.watcher.note(f"{name} is {'skipped' if status == 'missing' else 'unusable'}: {sentence}")
        for cell in todo:
            if cell.dataset.name not in data:
                self._record(cell, cell.record(*self._absent[cell.dataset.name]))

    def _record(self, cell: Cell, record: Record) -> None:
        before, record = self.records.get(cell.key), record.as_stored()
        # A cell that fails as it did before says nothing new.
        if before is None or record.is_ok or before.comparable != record.comparable:
            self.folder.append(record)
        self.records[cell.key] = record
        self.computed += 1
        self.watcher.recorded(cell, record)


class _Waiting:
    """Collects the pieces of each family until its cells can be put together."""

    def __init__(self, groups: list[list[Work]]) -> None:
        self._groups = groups
        self._results: dict[int, dict[int, WorkResult]] = defaultdict(dict)
        # Pieces are numbered through all groups, and come back in any order.
        self._group_of = [(place, piece) for place, group in enumerate(groups) for piece in range(len(group))]

    def add(self, number: int, result: WorkResult) -> list[tuple[Cell, Record]]:
        """Take a result; returns the cells it completes, with their records."""
        place, piece = self._group_of[number]
        found, group = self._results[place], self._groups[place]
        found[piece] = result
        if len(found) < len(group):
            return []
        ordered = [found[piece] for piece in sorted(found)]  # not as they came: records must not depend on that
        del self._results[place]
        return [(cell, cell_record(cell, ordered, i)) for i, cell in enumerate(group[0].cells)]
