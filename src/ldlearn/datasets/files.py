"""Data sets from files, and to files."""

import os
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from ldlearn._messages import format_list
from ldlearn.core.targets import default_label_names
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.exceptions import DatasetError, TableError
from ldlearn.tables.columns import strip_mark
from ldlearn.tables.files import Dialect, ReadingOptions, TableInput, find_label_file, sha256_of
from ldlearn.tables.formats import TEXT_FIELDS, DatasetContent, open_table, write_content
from ldlearn.tables.label_lists import expand_label_list
from ldlearn.tables.options import Columns
from ldlearn.tables.source import Source, frame_to_matrix
from ldlearn.tables.table_labels import TableLabels

_KIND_OF_FIELD = {"D": "distribution", "Y": "logical", "counts": "votes"}


def read_dataset(
    path: str | os.PathLike[str],
    features: Columns = None,
    labels: Columns = None,
    *,
    kind: str = "auto",
    normalise: bool = False,
    name: str | None = None,
    max_bytes: int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    checksum: str | None = None,
) -> LabelDataset:
    """Read a data set from a file.

    The format follows from the suffix: ``.csv``, ``.tsv``, ``.jsonl`` (these also compressed,
    ``.csv.gz``), ``.parquet``, ``.feather``, ``.xlsx``, ``.npz``, ``.npy`` (a pair of files, or one
    matrix), ``.mat`` (version 5 and 7.3), multi-label ``.arff`` (Mulan, MEKA) and ``.svm``,
    ``.libsvm``, ``.svmlight`` (LIBSVM, multi-label). What `write_dataset` wrote is read back
    without further arguments, but for plain tables (``.csv``, ``.tsv``, ``.jsonl``, ``.xlsx``),
    which do not store which columns are the labels.

    Parameters
    ----------
    path : str or path-like
    features, labels : str, int, slice or list of these, optional
        Which columns are the features, and which the labels: names, prefixes (``"emotion_*"``),
        ranges (``"calm:angry"``) or positions; a name stands for the column of exactly this name.
        Without `features`, all columns that are no labels. In files of arrays, the name of a matrix
        stands for its columns, and usual names such as ``features`` and ``labels`` are looked for.
        For .npy, `labels` may be the path of the second file.
    kind : {"auto", "distribution", "votes", "logical"}, default="auto"
        What the label columns hold. ``"auto"``: logical labels if all entries are 0 or 1 (or -1 or
        1), votes if they are whole numbers, else distributions. Votes are divided by their row sums
        and kept as `counts`.
    normalise : bool, default=False
        Divide rows of distributions by their sums, where they are finite, not negative and not all
        zero. Nothing else is repaired: negative or missing degrees and rows of zeros stay errors.
    name : str, optional
        Name of the data set; by default that of the file.
    max_bytes : int, optional
        Largest number of bytes that the table may take; by default it follows from the size of the
        file (see Notes).
    delimiter, decimal, encoding : str, optional
        How a text table is written: what separates its columns, ``"."`` or ``","`` before
        fractions, and an encoding that Python knows. By default they are detected from its first
        rows, with a warning if they are unusual.
    separator : str, optional
        What stands between labels if one column holds lists of them (``sky|sea``); "json" for JSON
        lists.
    checksum : str, optional
        Checksum of the file, where it is known already; by default it is computed.

    Returns
    -------
    data : LabelDataset

    Raises
    ------
    DatasetError
        If the file is broken or not safe to read, if columns cannot be found, or if rows are no
        label distributions, which the message names as a spreadsheet numbers them.
    FileError
        If there is no such file, or the system does not let it be read.

    Notes
    -----
    Files may come from unknown sources: pickled objects are never loaded, and declared sizes are
    compared with the size of the file before memory is taken. A file of up to 10 MB may become a
    table of 128 MB, every further byte 250 bytes, up to 16 GiB.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "faces.csv"
    >>> _ = path.write_text("width,joy,fear\\n1.5,3,1\\n2.5,0,4\\n")
    >>> data = read_dataset(path, labels=["joy", "fear"])
    >>> data.D
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    >>> folder.cleanup()
    """
    path = Path(path)
    list_column = labels if separator is not None and isinstance(labels, str) else None
    dialect = Dialect(delimiter, decimal, encoding)
    reading = ReadingOptions(dialect=dialect, max_bytes=max_bytes)
    label_file = find_label_file(labels)
    input = TableInput(str(path), reading, label_file=label_file, list_column=list_column)
    try:
        # Not by name: columns may also be selected by position, where names are missing or occur
        # twice.
        table = open_table(input, by_name=False)
        with table as source, source.opened.convert_errors():
            parts = _choose_features_and_labels(source, features, label_file or labels)
            if separator is not None:
                content = _read_lists(source, parts, separator)
            else:
                content = _read_matrices(source, parts, kind, normalise)
            content["X"] = _as_features(content["X"])
            if not checksum:
                checksum = f"sha256:{sha256_of(path)}" if path.is_file() else ""
            # The argument comes first, then the file's own texts, then its name.
            content |= {"source": str(path), "name": path.stem}
            for key, text in (*source.texts.items(), ("name", name)):
                if text:
                    content[key] = text
            names = _names_in_file(source, "X", parts["X"])
            return LabelDataset(**content, feature_names=names, checksum=checksum)
    except TableError as error:
        raise DatasetError(str(error)) from error


def _choose_features_and_labels(
    source: Source, features: Columns, labels: Columns
) -> dict[str, list[int]]:
    """Positions of the features ("X") and of the labels, by field."""
    by_field = dict(source.labels) if labels is None else {"auto": source.find(labels, "labels")}
    if not by_field:
        names = format_list(source.names, 12)
        raise TableError(f"name the labels, e.g. labels='emotion_*'; the columns are {names}.")
    taken = set(chain(*by_field.values()))
    if features is None:
        selected = source.default_features(taken)
    else:
        selected = source.find(features, "features")
    for i in sorted(taken.intersection(selected)):
        raise TableError(
            f"the column {source.names[i]!r} was selected as a feature and as a label."
        )
    if not selected:
        raise TableError("no column is left for the features.")
    return {"X": selected, **by_field}


def _read_lists(source: Source, parts: dict[str, list[int]], separator: str) -> dict[str, Any]:
    """Fields of a data set from a table with a column of lists."""
    features, listed = ([source.names[i] for i in positions] for positions in parts.values())
    frame = source.read(dict.fromkeys([*features, *listed], "any"))
    table, labels, _ = expand_label_list(frame[listed], listed, separator, source.budget)
    Y = table[labels].to_numpy().astype(np.int8)
    return {"X": frame_to_matrix(frame[features], features), "Y": Y, "label_names": labels}


def _read_matrices(
    source: Source, parts: dict[str, list[int]], kind: str, normalise: bool
) -> dict[str, Any]:
    """Fields of a data set from a file with a column for each label."""
    _, label_field, *_ = parts  # after the features
    label_names = _names_in_file(source, label_field, parts[label_field])
    matrices = source.read_matrices(parts)
    fields = {"X": matrices.pop("X"), "label_names": label_names}
    for field, matrix in matrices.items():
        # A file may state what its matrices contain: one-hot degrees must not be taken for 0/1
        # labels.
        kind_of_field = _KIND_OF_FIELD.get(field, "auto") if kind == "auto" else kind
        rows = range(source.first_row, source.first_row + len(matrix))
        names = label_names or default_label_names(matrix.shape[1])
        labels = TableLabels(names, matrix, rows)
        fields |= labels.to_dataset_fields(kind_of_field, normalise=normalise)
    return fields


def _names_in_file(source: Source, field: str, positions: list[int]) -> list[str]:
    """Names that the file gives; none if it names nothing."""
    # Names that a reader made up would come back as if the file had them.
    if not source.unnamed.isdisjoint(positions):
        return []
    return [strip_mark(source.names[i], field) for i in positions]


def _as_features(X: Any) -> Any:
    if scipy.sparse.issparse(X):
        return X
    # float32 stays, at half of the memory; whole numbers become floats, as every method needs them.
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return np.ascontiguousarray(X, dtype=dtype)


def write_dataset(data: LabelDataset, path: str | os.PathLike[str]) -> None:
    """Write a data set to a file, for `read_dataset` and every command of `ldlearn`.

    An existing file is replaced, once the new one is complete.

    Parameters
    ----------
    data : LabelDataset
    path : str or path-like
        The suffix determines the format, as in `read_dataset`. ``.npz``, ``.mat``, ``.parquet`` and
        ``.feather`` keep everything; text tables keep numbers and names (two label matrices, or a
        label named like a feature, are distinguished by ``D:``, ``Y:`` or ``votes:`` before the
        name); ``.arff`` keeps one label matrix with names; LIBSVM keeps logical labels and sixteen
        digits; ``name.npy`` becomes a pair ``name_X.npy`` and ``name_D.npy`` of numbers only.
    """
    try:
        write_content(os.fspath(path), _as_content(data))
    except TableError as error:
        raise DatasetError(str(error)) from error


def _as_content(data: LabelDataset) -> DatasetContent:
    labels = {"D": data.D}
    if data.counts is not None:
        labels = {"counts": data.counts}  # the shares follow from them
    labels["Y"] = data.Y
    labels = {key: matrix for key, matrix in labels.items() if matrix is not None}
    texts = {key: getattr(data, key) for key in TEXT_FIELDS}
    return DatasetContent(data.X, labels, data.feature_names, data.label_names, texts)
