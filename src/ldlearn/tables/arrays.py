"""Files of named arrays (.npz, .npy, .mat): which are the features, which the labels, and their
columns as a table.

The columns of a matrix are named by what this library wrote beside it, or by the arrays
``feature_names`` and ``label_names``; without names, those of a matrix ``M`` are ``M0, M1, ...``.
These formats are read as a whole. NumPy files are read without pickles, and their headers are
checked.
"""

import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ldlearn.tables.files import PIPE, Budget, Input, OpenInput, Output
from ldlearn.tables.formats import META, DatasetContent, Format, parse_meta
from ldlearn.tables.options import Columns
from ldlearn.tables.source import Kind, Source, SparseTable, make_frame

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
    "counts": ("counts", "votes"),
    "Y": ("y", "logicallabel", "logicallabels", "target", "targets", "label", "logical"),
}
_LIBSVM_MARK = "ldlearn "  # before names and origin, in a comment
_LONGEST_ROW = 50_000
_SPARSE = (
    "data",
    "indices",
    "indptr",
    "shape",
    "format",
)  # how scipy.sparse.save_npz stores a matrix


class ArraySource(Source):
    """The arrays of a file, as columns.

    Parameters
    ----------
    opened : OpenInput
    arrays : dict of str to array
        Vectors and matrices, X perhaps sparse; arrays with other numbers of dimensions are passed
        over.
    """

    def __init__(self, opened: OpenInput, arrays: dict[str, Any]) -> None:
        super().__init__(opened)
        known, own = _pop_names(arrays, self.budget)
        self.texts = known.pop("texts", {})
        self._arrays = {
            name: array for name, array in arrays.items() if _is_column_or_matrix(array)
        }
        widths = [array.shape[1] if array.ndim == 2 else 1 for array in self._arrays.values()]
        self.budget.check_columns(sum(widths), max(map(len, self._arrays), default=0))
        matrices = [name for name, array in self._arrays.items() if array.ndim == 2]
        features = _first_present("X", matrices)
        others = [name for name in matrices if name != features]
        fields = {field: name for field in MARKS if (name := _first_present(field, others))}
        # A single matrix called labels may hold degrees, 0/1 labels or votes: its values decide.
        kinds = {field: field if own or len(fields) > 1 else "auto" for field in fields}
        held = {features: "X"} | {name: kinds[field] for field, name in fields.items()}
        self._name_columns(known, held)
        self.features = self.groups.get(features)
        self.labels = {kinds[field]: self.groups[name] for field, name in fields.items()}

    def _name_columns(self, known: dict[str, list[str]], held: dict[str, str]) -> None:
        """``held`` maps matrices to what they hold: features, then the labels of each kind."""
        unnamed: set[int] = set()
        self.names, self.groups = [], {}
        self._array_columns: list[tuple[str, int]] = []
        shared = list(held)[2:]  # two label matrices cannot share names
        for name, array in self._arrays.items():
            start, field = len(self.names), held.get(name, "")
            names = known["feature_names" if field == "X" else "label_names"] if field else []
            if array.ndim == 1:
                names = [name]
            elif len(names) != array.shape[1] or not names:
                # Names that do not fit the matrix are those of something else.
                names = [f"{name}{j}" for j in range(array.shape[1])]
                unnamed.update(range(start, start + len(names)))
            else:
                names = [
                    MARKS[field] + label if name in shared else mark_if_ambiguous(label, field)
                    for label in names
                ]
            self.names += names
            self._array_columns += [(name, j) for j in range(len(names))]
            self.groups[name] = list(range(start, len(self.names)))
        self.unnamed = frozenset(unnamed)

    def find(self, choice: Columns, option: str = "labels") -> list[int]:
        """Positions of chosen columns; the name of a matrix stands for all of its columns."""
        if isinstance(choice, str) and choice in self.groups and choice not in self.names:
            return self.groups[choice]
        return super().find(choice, option)

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`: one block."""
        is_sparse = {name for name, array in self._arrays.items() if scipy.sparse.issparse(array)}
        sparse = [i for i in kinds if self._array_columns[i][0] in is_sparse]
        dense = [i for i in kinds if self._array_columns[i][0] not in is_sparse]
        columns = {i: self._select_columns([i])[:, 0] for i in dense}
        n_rows = self._common_length(list(kinds))
        frame = make_frame(columns, 1).reindex(
            range(1, n_rows + 1)
        )  # a frame without columns has no rows
        if not sparse:
            yield frame
            return
        yield SparseTable(
            frame, scipy.sparse.csr_array(self._select_columns(sparse)), sparse, self.budget
        )

    def read_matrices(self, groups: Mapping[str, list[int]]) -> dict[str, Any]:
        """See `Source.read_matrices`; a matrix that is wanted whole is not copied, and X may stay
        sparse."""
        for name in {self._array_columns[i][0] for positions in groups.values() for i in positions}:
            if self._arrays[name].dtype.kind not in "biuf":
                raise TableError(f"the array {name!r} holds no numbers.")
        found = {field: self._select_columns(positions) for field, positions in groups.items()}
        return {
            field: matrix if field == "X" else self._to_dense(matrix)
            for field, matrix in found.items()
        }

    def _select_columns(self, positions: list[int]) -> Any:
        """These columns side by side."""
        names = dict.fromkeys(self._array_columns[i][0] for i in positions)
        if len(names) == 1:
            (name,) = names
            columns = [self._array_columns[i][1] for i in positions]
            array = (
                self._arrays[name].reshape(-1, 1)
                if self._arrays[name].ndim == 1
                else self._arrays[name]
            )
            return array if columns == list(range(array.shape[1])) else array[:, columns]
        self.budget.check(8 * self._common_length(positions) * len(positions))
        return np.column_stack([to_dense(self._select_columns([i])) for i in positions])

    def _to_dense(self, matrix: Any) -> Any:
        self.budget.check(8 * math.prod(matrix.shape))
        return to_dense(matrix)

    def _common_length(self, positions: list[int]) -> int:
        """Number of rows, which all arrays that hold these columns must have."""
        lengths = {
            self._array_columns[i][0]: self._arrays[self._array_columns[i][0]].shape[0]
            for i in positions
        }
        (first, n), *others = lengths.items()
        for other, m in others:
            if m != n:
                raise TableError(
                    f"the array {first!r} has {n} rows, but {other!r} has {m}; all need as many."
                )
        return int(n)


def _is_column_or_matrix(array: Any) -> bool:
    # Bytes are marks of other programs, such as scipy's "csr"; a matrix of texts is no label and no
    # feature.
    if isinstance(array, str) or array.dtype.kind == "S":
        return False
    # A long row is how MATLAB stores a vector.
    is_matrix = (
        array.ndim == 2
        and array.dtype.kind != "U"
        and (array.shape[0] != 1 or array.shape[1] <= _LONGEST_ROW)
    )
    return bool(array.ndim == 1 or is_matrix)


def _pop_names(arrays: dict[str, Any], budget: Budget) -> tuple[dict[str, Any], bool]:
    """Names of features and labels that the file gives, and whether this library wrote it; they are
    taken out."""
    text = arrays.pop(META, None)
    if text is not None:
        return parse_meta(str(text), budget), True
    given = {key: arrays.pop(key, np.empty(0)) for key in ("feature_names", "label_names")}
    return {key: [str(name) for name in np.ravel(names)] for key, names in given.items()}, False


def _first_present(field: str, present: Sequence[str]) -> str:
    """The first usual name of a field among the present names; empty if there is none."""
    # Capital letters win: x and X may both be there.
    spelled = {
        normalize_name(name).removeprefix("train"): name for name in sorted(present, reverse=True)
    }
    return next((spelled[name] for name in _USUAL_NAMES[field] if name in spelled), "")


def to_arrays(content: DatasetContent) -> dict[str, Any]:
    """The arrays that a data set is stored as."""
    features = {"X": content.X} if content.X.shape[1] else {}
    return {**features, **content.labels, META: content.meta()}


def open_arrays(opened: OpenInput, read: Callable[[Path, Budget], dict[str, Any]]) -> ArraySource:
    """The table of a format whose files are read as a whole."""
    return ArraySource(opened, read(opened.path, opened.budget))


def read_npz(path: Path, budget: Budget) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz archive."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            if not member.filename.endswith(".npy"):
                raise TableError(f"it holds {member.filename!r}, which is no NumPy array.")
            # NumPy itself writes no other kinds.
            if (
                member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
                or member.flag_bits & 1
            ):
                raise TableError(
                    f"{member.filename!r} is packed or encrypted in a way no NumPy archive is."
                )
        arrays = {}
        for member in members:
            with archive.open(member) as file:
                name = member.filename.removesuffix(".npy")
                arrays[name] = _read_array(file, member.file_size, budget, f"the array {name!r}")
    return arrays


def read_npy(path: Path, budget: Budget) -> NDArray[Any]:
    """The array of an .npy file."""
    with path.open("rb") as file:
        return _read_array(file, path.stat().st_size, budget)


def _read_array(
    file: IO[bytes], size: int, budget: Budget, what: str = "the array"
) -> NDArray[Any]:
    """Read an array of ``size`` bytes whose header must agree with the number of bytes that follow
    it."""
    start = file.tell()
    version = npy_format.read_magic(file)
    read_header = (
        npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    )
    shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise TableError(f"{what} holds Python objects (pickles), which are never loaded.")
    if dtype.kind not in "biufUS":
        raise TableError(f"{what} holds {dtype}, not numbers.")
    if min(shape, default=0) < 0:
        raise TableError(f"{what} has the impossible shape {shape}.")
    expected, present = dtype.itemsize * math.prod(shape), size - (file.tell() - start)
    if expected != present:
        raise TableError(f"{what} announces {expected:,} bytes and holds {present:,}.")
    # A text becomes a Python object.
    budget.spend_array(shape, dtype.itemsize + (64 if dtype.kind == "U" else 0))
    file.seek(start)
    array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
    file.read(1)  # an archive compares its checksum at the end of the member
    return array


def _open_npy(opened: OpenInput) -> ArraySource:
    """A matrix of an .npy file, or a pair of files.

    ``name.npy`` stands for ``name_X.npy`` with ``name_D.npy`` (or ``_Y``, ``_counts``) where these
    are. Otherwise the file is one matrix, which the columns of a label file may join.
    """
    input = opened.input
    if input.has_path:
        parts = {field: _part_path(Path(input.table), field) for field in ("X", *MARKS)}
        found = {field: part for field, part in parts.items() if part.is_file()}
        if "X" in found and len(found) > 1:
            opened.budget.size = sum(part.stat().st_size for part in found.values())
            matrices = {field: read_npy(part, opened.budget) for field, part in found.items()}
            # The endings of the names show what the labels are, as the description in a file of
            # ours would.
            return ArraySource(opened, {**matrices, META: "{}"})
    matrix = read_npy(opened.path, opened.budget)
    if matrix.ndim != 2:
        raise TableError(f"it holds no matrix but an array of shape {matrix.shape}.")
    if input.label_file is None:
        return ArraySource(opened, {"column": matrix})
    labels = _read_label_file(opened, Path(input.label_file))
    source = ArraySource(opened, {"column": matrix, "label": labels})
    source.groups[input.label_file] = source.groups["label"]
    return source


def _read_label_file(opened: OpenInput, path: Path) -> NDArray[Any]:
    """The labels of the rows of another file, beside which they may lie."""
    if not path.is_file():
        path = Path(opened.input.table).parent / path
    labels = OpenInput(Input(str(path), opened.input.reading), opened.title)
    with labels.convert_errors():
        matrix = read_npy(labels.path, labels.budget)
        if matrix.ndim != 2:
            needed = "a matrix with a column for each label is needed"
            raise TableError(f"{needed}, not the shape {matrix.shape}.")
    opened.budget.size += labels.budget.size
    return matrix


def _part_path(path: Path, field: str) -> Path:
    return path.with_name(f"{path.stem.removesuffix('_X')}_{field}.npy")


def _read_npz_dataset(path: Path, budget: Budget) -> dict[str, Any]:
    arrays: dict[str, Any] = read_npz(path, budget)
    if arrays.keys() >= {*_SPARSE}:
        data, indices, starts, shape, format = (arrays.pop(name) for name in _SPARSE)
        if format.item() != b"csr":
            raise TableError(
                f"its sparse matrix is stored as {format.item()!r:.20}; save it as CSR."
            )
        X = scipy.sparse.csr_matrix((data, indices, starts), shape=tuple(int(n) for n in shape))
        # scipy does not check indices, and its compiled loops would go beyond the arrays.
        X.check_format(full_check=True)
        return {"X": X} | arrays
    return arrays


def _write_npz(output: Output, content: DatasetContent) -> None:
    """Write an archive: a data set with names and origin; of a table the degrees as ``D`` with
    ``label_names``."""
    arrays = to_arrays(content)
    if scipy.sparse.issparse(X := content.X):
        del arrays["X"]
        arrays |= zip(_SPARSE, (X.data, X.indices, X.indptr, X.shape, b"csr"), strict=True)
    if not content.texts:  # a plain table has its names in arrays that others can read
        del arrays[META]
        arrays |= (
            {"feature_names": np.array(content.feature_names)} if len(content.feature_names) else {}
        )
        arrays |= {**content.others, "label_names": np.array(content.label_names)}
    np.savez_compressed(output.file, **arrays)


def _write_npy(output: Output, content: DatasetContent) -> None:
    """Write ``name_X.npy`` and ``name_D.npy`` (or ``_Y``, ``_counts``), without names; degrees
    alone as one file."""
    content.check_numbers_only()
    content.check_dense()
    if not content.X.shape[1]:
        np.save(output.file, next(iter(content.labels.values())), allow_pickle=False)
        return
    if output.name == PIPE:
        raise TableError("features and labels are two .npy files, no pipe can hold them; use .npz.")
    # all files are complete before the first takes its place
    for field, matrix in {"X": content.X, **content.labels}.items():
        np.save(
            output.open_sibling(_part_path(Path(output.name), field)), matrix, allow_pickle=False
        )


NPZ = Format("NPZ", partial(open_arrays, read=_read_npz_dataset), write_content=_write_npz)
NPY = Format("a NumPy array", _open_npy, write_content=_write_npy)


def _read_libsvm(path: Path, budget: Budget) -> dict[str, Any]:
    """Features (sparse) and logical labels; label numbers in ascending order become the columns."""
    from sklearn.datasets import load_svmlight_file  # slow to import, and rarely needed
    from sklearn.preprocessing import MultiLabelBinarizer

    with path.open("rb") as file:
        # A row and a label are Python objects.
        for piece in iter(partial(file.read, 1 << 20), b""):
            budget.spend(64 * (piece.count(b"\n") + piece.count(b",")))
    comment = _read_own_comment(path)
    known = parse_meta(comment or "{}", budget)
    # The lines show neither last features that are 0 everywhere, nor whether indices begin at
    # 0.
    own = (
        {"n_features": len(known["feature_names"]), "zero_based": False}
        if known["feature_names"]
        else {}
    )
    X, targets = load_svmlight_file(str(path), multilabel=True, **own)
    budget.check_columns(X.shape[1])
    numbers = sorted({number for row in targets for number in row})
    if not np.isfinite(numbers).all():
        raise TableError("a label is no finite number.")
    if known["label_names"]:
        # Labels that no row has keep their columns.
        if unnamed := set(numbers) - set(range(len(known["label_names"]))):
            raise TableError(f"it has the label {min(unnamed):g}, which has no name.")
        numbers = [float(j) for j in range(len(known["label_names"]))]
    # The labels are made dense.
    budget.spend_array((X.shape[0], len(numbers)))
    Y = MultiLabelBinarizer(classes=numbers).fit_transform(targets).astype(np.int8)
    names = {
        "feature_names": [f"x{j}" for j in range(X.shape[1])],
        "label_names": [f"{n:g}" for n in numbers],
    }
    return {"X": X, "Y": Y, META: comment or json.dumps(names)}


def _read_own_comment(path: Path) -> str:
    """Names and origin, if the comments at the beginning are ours."""
    with path.open("rb") as file:
        while (line := file.readline(1 << 28)).startswith(b"#"):
            text = line[1:].strip()
            if text.startswith(_LIBSVM_MARK.encode()):
                return text[len(_LIBSVM_MARK) :].decode()
    return ""


def _write_libsvm(output: Output, content: DatasetContent) -> None:
    """Write features, with sixteen digits, and logical labels; names and origin go into a
    comment."""
    from sklearn.datasets import dump_svmlight_file

    if "Y" not in content.labels:
        advice = "make them first, e.g. LabelDataset(X, Y=data.logical())."
        raise TableError(f"LIBSVM files hold logical labels only; {advice}")
    X, Y = (scipy.sparse.csr_matrix(matrix) for matrix in (content.X, content.labels["Y"]))
    comment = _LIBSVM_MARK + content.meta()
    dump_svmlight_file(
        _with_explicit_zeros(X), Y, output.file, zero_based=False, comment=comment, multilabel=True
    )


def _with_explicit_zeros(X: Any) -> Any:
    """Give rows of zeros one of them explicitly: a line without labels and features would not be
    read back."""
    rows = np.flatnonzero(np.diff(X.indptr) == 0)
    made = X.tocoo()
    parts = (
        np.append(made.data, np.zeros(len(rows))),
        (np.append(made.row, rows), np.append(made.col, 0 * rows)),
    )
    return scipy.sparse.csr_matrix(parts, shape=X.shape)


LIBSVM = Format("LIBSVM", partial(open_arrays, read=_read_libsvm), write_content=_write_libsvm)
