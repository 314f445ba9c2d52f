"""Predictions made elsewhere: splits are written to files, predictions become records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from ldlearn._messages import check_choice
from ldlearn.core.scaling import to_dense
from ldlearn.core.targets import check_distributions
from ldlearn.evaluation import Record, append_records, read_records
from ldlearn.evaluation.record import RECORDS
from ldlearn.exceptions import FileError, InputError
from ldlearn.experiments.cells import split_key
from ldlearn.experiments.engine import lock_folder, write_cells
from ldlearn.experiments.plan import Plan, load_plan
from ldlearn.experiments.search import Facts, add_facts, describe_degrees
from ldlearn.experiments.sources import AnyDataset, DatasetSpec
from ldlearn.experiments.splits import DataSplit, make_split
from ldlearn.tables.arrays import read_npy, read_npz
from ldlearn.tables.files import Budget, FilePath, TableInput, atomic_write
from ldlearn.tables.formats import open_table
from ldlearn.tables.mat import read_mat


def export_splits(plan: Plan | FilePath, folder: FilePath) -> list[Path]:
    """Write the splits of a plan, for methods that run elsewhere.

    ``FOLDER/DATASET/REPEAT.npz`` and ``.mat`` contain ``trainFeature``, ``trainLogical`` (0/1
    labels) and, if degrees are known, ``trainDistribution``; the same for ``validation`` and
    ``test``; ``trainIndex``, ``validationIndex`` and ``testIndex``, rows of the data set that count
    from 0 in ``.npz`` and from 1 in ``.mat``; and ``label_names``. If methods see counts,
    ``trainVotes`` and ``validationVotes`` are those that are not held out, and ``testVotes`` all
    votes.

    Parameters
    ----------
    plan : Plan, str or path-like
        A plan, the path of its file, or the name of a shipped one.
    folder : path-like

    Returns
    -------
    list of Path
        The files.
    """
    plan = plan if isinstance(plan, Plan) else load_plan(plan)
    written = []
    for spec, data, repeat, split in _iterate_splits(plan):
        arrays: Facts = {"label_names": np.array(data.label_names, dtype=str)}
        # Rows count from 1, and names are cells, in MATLAB.
        of_matlab: Facts = {"label_names": np.array(data.label_names, dtype=object)}
        for part in ("train", "validation", "test"):
            rows = getattr(split, part)
            arrays[f"{part}Feature"] = to_dense(rows.X)
            arrays[f"{part}Logical"] = rows.Y
            arrays[f"{part}Index"] = rows.rows
            of_matlab[f"{part}Index"] = rows.rows + 1
            if rows.votes is not None:
                arrays[f"{part}Votes"] = rows.votes
            if rows.has_degrees:
                arrays[f"{part}Distribution"] = rows.D
        place = Path(folder) / spec.name
        place.mkdir(parents=True, exist_ok=True)
        for ending in ("npz", "mat"):
            with atomic_write(place / f"{repeat}.{ending}") as file:
                if ending == "npz":
                    np.savez_compressed(file, **arrays)
                else:
                    scipy.io.savemat(file, arrays | of_matlab, do_compression=True)
            written.append(place / f"{repeat}.{ending}")
    return written


def import_predictions(
    run_dir: FilePath,
    method: str,
    folder: FilePath,
    *,
    trained_on: str = "logical",
    trust_plan: bool = False,
) -> list[Record]:
    """Score predictions made elsewhere, and add them to a run as records.

    They are then ranked, tested and reported.

    Parameters
    ----------
    run_dir : path-like
        Folder of a run; its plan defines the splits.
    method : str
        Name of the method in tables; " (external)" is appended.
    folder : path-like
        ``FOLDER/DATASET/REPEAT`` with the ending ``.npz`` or ``.mat`` contains the arrays
        ``prediction`` of shape (n_test, n_labels), ``recovery`` of shape (n_train, n_labels), or
        both; ``.npy`` and ``.csv`` contain the prediction. Rows are in the order of
        `export_splits`, and columns in that of the labels; a ``.csv`` file has a header with the
        names of the labels, in any order.
    trained_on : {"logical", "votes", "truth"}, default="logical"
        What the method was trained on: 0/1 labels, counts of votes, or true degrees.
    trust_plan : bool, default=False
        Whether methods of other packages (``package.module:Class``) that the plan of the run names
        may be imported.

    Returns
    -------
    list of Record
        One for each data set and repeat. If any file is missing or wrong, nothing is added.
    """
    check_choice("trained_on", trained_on, ("logical", "votes", "truth"))
    path = Path(run_dir)
    plan = load_plan(path / "plan.toml", trusted=trust_plan)
    name = f"{method} (external)"
    if name in {spec.name for spec in plan.methods}:
        raise InputError(f"The plan has a method {name!r}; choose another name.")
    found = []
    for spec, data, repeat, split in _iterate_splits(plan):
        labels = list(data.label_names)
        outcome = _read_scores(Path(folder) / spec.name / str(repeat), split, labels)
        outcome["trained_on"] = trained_on
        kind = "learner" if trained_on == "truth" else "two-step"
        if "recovery" in outcome:
            kind = "joint" if "prediction" in outcome else "enhancer"
        record = Record(
            cell=split_key(spec, plan.protocol, repeat, method=name),
            status="ok",
            method=name,
            kind=kind,
            external=True,
            dataset=spec.name,
            repeat=repeat,
            sizes=split.sizes,
            votes=split.votes_per_row,
            label_names=labels,
            **outcome,
        )
        found.append(record)
    with lock_folder(path), append_records(path / RECORDS) as append:
        for record in found:
            append(record)
        write_cells(path, plan, read_records(path, history=True))
    return found


def _iterate_splits(plan: Plan) -> Iterator[tuple[DatasetSpec, AnyDataset, int, DataSplit]]:
    for spec in plan.datasets:
        data = spec.load(plan.protocol.seed, needs_truth=False)
        for repeat in range(plan.protocol.n_repeats):
            yield spec, data, repeat, make_split(data, spec, plan.protocol, repeat)


def _read_scores(stem: Path, split: DataSplit, labels: list[str]) -> Facts:
    """Fields of the record about the degrees in the file with this stem."""
    paths = [Path(f"{stem}{ending}") for ending in (".npz", ".mat", ".npy", ".csv")]
    present = list(filter(Path.is_file, paths))
    if len(present) != 1:
        problem = "there are several files" if present else "there is no file"
        raise FileError(
            f"{stem}: {problem} with predictions of this split; write one: .npz, .mat, .npy or "
            ".csv."
        )
    (path,) = present
    arrays = _read_arrays(path, labels)
    outcome: Facts = {}
    for task, part in (("recovery", split.train), ("prediction", split.test)):
        if task not in arrays:
            continue
        shape = arrays[task].shape
        if shape != part.Y.shape:
            raise InputError(f"{path}: {task} has shape {shape}, but the split has {part.Y.shape}.")
        try:
            facts = describe_degrees(part, check_distributions(arrays[task]), task)
        except InputError as error:
            raise InputError(f"{path}: {task}: {error}") from None
        add_facts(outcome, task, facts)
    if not outcome:
        raise InputError(
            f"{path}: there is neither 'prediction' nor 'recovery'; it has {', '.join(arrays)}."
        )
    return outcome


def _read_arrays(path: Path, labels: list[str]) -> dict[str, NDArray[Any]]:
    budget = Budget(path.stat().st_size)
    match path.suffix:
        case ".npz":
            return read_npz(path, budget)
        case ".mat":
            return read_mat(path, budget)
        case ".npy":
            return {"prediction": read_npy(path, budget)}
    with open_table(TableInput(str(path))) as source:
        if set(source.names) != set(labels):
            names = ", ".join(labels)
            raise InputError(f"{path}: its header must have the names of the labels: {names}.")
        frame = source.read(dict.fromkeys(labels, "any"))
    return {"prediction": frame[labels].to_numpy(dtype=float)}
