"""Running a plan: cells that are not recorded yet are computed and recorded, one by one."""

import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from ldlearn.datasets import DatasetNotHereError
from ldlearn.evaluation import Record, RunFolderError, append_records, read_records
from ldlearn.evaluation.record import CELLS, RECORDS, Status, path_inside
from ldlearn.experiments.cells import group_cells, plan_cells, split_key
from ldlearn.experiments.executors import Executor, WorkersLostError, run_here, run_on_dask
from ldlearn.experiments.plan import Plan, load_plan
from ldlearn.experiments.progress import RunProgress
from ldlearn.experiments.search import captured_warnings
from ldlearn.experiments.sources import AnyDataset, DatasetSpec
from ldlearn.tables.files import FilePath, write_file

_Append = Callable[[Record], None]
_Datasets = Mapping[str, AnyDataset]


@dataclass(frozen=True)
class RunSummary:
    """Result of a run.

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
    plan: Plan | FilePath,
    run_dir: FilePath,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: RunProgress | None = None,
    loaded: _Datasets | None = None,
) -> RunSummary:
    """Run a plan, or continue it.

    Cells whose records are in the folder are not computed again, so a run that was interrupted, in
    whatever way, continues when called again. Cells that failed, or whose data set was missing, are
    tried again.

    Parameters
    ----------
    plan : Plan, str or path-like
        A plan, the path of its file, or the name of a shipped one.
    run_dir : path-like
        Folder of the run: ``records.jsonl``, ``plan.toml``, ``cells.json`` (the keys of the plan's
        cells), ``lock``.
    jobs : int, default=1
        Processes on this machine.
    scheduler : str, optional
        Address of a Dask scheduler that does the work instead.
    progress : RunProgress, optional
        Receives the progress of the run, for instance `LogProgress`.
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
    execute: Executor = partial(run_here, jobs=jobs)
    if scheduler is not None:
        execute = partial(run_on_dask, address=scheduler)
    progress = progress or RunProgress()
    path = Path(run_dir)
    # The writer opens first: it makes the file, and cuts off a torn last line, before records are
    # read.
    with lock_folder(path), append_records(path / RECORDS) as append:
        run = _Run(plan, read_records(path, history=True), append, progress)
        # Only now: where the records cannot be read, the folder keeps the plan that they belong to.
        write_file(path_inside(path, "plan.toml"), plan.to_toml())
        write_cells(path, plan, run.records.values())
        try:
            run.execute(execute, loaded or {})
        except WorkersLostError as error:
            raise WorkersLostError(
                f"{error}; {sum(map(run.is_done, run.cells))} of {len(run.cells)} cells are "
                "recorded, and the same command continues."
            ) from None
        finally:
            progress.end()
        return RunSummary(path, [run.records[key] for key in run.cells], run.computed)


def write_cells(folder: Path, plan: Plan, records: Iterable[Record]) -> None:
    """Write the keys of the plan's cells, and of external predictions that belong to its splits."""
    keys = [cell.key for cell in plan_cells(plan)]
    external = sorted({record.method for record in records if record.external})
    for dataset, repeat, name in product(plan.datasets, range(plan.protocol.n_repeats), external):
        keys.append(split_key(dataset, plan.protocol, repeat, method=name))
    write_file(path_inside(folder, CELLS), json.dumps(keys, indent=0) + "\n")


class _Run:
    def __init__(
        self, plan: Plan, before: list[Record], append: _Append, progress: RunProgress
    ) -> None:
        self.plan = plan
        self.append = append
        self.progress = progress
        self.records = {record.cell: record for record in before}  # the last of a cell counts
        self.cells = {cell.key: cell for cell in plan_cells(plan)}
        self.computed = 0
        self.label_warnings: set[str] = set()  # one for each data set, not for each cell

    def is_done(self, key: str) -> bool:
        return key in self.records and self.records[key].is_ok

    def execute(self, execute: Executor, loaded: _Datasets) -> None:
        todo = [cell for key, cell in self.cells.items() if not self.is_done(key)]
        needed = {cell.dataset.name for cell in todo}
        data: dict[str, AnyDataset] = {}
        absent: dict[str, tuple[Status, str]] = {}
        for spec in self.plan.datasets:
            if spec.name not in needed:
                continue
            try:
                data[spec.name] = loaded.get(spec.name) or self._load(spec)
            except DatasetNotHereError as error:
                absent[spec.name] = ("missing", str(error))
                self.progress.message(f"{spec.name} is skipped: {error}")
            except (ValueError, OSError, ImportError) as error:
                # A data set that is damaged, or whose format needs a package, fails its own cells,
                # not the run.
                absent[spec.name] = ("failed", str(error))
                self.progress.message(f"{spec.name} is unusable: {error}")
        self.progress.begin(len(self.cells), len(self.cells) - len(todo))
        present = []
        for cell in todo:
            if cell.dataset.name in data:
                present.append(cell)
            else:
                self._record(cell.record(*absent[cell.dataset.name]))
        work = ((cells, data[cells[0].dataset.name]) for cells in group_cells(present))
        for records in execute(work):
            for record in records:
                self._record(record)

    def _load(self, spec: DatasetSpec) -> AnyDataset:
        texts: list[str] = []
        try:
            with captured_warnings(texts):
                needs_truth = self.plan.selection.mode == "oracle"
                return spec.load(self.plan.protocol.seed, needs_truth=needs_truth)
        finally:
            for text in texts:
                self.progress.message(text)

    def _record(self, record: Record) -> None:
        # As it will be read back, NaN as null, or a cell that fails as it did before would look
        # new.
        before = self.records.get(record.cell)
        record = record.as_stored()
        # The same failure is not recorded twice.
        if before is None or record.is_ok or before.without_timing != record.without_timing:
            self.append(record)
        self.records[record.cell] = record
        self.computed += 1
        if record.label_warning not in {"", *self.label_warnings}:
            self.label_warnings.add(record.label_warning)
            self.progress.message(record.label_warning)
        self.progress.finish_cell(self.cells[record.cell], record)


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Lock the folder of a run for this process.

    The system releases the lock when the process dies.

    Parameters
    ----------
    path : Path
        Created if it does not exist.
    """
    path.mkdir(parents=True, exist_ok=True)
    # "a+", since "w" would erase the holder before the folder is known to be free. The file is not
    # removed: one process could then hold the old file, opened before, and another one a new file
    # of the same name.
    with open(path_inside(path, "lock"), "a+", encoding="utf-8", errors="replace") as file:
        try:
            _lock_file(file)
        except OSError:
            file.seek(0)
            holder = " ".join(file.read().split()) or "unknown"
            raise RunFolderError(
                f"Another run writes to {path} ({holder}); wait, or use another folder."
            ) from None
        file.truncate(0)
        since = datetime.now().isoformat(timespec="seconds")
        file.write(f"process {os.getpid()} on {platform.node()} since {since}\n")
        file.flush()  # another process that is refused reads it during the run
        yield


def _lock_file(file: Any) -> None:
    """An advisory lock that ends with the process."""
    if os.name == "nt":  # pragma: no cover
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
