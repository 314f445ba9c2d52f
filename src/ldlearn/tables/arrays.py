"""Files of named arrays (.npz, .npy, .svm): their arrays, and the columns of a table that they are.

Which arrays are features and which are labels follows from their names. The columns of a matrix are
named by what this library wrote beside it, or by the arrays ``feature_names`` and ``label_names``;
without names, those of a matrix ``M`` are ``M0, M1, ...``. These formats are read as a whole. NumPy
files are read without pickles, and their headers are checked.
"""

import json
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ldlearn._messages import normalize_name
from ldlearn.core.scaling import to_dense
from ldlearn.exceptions import TableError
from ldlearn.tables.columns import MARKS, mark_if_ambiguous
from ldlearn.tables.files import PIPE, Budget, OpenInput, TableInput, TableOutput
from ldlearn.tables.formats import META, DatasetContent, Format, parse_meta
from ldlearn.tables.options import Columns
from ldlearn.tables.source import Kinds, Source, SparseTable, columns_to_frame

# In any case of letters, with or without underscores and a "train" before them.
_USUAL_NAMES = {
    "X": ("x", "features", "feature", "data"),
    "D": (
        "d",
        "labels",
        "labeldistribution",
        "labeldistributions",
        "distributions",
        "distribution",
    ),
    "Y": ("y", "logicallabel", "logicallabels", "target", "targets", "label", "logical"),
    "counts": ("counts", "votes"),
}
_LIBSVM_MARK = "ldlearn "  # before names and origin, in a comment
_LONGEST_MATRIX_ROW = 50_000
# How scipy.sparse.save_npz stores a matrix.
_SPARSE_PARTS = ("data", "indices", "indptr", "shape", "format")


class ArraySource(Source):
    """The columns of arrays.

    Parameters
    ----------
    opened : OpenInput
    arrays : dict of str to array of shape (n, k)
        They may be sparse.
    columns : list of (str, int)
        The array of each column, and its position there.
    """

    # The names of arrays that stand for all of their columns.
    groups: Mapping[str, list[int]] = {}

    def __init__(
        self,
        opened: OpenInput,
        arrays: Mapping[str, Any],
        columns: list[tuple[str, int]],
    ) -> None:
        super().__init__(opened)
        self._arrays = arrays
        self._columns = columns

    def find(self, choice: Columns, option: str = "labels") -> list[int]:
        """Positions of chosen columns; the name of a matrix stands for all of its columns."""
        if isinstance(choice, str) and choice in self.groups and choice not in self.names:
            return self.groups[choice]
        return super().find(choice, option)

    def blocks(self, kinds: Kinds) -> Iterator[Any]:
        """See `Source.blocks`: one block."""
        dense = {}
        sparse = []
        for i in kinds:
            name, j = self._columns[i]
            if scipy.sparse.issparse(self._arrays[name]):
                sparse.append(i)
            else:
                dense[i] = self._arrays[name][:, j]
        n_rows = self._common_length(kinds)
        # A frame without columns has no rows.
        frame = columns_to_frame(dense, 1).reindex(range(1, n_rows + 1))
        if not sparse:
            yield frame
            return
        matrix = scipy.sparse.csr_array(self._select(sparse))
        yield SparseTable(frame, matrix, sparse, self.budget)

    def read_matrices(self, groups: Mapping[str, list[int]]) -> dict[str, Any]:
        """See `Source.read_matrices`; a matrix that is wanted whole is not copied."""
        matrices = {}
        for field, positions in groups.items():
            for i in positions:
                name, _ = self._columns[i]
                if self._arrays[name].dtype.kind not in "biuf":
                    raise TableError(f"the array {self.names[i]!r} holds no numbers.")
            matrix = self._select(positions)
            if field != "X":
                self.budget.check(8 * math.prod(matrix.shape))
                matrix = to_dense(matrix)
            matrices[field] = matrix
        return matrices

    def _select(self, positions: list[int]) -> Any:
        """These columns side by side."""
        names, columns = zip(*map(self._columns.__getitem__, positions), strict=True)
        if len(set(names)) > 1:
            n_rows = self._common_length(positions)
            self.budget.check(8 * n_rows * len(positions))
            return np.column_stack([to_dense(self._select([i])) for i in positions])
        array = self._arrays[names[0]]
        is_whole = columns == tuple(range(array.shape[1]))
        return array if is_whole else array[:, list(columns)]

    def _common_length(self, positions: Iterable[int]) -> int:
        """Number of rows, which all arrays that hold these columns must have."""
        names = dict.fromkeys(self._columns[i][0] for i in positions)
        first, *others = names
        n = self._arrays[first].shape[0]
        for other in others:
            m = self._arrays[other].shape[0]
            if m != n:
                problem = f"the array {first!r} has {n} rows, but {other!r} has {m}"
                raise TableError(f"{problem}; all need as many.")
        return n


def open_arrays(opened: OpenInput, read: Callable[[Path, Budget], dict[str, Any]]) -> ArraySource:
    """The table of a file of named arrays, which is read as a whole."""
    return _name_arrays(opened, read(opened.path, opened.budget))


def _name_arrays(opened: OpenInput, arrays: dict[str, Any]) -> ArraySource:
    """Find features and labels among the arrays, and name their columns."""
    is_own = META in arrays  # this library wrote the file
    known = _pop_names(arrays, opened.budget)
    kept = {name: array for name, array in arrays.items() if _is_column_or_matrix(array)}
    width = sum(math.prod(array.shape[1:]) for array in kept.values())
    opened.budget.check_columns(width, max(map(len, kept), default=0))
    fields = _find_fields([name for name, array in kept.items() if array.ndim == 2])
    label_matrices = [name for name, field in fields.items() if field != "X"]
    # A single matrix called labels may hold degrees, 0/1 labels or votes: its values decide.
    if len(label_matrices) == 1 and not is_own:
        fields[label_matrices[0]] = "auto"
    names: list[str] = []
    columns: list[tuple[str, int]] = []
    unnamed: set[int] = set()
    groups = {}
    for name, array in kept.items():
        start = len(names)
        field = fields.get(name)
        given = known["feature_names" if field == "X" else "label_names"]
        if array.ndim == 1:
            names.append(name)
            kept[name] = array.reshape(-1, 1)
        elif field is None or len(given) != array.shape[1]:
            # Names that do not fit the matrix are those of something else.
            names += [f"{name}{j}" for j in range(array.shape[1])]
            unnamed.update(range(start, len(names)))
        elif name in label_matrices[1:]:  # two label matrices cannot share names
            names += [MARKS[field] + label for label in given]
        else:
            names += [mark_if_ambiguous(label, field) for label in given]
        groups[name] = list(range(start, len(names)))
        columns += [(name, j) for j in range(len(names) - start)]
    source = ArraySource(opened, kept, columns)
    source.names = names
    source.groups = groups
    source.unnamed = frozenset(unnamed)
    source.texts = known["texts"]
    for name, field in fields.items():
        if field == "X":
            source.features = groups[name]
    source.labels = {fields[name]: groups[name] for name in label_matrices}
    return source


def _is_column_or_matrix(array: Any) -> bool:
    # Bytes are marks of other programs, such as scipy's "csr".
    if isinstance(array, str) or array.dtype.kind == "S":
        return False
    if array.ndim != 2:
        return array.ndim == 1
    # A long row is how MATLAB stores a vector; a matrix of texts is no label and no feature.
    is_vector = array.shape[0] == 1 and array.shape[1] > _LONGEST_MATRIX_ROW
    return not is_vector and array.dtype.kind != "U"


def _pop_names(arrays: dict[str, Any], budget: Budget) -> dict[str, Any]:
    """Take out names of features and labels that the file gives, and texts about it."""
    if META in arrays:
        return parse_meta(str(arrays.pop(META)), budget)
    names: dict[str, Any] = {"texts": {}}
    for key in ("feature_names", "label_names"):
        names[key] = list(map(str, np.ravel(arrays.pop(key, ()))))
    return names


def _find_fields(matrices: list[str]) -> dict[str, str]:
    """What the matrices with usual names hold."""
    spelled = {}
    # Capital letters win: x and X may both be there.
    for name in sorted(matrices, reverse=True):
        spelled[normalize_name(name).removeprefix("train")] = name
    fields = {}
    for field, usual in _USUAL_NAMES.items():
        present = list(filter(spelled.__contains__, usual))
        if present:
            fields[spelled[present[0]]] = field
    return fields


def to_arrays(content: DatasetContent) -> dict[str, Any]:
    """The arrays that a data set is stored as."""
    features = {"X": content.X} if content.X.shape[1] else {}
    return {**features, **content.labels, META: content.meta()}


def read_npz(path: Path, budget: Budget) -> dict[str, Any]:
    """All arrays of an .npz archive; the parts of a sparse matrix as the matrix ``X``."""
    arrays: dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name, _, ending = member.filename.rpartition(".")
            if ending != "npy":
                raise TableError(f"it holds {member.filename!r}, which is no NumPy array.")
            # NumPy itself writes no other kinds.
            is_usual = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if not is_usual or member.flag_bits & 1:
                raise TableError(f"{name!r} is packed or encrypted in a way no NumPy archive is.")
            what = f"the array {name!r}"
            with archive.open(member) as file:
                arrays[name] = _read_npy_array(file, member.file_size, budget, what)
    if not arrays.keys() >= {*_SPARSE_PARTS}:
        return arrays
    data, indices, starts, shape, format = map(arrays.pop, _SPARSE_PARTS)
    if format.item() != b"csr":
        raise TableError(f"its sparse matrix is stored as {format.item()!r:.20}; save it as CSR.")
    X = scipy.sparse.csr_matrix((data, indices, starts), shape=tuple(map(int, shape)))
    # scipy does not check indices, and its compiled loops would go beyond the arrays.
    X.check_format(full_check=True)
    return {"X": X, **arrays}


def read_npy(path: Path, budget: Budget) -> NDArray[Any]:
    """The array of an .npy file."""
    with path.open("rb") as file:
        return _read_npy_array(file, path.stat().st_size, budget)


def _read_npy_array(
    file: IO[bytes],
    size: int,
    budget: Budget,
    what: str = "the array",
) -> NDArray[Any]:
    """Read an array of ``size`` bytes, with which its header must agree."""
    start = file.tell()
    if npy_format.read_magic(file) == (1, 0):
        shape, _, dtype = npy_format.read_array_header_1_0(file)
    else:
        shape, _, dtype = npy_format.read_array_header_2_0(file)
    if dtype.hasobject:
        raise TableError(f"{what} holds Python objects (pickles), which are never loaded.")
    if dtype.kind not in "biufUS":
        raise TableError(f"{what} holds {dtype}, not numbers.")
    if min(shape, default=0) < 0:
        raise TableError(f"{what} has the impossible shape {shape}.")
    expected = dtype.itemsize * math.prod(shape)
    present = size - (file.tell() - start)
    if expected != present:
        raise TableError(f"{what} announces {expected:,} bytes and holds {present:,}.")
    # A text becomes a Python object.
    budget.spend_array(shape, dtype.itemsize + 64 * (dtype.kind == "U"))
    file.seek(start)
    array = npy_format.read_array(file, allow_pickle=False)
    file.read(1)  # an archive compares its checksum at the end of the member
    return array


def _open_npy(opened: OpenInput) -> ArraySource:
    """A matrix of an .npy file, or a pair of files.

    ``name.npy`` stands for ``name_X.npy`` with ``name_D.npy`` (or ``_Y``, ``_counts``) where these
    are. Otherwise the file is one matrix, which the columns of a label file may join.
    """
    input = opened.input
    if input.has_path:
        found = {}
        size = 0
        for field in MARKS:
            part = _npy_path_of_field(input.table, field)
            if part.is_file():
                found[field] = part
                size += part.stat().st_size
        if "X" in found and len(found) > 1:
            opened.budget.size = size
            # The endings of the names show what the labels are, as the description in a file of
            # ours would.
            arrays: dict[str, Any] = {META: "{}"}
            for field, part in found.items():
                arrays[field] = read_npy(part, opened.budget)
            return _name_arrays(opened, arrays)
    matrix = read_npy(opened.path, opened.budget)
    if matrix.ndim != 2:
        raise TableError(f"it holds no matrix but an array of shape {matrix.shape}.")
    if input.label_file is None:
        return _name_arrays(opened, {"column": matrix})
    labels = _read_label_file(opened, Path(input.label_file))
    source = _name_arrays(opened, {"column": matrix, "label": labels})
    source.groups = {input.label_file: source.groups["label"], **source.groups}
    return source


def _read_label_file(opened: OpenInput, path: Path) -> NDArray[Any]:
    """The labels of the rows of another file, beside which they may lie."""
    if not path.is_file():
        path = Path(opened.input.table).parent / path
    labels = OpenInput(TableInput(str(path), opened.input.reading), opened.title)
    with labels.convert_errors():
        matrix = read_npy(labels.path, labels.budget)
        if matrix.ndim != 2:
            needed = "a matrix with a column for each label is needed"
            raise TableError(f"{needed}, not the shape {matrix.shape}.")
    opened.budget.size += labels.budget.size
    return matrix


def _npy_path_of_field(name: str, field: str) -> Path:
    path = Path(name)
    return path.with_name(f"{path.stem.removesuffix('_X')}_{field}.npy")


def _write_npz(output: TableOutput, content: DatasetContent) -> None:
    """Write an archive: a data set with names and origin; of a table the degrees as ``D``."""
    arrays = to_arrays(content)
    X = content.X
    if scipy.sparse.issparse(X):
        del arrays["X"]
        parts = (X.data, X.indices, X.indptr, X.shape, b"csr")
        arrays.update(zip(_SPARSE_PARTS, parts, strict=True))
    if not content.texts:  # a plain table has its names in arrays that others can read
        del arrays[META]
        arrays |= content.others
        arrays["label_names"] = np.array(content.label_names)
        if len(content.feature_names):
            arrays["feature_names"] = np.array(content.feature_names)
    np.savez_compressed(output.file, **arrays)


def _write_npy(output: TableOutput, content: DatasetContent) -> None:
    """Write ``name_X.npy`` and ``name_D.npy`` (or ``_Y``, ``_counts``); degrees alone as one."""
    content.check_numbers_only()
    content.check_dense()
    if not content.X.shape[1]:
        np.save(output.file, next(iter(content.labels.values())), allow_pickle=False)
        return
    if output.name == PIPE:
        raise TableError("features and labels are two .npy files, no pipe can hold them; use .npz.")
    # All files are complete before the first takes its place.
    for field, matrix in {"X": content.X, **content.labels}.items():
        file = output.open_sibling(_npy_path_of_field(output.name, field))
        np.save(file, matrix, allow_pickle=False)


def _read_libsvm(path: Path, budget: Budget) -> dict[str, Any]:
    """Features (sparse) and logical labels; label numbers in ascending order become the columns."""
    from sklearn.datasets import load_svmlight_file  # slow to import, and rarely needed
    from sklearn.preprocessing import MultiLabelBinarizer

    with path.open("rb") as file:
        # A row and a label are Python objects.
        while piece := file.read(1 << 20):
            budget.spend(64 * (piece.count(b"\n") + piece.count(b",")))
    comment = _read_own_comment(path)
    known = parse_meta(comment or "{}", budget)
    # The lines show neither last features that are 0 everywhere, nor whether indices begin at 0.
    n_features = len(known["feature_names"]) or None
    zero_based = False if n_features else "auto"
    X, targets = load_svmlight_file(
        str(path),
        n_features=n_features,
        multilabel=True,
        zero_based=zero_based,
    )
    budget.check_columns(X.shape[1])
    numbers = sorted(set().union(*targets))
    if not np.isfinite(numbers).all():
        raise TableError("a label is no finite number.")
    if known["label_names"]:
        # Labels that no row has keep their columns.
        named = range(len(known["label_names"]))
        if unnamed := set(numbers).difference(named):
            raise TableError(f"it has the label {min(unnamed):g}, which has no name.")
        numbers = list(named)
    budget.spend_array((X.shape[0], len(numbers)))  # the labels are made dense
    Y = MultiLabelBinarizer(classes=numbers).fit_transform(targets).astype(np.int8)
    names = {
        "feature_names": [f"x{j}" for j in range(X.shape[1])],
        "label_names": [f"{n:g}" for n in numbers],
    }
    return {"X": X, "Y": Y, META: comment or json.dumps(names)}


def _read_own_comment(path: Path) -> str:
    """Names and origin, if the comments at the beginning are ours."""
    mark = _LIBSVM_MARK.encode()
    with path.open("rb") as file:
        while (line := file.readline(1 << 28)).startswith(b"#"):
            text = line[1:].strip()
            if text.startswith(mark):
                return text.removeprefix(mark).decode()
    return ""


def _write_libsvm(output: TableOutput, content: DatasetContent) -> None:
    """Write features, with sixteen digits, and logical labels; a comment has names and origin."""
    from sklearn.datasets import dump_svmlight_file

    if "Y" not in content.labels:
        advice = "make them first, e.g. LabelDataset(X, Y=data.logical())."
        raise TableError(f"LIBSVM files hold logical labels only; {advice}")
    X = _with_explicit_zeros(scipy.sparse.coo_matrix(content.X))
    Y = scipy.sparse.csr_matrix(content.labels["Y"])
    comment = _LIBSVM_MARK + content.meta()
    dump_svmlight_file(X, Y, output.file, zero_based=False, comment=comment, multilabel=True)


def _with_explicit_zeros(X: Any) -> Any:
    """Store a zero in rows that have none: a line without labels and features would be lost."""
    rows = np.setdiff1d(np.arange(X.shape[0]), X.row)
    zeros = np.zeros_like(rows)
    data = np.append(X.data, zeros)
    places = (np.append(X.row, rows), np.append(X.col, zeros))
    return scipy.sparse.csr_matrix((data, places), shape=X.shape)


NPZ = Format("NPZ", partial(open_arrays, read=read_npz), write_content=_write_npz)
NPY = Format("a NumPy array", _open_npy, write_content=_write_npy)
LIBSVM = Format("LIBSVM", partial(open_arrays, read=_read_libsvm), write_content=_write_libsvm)
