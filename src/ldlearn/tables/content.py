"""What a data set is to a file: features, label matrices, names and origin."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import FEATURE_MARK, MARKS, check_distinct, is_number
from ldlearn.tables.source import CHUNK_ROWS

META = "ldlearn_meta"  # where rich formats keep names and origin, as JSON
TEXT_FIELDS = ("name", "source", "licence", "citation", "description")


@dataclass
class Content:
    """Features and label matrices, with names and origin.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n, m)
    labels : dict of str to ndarray of shape (n, c)
        By what they hold: "D" (degrees), "Y" (0/1), "counts" (votes).
    feature_names, label_names : sequence of str
    texts : dict of str to str
        Name, source, licence, citation, description; empty for a plain table.
    others : dict of str to ndarray of shape (n,)
        Columns of texts, such as the ids of rows.
    """

    X: Any
    labels: dict[str, NDArray[Any]]
    feature_names: Sequence[str]
    label_names: Sequence[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def meta(self) -> str:
        """Names, origin and the kinds of labels as plain ASCII text."""
        names = {"feature_names": list(self.feature_names), "label_names": list(self.label_names)}
        return json.dumps(names | {"fields": list(self.labels)} | dict(self.texts))

    def headings(self) -> list[str]:
        """Names of all columns: features, then the labels of each matrix; marked where they would be confused."""
        plain = [*self.feature_names, *self.label_names]
        reserved = (FEATURE_MARK, *MARKS.values())
        # To the reader of a text table a marked heading is a label, and a line of nothing but numbers is a row.
        if (
            len(self.labels) == 1
            and len(set(plain)) == len(plain)
            and all(plain)
            and not any(name.startswith(reserved) for name in plain)
            and not all(map(is_number, plain))
        ):
            return plain
        features = [FEATURE_MARK + n if not n or n.startswith(reserved) else n for n in self.feature_names]
        made = features + [MARKS[field] + name for field in self.labels for name in self.label_names]
        check_distinct(made)
        return made

    def pieces(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Some rows at a time as named columns; at least one piece, so that a set without rows has a header."""
        names = self.headings()
        for start in range(0, max(self.X.shape[0], 1), CHUNK_ROWS):
            parts = [matrix[start : start + CHUNK_ROWS] for matrix in (self.X, *self.labels.values())]
            yield dict(zip(names, [column for part in parts for column in np.asarray(part).T], strict=True))


def from_pieces(pieces: Iterable[Mapping[str, NDArray[Any]]], labels: Sequence[str]) -> Content:
    """The content of a table of degrees: its label columns, its numbers as features, its texts."""
    kept = list(pieces)
    table = {name: np.concatenate([piece[name] for piece in kept]) for name in kept[0]}
    rest = {name: values for name, values in table.items() if name not in set(labels)}
    numbers = {name: values for name, values in rest.items() if values.dtype.kind in "biuf"}
    n_rows = len(next(iter(table.values())))
    return Content(
        X=np.column_stack([*numbers.values()]) if numbers else np.empty((n_rows, 0)),
        labels={"D": np.column_stack([table[name] for name in labels]).astype(np.float64)},
        feature_names=list(numbers),
        label_names=list(labels),
        # NumPy would pickle objects.
        others={name: values.astype(str) for name, values in rest.items() if name not in numbers},
    )


def parse_meta(text: str) -> dict[str, Any]:
    """Inverse of `Content.meta`, on text of unknown origin."""
    meta = json.loads(text)
    if not isinstance(meta, dict):
        raise TableError("its description of itself is no JSON object.")
    names = {key: [str(name) for name in meta.get(key, ())] for key in ("feature_names", "label_names", "fields")}
    return names | {"texts": {key: str(meta[key]) for key in TEXT_FIELDS if key in meta}}


def dense(matrix: Any) -> NDArray[Any]:
    """A matrix as an array."""
    return np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)
