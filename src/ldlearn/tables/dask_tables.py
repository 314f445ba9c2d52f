"""Tables in many files, fitted and predicted on a Dask cluster: each file is a block of rows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn._optional_imports import import_optional
from ldlearn.compose.method_names import DEFAULT_METHOD, make_predictor
from ldlearn.core.scaling import to_dense
from ldlearn.exceptions import FileError, ParameterError, TableError
from ldlearn.joint import DLDL, VoteLDL
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.files import ReadingOptions, no_progress, prefix_errors, report_nothing
from ldlearn.tables.formats import open_table
from ldlearn.tables.labelled_table import read_labelled
from ldlearn.tables.model_files import load_table_model
from ldlearn.tables.options import ColumnOptions, Columns, WritingOptions
from ldlearn.tables.source import SparseTable
from ldlearn.tables.table_files import columns_to_read, predict_table
from ldlearn.tables.table_fit import describe_origin
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import import_pandas
from ldlearn.tables.writing import WrittenTable, check_writing

_PREPROCESSING_ROWS = 20_000  # of which medians, scales and categories are learned


def fit_parts(
    data: str,
    labels: Columns,
    *,
    scheduler: str,
    method: str = DEFAULT_METHOD,
    params: Mapping[str, Any] | None = None,
    columns: ColumnOptions = ColumnOptions(),
) -> TableModel:
    """Fit DLDL or VoteLDL on a table in many files, on a cluster whose workers can read them.

    What columns are, medians, scales and categories are learned from some rows of the first, the
    middle and the last file; everything else from all rows. No rows are held out.

    Parameters
    ----------
    data : str
        A pattern such as ``"part-*.parquet"``; the files are blocks of rows, in the order of their
        names.
    labels, params, columns
        As for `fit_table`; labels are 0/1.
    scheduler : str
        Address of the Dask scheduler, ``"tcp://host:8786"``.
    method : str, default="DLDL"
        Or "VoteLDL".

    Returns
    -------
    TableModel
    """
    if columns.groups is not None:
        raise ParameterError(
            "On a cluster no rows are held out and no groups are used; leave groups out."
        )
    parts = _find_parts(data)
    estimator = make_predictor(method, params, zeros=columns.zeros)
    if type(estimator) not in (DLDL, VoteLDL):
        raise ParameterError(
            f"On a cluster DLDL and VoteLDL are fitted, not {method}; leave --scheduler out."
        )
    model = _learn_columns(parts, labels, columns, estimator)
    cluster, client = _connect(scheduler)
    with client:
        runner = cluster.BlockRunner(client)
        X, Y = runner.persist(_read_as_dask_arrays(parts, model))  # files are read once
        dask_class = getattr(cluster, f"Dask{type(estimator).__name__}")
        fitted = dask_class(**estimator.get_params(deep=False), client=client).fit(X, Y)
        distributions = (Y / Y.sum(axis=1, keepdims=True)).sum(axis=0)
        positives, distributions = runner.compute([Y.sum(axis=0), distributions])
    model.estimator = fitted.to_local(training_rows=False)
    # The blocks are arrays, which have no names.
    model.estimator.label_names_ = np.asarray(model.labels, dtype=object)
    n = int(fitted._total_weight)
    model.facts |= {
        "rows": n,
        "label_means": dict(zip(model.labels, (positives / n).tolist(), strict=True)),
        "positives_per_row": float(positives.sum() / n),
        "mean_distribution": (distributions / n).tolist(),
        "missing": {},
        "repeated_rows": None,
        "warnings": [
            "Medians, scales and categories were learned on a sample, "
            "and no rows were held out for a check."
        ],
        "source": describe_origin(data),
    }
    return model


def predict_parts(
    data: str,
    model: str | TableModel,
    output: str,
    *,
    scheduler: str,
    id: str | None = None,
    writing: WritingOptions = WritingOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Predict the rows of a table in many files, on a cluster; one file is written for each.

    Parameters
    ----------
    data : str
        A pattern such as ``"part-*.parquet"``.
    model : str or TableModel
        The model, or its file.
    output : str
        The folder to write to, which the workers see under the same name; files keep their names.
    scheduler : str
        Address of the Dask scheduler.
    id, writing, reading
        As for `predict_table`; the format is by default that of the parts.
    """
    parts = _find_parts(data)
    folder = Path(output).resolve()  # workers stand elsewhere
    if output == "-" or folder.is_file():
        raise FileError(
            f"On a cluster each file is predicted into a folder; {output!r} is not one, "
            "name one with -o."
        )
    names = [Path(part).name for part in parts]
    if writing.to is not None:
        names = [f"{Path(part).stem}.{writing.to}" for part in parts]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise FileError(
            f"Two files would be written to {name!r}; predict them into different folders."
        )
    loaded = load_table_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    outputs = [str(folder / name) for name in names]
    for name in outputs:
        check_writing(name, parts, writing)
    # What is unusual about a text table is not reported once for each file.
    quiet = replace(reading, on_message=report_nothing, progress=no_progress)
    cluster, client = _connect(scheduler)
    with client:
        cluster.check_workers(client)
        runner = cluster.BlockRunner(client)
        written = runner.map_compute(
            _predict_part, parts, outputs, common=(loaded, id, writing, quiet)
        )
    messages = []
    for table in written:
        messages += [f"{Path(table.output).name}: {text}" for text in table.messages]
    return WrittenTable(sum(table.rows for table in written), list(loaded.labels), output, messages)


def _find_parts(data: str) -> list[str]:
    found = sorted(glob(data))
    if not found:
        raise FileError(
            f"No file is called {data!r}; "
            "with --scheduler, DATA is a pattern such as 'part-*.parquet'."
        )
    return [str(Path(name).resolve()) for name in found]


def _connect(scheduler: str) -> tuple[Any, Any]:
    cluster = import_optional("ldlearn.dask", "dask", "Clusters")
    return cluster, cluster.connect(scheduler)


def _learn_columns(
    parts: list[str], labels: Columns, columns: ColumnOptions, estimator: Any
) -> TableModel:
    """A model with columns, types and preprocessing of the table, its estimator not fitted."""
    frames = []
    # A set, since of one or two files these are the same; rows may be sorted, so that one file
    # alone would mislead.
    for name in sorted({parts[0], parts[len(parts) // 2], parts[-1]}):
        table = read_labelled(name, labels, columns, ReadingOptions())
        with prefix_errors(name):  # an error in the joined frame would not name the file
            if table.label_list is not None:
                raise TableError(
                    "on a cluster every label has a 0/1 column of its own.",
                    column=table.label_list.column,
                )
            table.labels.check(estimator)
        frame = table.frame
        if isinstance(frame, SparseTable):
            frame = frame.to_frame()
        frames.append(frame)
    frame = import_pandas().concat(frames, ignore_index=True)
    if len(frame) > _PREPROCESSING_ROWS:
        frame = frame.sample(_PREPROCESSING_ROWS, random_state=0)
    found = TableLabels.from_columns(frame, table.labels.names)
    with prefix_errors(parts[0]):
        table = replace(table, frame=frame, labels=found)
        return TableModel.learn_columns(table, estimator)[0]


def _read_as_dask_arrays(parts: list[str], model: TableModel) -> list[Any]:
    """Features and labels as Dask arrays, a block for each file."""
    import dask.array as da
    from dask import delayed

    # A name of its own instead of a hash of the content, and no search of the model for collections
    # inside.
    sent = delayed(model, pure=False, traverse=False)
    read = delayed(_read_part, pure=False, nout=2)
    # How many rows a file has is known only when a worker has read it.
    shape_of_X = (np.nan, model.facts["transformed_features"])
    shape_of_Y = (np.nan, len(model.labels))
    features = []
    labels = []
    for name in parts:
        X, Y = read(name, sent)
        features.append(da.from_delayed(X, shape_of_X, np.float64))
        labels.append(da.from_delayed(Y, shape_of_Y, np.int8))
    return [da.concatenate(blocks, allow_unknown_chunksizes=True) for blocks in (features, labels)]


# What a worker does to a file.


def _read_part(name: str, model: TableModel) -> tuple[Any, Any]:
    """The numbers that the estimator sees, and its labels."""
    with open_table(model.make_input(name, ReadingOptions(on_message=report_nothing))) as source:
        frame = source.read(columns_to_read(source, model))
        X = model.transform(frame, CellReport())
        labels = model.read_labels(frame)
        labels.check_all_known("on a cluster every label is 0 or 1.")
        Y = labels.check(model.estimator).astype(np.int8)
    return to_dense(X), Y


def _predict_part(
    name: str, output: str, common: tuple[TableModel, str | None, WritingOptions, ReadingOptions]
) -> WrittenTable:
    model, id, writing, reading = common
    return predict_table(name, model, output, id=id, writing=writing, reading=reading)
