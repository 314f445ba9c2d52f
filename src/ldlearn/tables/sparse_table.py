"""A table most numbers of which are 0: a sparse matrix with named columns, and a frame for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldlearn.tables.values import import_pandas


@dataclass(frozen=True)
class SparseTable:
    """What the table path needs of a frame, without making the zeros.

    Attributes
    ----------
    frame : DataFrame
        The other columns; its index counts the rows.
    matrix : csr_array of shape (n, k)
    names : list of str
        The columns of the matrix.
    """

    frame: Any
    matrix: Any
    names: list[Any]

    @property
    def columns(self) -> list[str]:
        """All names, those of the matrix first."""
        return [*self.names, *self.frame.columns]

    @property
    def index(self) -> Any:
        """Names of the rows."""
        return self.frame.index

    @property
    def density(self) -> float:
        """Share of the numbers that are not 0."""
        # As floats: the product of both lengths may exceed every integer type.
        return float(self.matrix.nnz / max(1, np.prod(self.matrix.shape, dtype=float)))

    @property
    def iloc(self) -> _Rows:
        """Some rows, as ``iloc`` of a frame gives them."""
        return _Rows(self)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> Any:
        if name not in self.place:
            return self.frame[name]
        return import_pandas().Series(self.matrix[:, [self.place[name]]].toarray()[:, 0], index=self.index)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where in the matrix each of its columns is."""
        return {name: j for j, name in enumerate(self.names)}

    def assign(self, **columns: Any) -> SparseTable:
        """With further columns in the frame, as ``assign`` of a frame adds them."""
        return replace(self, frame=self.frame.assign(**columns))

    def take_columns(self, names: list[str]) -> SparseTable:
        """With these columns of the matrix only, in this order; the frame as it is."""
        # Choosing columns of a matrix by rows copies all of it.
        if names == self.names:
            return self
        return replace(self, matrix=self.matrix[:, [self.place[name] for name in names]], names=names)

    def to_frame(self) -> Any:
        """All columns as a frame, zeros included."""
        pandas = import_pandas()
        # Names as Python objects: those of Arrow's kind are slow to go through.
        names = pandas.Index(self.names, dtype=object)
        dense = pandas.DataFrame(self.matrix.toarray(), index=self.index, columns=names)
        return pandas.concat([dense, self.frame], axis=1)


def rename_columns(table: Any, names: Sequence[str]) -> Any:
    """A frame or `SparseTable` whose columns are positions, with these names instead."""
    if isinstance(table, SparseTable):
        return replace(table, frame=rename_columns(table.frame, names), names=[names[i] for i in table.names])
    # Names as Python objects: those of Arrow's kind are slow to go through.
    return table.set_axis(import_pandas().Index([names[i] for i in table.columns], dtype=object), axis=1)


@dataclass(frozen=True)
class _Rows:
    table: SparseTable

    def __getitem__(self, rows: Any) -> SparseTable:
        return replace(self.table, frame=self.table.frame.iloc[rows], matrix=self.table.matrix[rows])
