"""NPZ archives as tables: arrays of one dimension are columns, matrices are several.

The columns of a matrix ``X`` are named by the array ``feature_names``, those of ``D`` or ``Y`` by ``label_names``;
where there are no such names they are ``X0, X1, ...``. NPZ is the one format that is read and written as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.cli.tables.source import CHUNK_ROWS, Kind, Source, broken_as_table_error
from ldlearn.datasets.formats.npz import read_npz
from ldlearn.io.values import import_pandas
from ldlearn.models import TableError
from ldlearn.models.table_model import check_distinct

_LARGEST = 64 << 30
_NAMES_OF = {"X": "feature_names", "D": "label_names", "Y": "label_names"}


class NpzSource(Source):
    """The arrays of an archive, as columns."""

    def __init__(self, path: Path) -> None:
        with broken_as_table_error("NPZ"):
            self._columns = _columns(read_npz(path, _LARGEST))
            check_distinct([name for name, _ in self._columns])
        self.names = [name for name, _ in self._columns]

    def chunks(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """See `Source.chunks`."""
        pandas = import_pandas()
        columns = {name: values for name, values in self._columns if name in kinds}
        n_rows = len(next(iter(columns.values()))) if columns else 0
        for start in range(0, n_rows, CHUNK_ROWS):
            piece = {name: columns[name][start : start + CHUNK_ROWS] for name in kinds}
            index = pandas.RangeIndex(start + 1, start + 1 + len(next(iter(piece.values()))))
            yield pandas.DataFrame(
                {n: v.astype(object) if v.dtype.kind == "U" else v for n, v in piece.items()}, index=index
            )


def _columns(arrays: dict[str, NDArray[Any]]) -> list[tuple[str, NDArray[Any]]]:
    names = {field: arrays.pop(field) for field in dict.fromkeys(_NAMES_OF.values()) if field in arrays}
    tables = {name: array for name, array in arrays.items() if array.ndim in (1, 2)}
    lengths = {name: len(array) for name, array in tables.items()}
    if not lengths:
        raise TableError("it holds no array of one or two dimensions.")
    if len(set(lengths.values())) > 1:
        (first, n), (other, m) = next((a, b) for a in lengths.items() for b in lengths.items() if a[1] != b[1])
        raise TableError(f"the array {first!r} has {n} rows, but {other!r} has {m}; a table needs the same for all.")
    found = []
    for name, array in tables.items():
        if array.ndim == 1:
            found.append((name, array))
            continue
        given = names.pop(_NAMES_OF.get(name, ""), None)  # D and Y beside each other cannot share their names
        if given is None or len(given) != array.shape[1]:
            given = np.array([f"{name}{j}" for j in range(array.shape[1])])
        found += [(str(given[j]), array[:, j]) for j in range(array.shape[1])]
    return found


class NpzSink:
    """Collects frames and writes them as one archive: the degrees as matrix ``D`` with ``label_names``."""

    def __init__(self, file: IO[bytes], labels: Sequence[str]) -> None:
        self._file, self._labels = file, list(labels)
        self._frames: list[Any] = []

    def write(self, frame: Any) -> None:
        """Keep the rows of a frame until the end."""
        self._frames.append(frame)

    def close(self) -> None:
        """Write the archive."""
        if not self._frames:
            return
        frame = import_pandas().concat(self._frames)
        arrays: dict[str, Any] = {
            name: _plain(frame[name].to_numpy()) for name in frame.columns if name not in self._labels
        }
        arrays |= {"D": frame[self._labels].to_numpy(), "label_names": np.array(self._labels)}
        np.savez_compressed(self._file, **arrays)


def _objects(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(object) if values.dtype.kind == "U" else values


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(str) if values.dtype == object else values
