"""Files of named arrays (.npz, .npy, .mat): which are the features, which the labels, and their columns as a table.

The columns of a matrix are named by what this library wrote beside it, or by the arrays ``feature_names`` and
``label_names``; without names, those of a matrix ``M`` are ``M0, M1, ...``. These formats are read as a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import MARKS, Columns, safe_name
from ldlearn.tables.content import META, Content, dense, parse_meta
from ldlearn.tables.limits import MOST_NAMES, check_total
from ldlearn.tables.source import Input, Kind, Source, make_frame
from ldlearn.tables.sparse_table import SparseTable

_USUAL_NAMES = {
    "X": ("X", "features", "feature", "data", "trainFeature"),
    "D": (
        "D",
        "labels",
        "label_distribution",
        "label_distributions",
        "distributions",
        "distribution",
        "trainDistribution",
    ),
    "counts": ("counts", "votes"),
    "Y": ("Y", "logical_label", "logical_labels", "logicalLabel", "target", "targets", "label", "trainLogical"),
}


class ArraySource(Source):
    """The arrays of a file, as columns.

    Parameters
    ----------
    given : Input
    arrays : dict of str to array
        Vectors and matrices, X perhaps sparse; arrays with other numbers of dimensions are passed over.
    """

    def __init__(self, given: Input, arrays: dict[str, Any]) -> None:
        super().__init__(given)
        known, own = _known_names(arrays)
        self.texts = known.pop("texts", {})
        self._arrays = {name: array for name, array in arrays.items() if _is_column_or_matrix(array)}
        matrices = [name for name, array in self._arrays.items() if array.ndim == 2]
        features = _first_present("X", matrices)
        others = [name for name in matrices if name != features]
        fields = {field: name for field in MARKS if (name := _first_present(field, others))}
        # A single matrix called labels may hold degrees, 0/1 labels or votes: its values decide.
        kinds = {field: field if own or len(fields) > 1 else "auto" for field in fields}
        held = {features: "X"} | {name: kinds[field] for field, name in fields.items()}
        self._name_columns(known, held)
        self.features = self._groups.get(features)
        self.labels = {kinds[field]: self._groups[name] for field, name in fields.items()}

    def _name_columns(self, known: dict[str, list[str]], held: dict[str, str]) -> None:
        """``held`` maps matrices to what they hold: features, then the labels of each kind."""
        made_up: set[int] = set()
        self.names, self._groups = [], {}
        self._places: list[tuple[str, int]] = []
        shared = list(held)[2:]  # two label matrices cannot share names
        for name, array in self._arrays.items():
            start = len(self.names)
            if array.ndim == 1:
                self.names.append(name)
                self._places.append((name, 0))
                continue
            field = held.get(name, "")
            names = known["feature_names" if field == "X" else "label_names"] if field else []
            if len(names) != array.shape[1] or not names:
                # Names that do not fit the matrix are those of something else.
                names = [f"{name}{j}" for j in range(array.shape[1])]
                made_up.update(range(start, start + len(names)))
            else:
                names = [MARKS[field] + label if name in shared else safe_name(label, field) for label in names]
            self.names += names
            self._places += [(name, j) for j in range(array.shape[1])]
            self._groups[name] = list(range(start, len(self.names)))
        self.made_up = frozenset(made_up)

    def find(self, choice: Columns, option: str = "labels") -> list[int]:
        """Positions of chosen columns; the name of a matrix stands for all of its columns."""
        if isinstance(choice, str) and choice in self._groups and choice not in self.names:
            return self._groups[choice]
        return super().find(choice, option)

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`: one block."""
        sparse = [i for i in kinds if scipy.sparse.issparse(self._arrays[self._places[i][0]])]
        columns = {i: self._columns([i])[:, 0] for i in kinds if i not in set(sparse)}
        n_rows = self._common_length(list(kinds))
        frame = make_frame(columns, 1).reindex(range(1, n_rows + 1))  # a frame without columns has no rows
        yield SparseTable(frame, scipy.sparse.csr_array(self._columns(sparse)), sparse) if sparse else frame

    def matrices(self, parts: Mapping[str, list[int]]) -> dict[str, Any]:
        """See `Source.matrices`; a matrix that is wanted whole is not copied, and X may stay sparse."""
        for name in {self._places[i][0] for positions in parts.values() for i in positions}:
            if self._arrays[name].dtype.kind not in "biuf":
                raise TableError(f"the array {name!r} holds no numbers.")
        found = {field: self._columns(positions) for field, positions in parts.items()}
        return {field: matrix if field == "X" else dense(matrix) for field, matrix in found.items()}

    def _columns(self, positions: list[int]) -> Any:
        """These columns side by side."""
        names = dict.fromkeys(self._places[i][0] for i in positions)
        if len(names) == 1:
            (name,) = names
            columns = [self._places[i][1] for i in positions]
            array = self._arrays[name].reshape(-1, 1) if self._arrays[name].ndim == 1 else self._arrays[name]
            return array if columns == list(range(array.shape[1])) else array[:, columns]
        self._common_length(positions)
        return np.column_stack([dense(self._columns([i])) for i in positions])

    def _common_length(self, positions: list[int]) -> int:
        """Number of rows, which all arrays that hold these columns must have."""
        lengths = {self._places[i][0]: self._arrays[self._places[i][0]].shape[0] for i in positions}
        (first, n), *others = lengths.items()
        for other, m in others:
            if m != n:
                problem = f"the array {first!r} has {n} rows, but {other!r} has {m}; a table needs the same for all."
                raise TableError(problem)
        # What is sparse in the file may become dense.
        check_total(8 * n * len(positions), self.given.max_bytes)
        return int(n)


def _is_column_or_matrix(array: Any) -> bool:
    kind = getattr(array, "dtype", np.dtype("S1")).kind
    # Bytes are marks of other programs, such as scipy's "csr"; a matrix of texts is no label and no feature.
    texts, dimensions = kind == "U", getattr(array, "ndim", 0) if kind != "S" else 0
    return dimensions == 1 or (dimensions == 2 and not texts and array.shape[1] <= MOST_NAMES)


def _known_names(arrays: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Names of features and labels that the file gives, and whether this library wrote it; they are taken out."""
    text = arrays.pop(META, None)
    if text is not None:
        return parse_meta(str(text)), True
    given = {key: arrays.pop(key, np.empty(0)) for key in ("feature_names", "label_names")}
    return {key: [str(name) for name in np.ravel(names)] for key, names in given.items()}, False


def _first_present(field: str, present: Sequence[str]) -> str:
    """The first usual name of a field among the present names, in any case of letters; empty if there is none."""
    # The exact name wins: x and X may both be there. Reversed, so that of several spellings the first is found.
    spelled = {name.lower(): name for name in reversed(present)} | {name: name for name in present}
    usual = _USUAL_NAMES[field]
    return next((spelled[name] for name in (*usual, *map(str.lower, usual)) if name in spelled), "")


def arrays_of(content: Content) -> dict[str, Any]:
    """The arrays that a data set is stored as."""
    features = {"X": content.X} if content.X.shape[1] else {}
    return {**features, **content.labels, META: content.meta()}
