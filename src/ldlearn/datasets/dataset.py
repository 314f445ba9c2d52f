"""The one shape of all data sets: features, distributions or logical labels, names, origin."""

import dataclasses
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import entr

from ldlearn.core.logical import binarize
from ldlearn.core.row_groups import hash_rows
from ldlearn.core.targets import default_label_names
from ldlearn.exceptions import DatasetError, TableError
from ldlearn.tables.table_labels import TableLabels


@dataclass(frozen=True, eq=False, repr=False)
class LabelDataset:
    """Rows of features with a label distribution, logical labels, or both, for each row.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Features.
    D : ndarray of shape (n_samples, n_labels), optional
        Label distributions: rows are non-negative and sum to 1.
    Y : ndarray of shape (n_samples, n_labels), optional
        Logical labels that come with the data, 0 or 1. At least one of `D` and `Y` is needed.
    feature_names, label_names : sequence of str, optional
        Names of the columns; if not given, those of the data frames that were, else ``x0, x1, ...``
        and ``label_0, label_1, ...``.
    name, source, licence, citation : str
        What the set is called, where it comes from, under which terms, and what to cite.
    checksum : str
        ``"sha256:..."`` or ``"git:..."`` of the file it was read from; empty if there is none.
    description : str
        What a user should know before using it, its traps included.
    counts : ndarray of shape (n_samples, n_labels), optional
        The votes of which `D` holds the shares.
    texts : sequence of str of length n_samples, optional
        The texts from which the features were computed.

    Examples
    --------
    >>> data = LabelDataset(
    ...     X=[[0.0], [1.0]], D=[[0.7, 0.3], [0.995, 0.005]], label_names=["calm", "angry"]
    ... )
    >>> data
    LabelDataset 'unnamed': 2 rows, 1 feature, 2 labels (distributions)
      labels: calm, angry
    >>> data.logical()
    array([[1, 1],
           [1, 0]], dtype=int8)
    """

    X: Any
    D: Any = None
    Y: Any = None
    feature_names: Sequence[str] = ()
    label_names: Sequence[str] = ()
    name: str = "unnamed"
    source: str = ""
    licence: str = ""
    citation: str = ""
    checksum: str = ""
    description: str = ""
    counts: Any = None
    texts: Sequence[str] = ()

    def __post_init__(self) -> None:
        # Names first: what becomes of a data frame below has none.
        self._set("feature_names", self.feature_names or _column_names(self.X))
        self._set("label_names", self.label_names or _column_names(self.D) or _column_names(self.Y))
        self._set("X", _as_matrix(self.X, "X"))
        for field in self._label_fields():
            matrix = _as_matrix(getattr(self, field), field)
            self._check_length(f"{field} has {len(matrix)}", matrix)
            self._set(field, matrix)
        if self.texts:
            self._check_length(f"there are {len(self.texts)} texts", self.texts)
        default_features = [f"x{i}" for i in range(self.n_features)]
        default_labels = default_label_names(self._label_shape()[1])
        self._set("feature_names", _as_names(self.feature_names, default_features, "feature"))
        self._set("label_names", _as_names(self.label_names, default_labels, "label"))
        rows = range(self.n_samples)
        try:
            if self.D is not None:
                TableLabels(self.label_names, self.D, rows).check_rows(
                    "correct these rows (counted from 0), or divide by the row sums first if they "
                    "are votes."
                )
            if self.Y is not None:
                labels = TableLabels(self.label_names, self.Y, rows)
                labels.check_all_known()
                labels.check_zero_or_one("logical labels are 0 or 1.")
        except TableError as error:
            raise DatasetError(f"{self.name!r}: {error}") from None

    def _set(self, field: str, value: Any) -> None:
        # A frozen dataclass offers no other way to tidy its input.
        object.__setattr__(self, field, value)

    def _check_length(self, given: str, rows: Any) -> None:
        if len(rows) != self.n_samples:
            raise DatasetError(f"X has {self.n_samples} rows but {given}; they must match.")

    def _label_fields(self) -> list[str]:
        return [field for field in ("D", "Y", "counts") if getattr(self, field) is not None]

    def _label_shape(self) -> tuple[int, int]:
        given = {field: getattr(self, field).shape for field in self._label_fields()}
        if not given.keys() & {"D", "Y"}:
            raise DatasetError(
                "A LabelDataset needs D (label distributions) or Y (logical labels)."
            )
        shape, *others = set(given.values())
        if others:
            shapes = ", ".join(f"{field} {shape}" for field, shape in given.items())
            raise DatasetError(f"The label matrices must have one shape, got {shapes}.")
        return shape

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.label_names)

    def logical(
        self,
        rule: str = "threshold",
        delta: float = 0.01,
        *,
        total: float = 0.5,
        k: int | None = None,
    ) -> NDArray[np.int8]:
        """Logical labels: those of a rule applied to `D`, or the stored `Y`.

        Parameters
        ----------
        rule : {"threshold", "cumulative", "top-k", "stored"}, default="threshold"
            The first three are those of `ldlearn.core.binarize`; ``"stored"`` returns `Y` as it
            came with the data. A set without distributions returns its `Y` whatever the rule.
        delta, total, k
            The parameter of the respective rule.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_labels), int8

        Warns
        -----
        UserWarning
            If (nearly) every label of every row comes out positive: such labels carry no
            information.
        """
        if self.D is None or rule == "stored":
            if self.Y is None:
                raise DatasetError(f"{self.name!r} stores no logical labels; choose another rule.")
            return np.array(self.Y, dtype=np.int8)
        Y = binarize(self.D, rule, delta=delta, total=total, k=k)
        positive = Y.mean() if Y.size else 0.0
        # A single label is positive in every row by nature.
        if self.n_labels > 1 and positive >= 0.99 and rule == "threshold":
            warnings.warn(
                f"Little information: under degree > {delta:g}, {positive:.2%} of the labels of "
                f'{self.name!r} are positive; use rule="cumulative".',
                UserWarning,
                stacklevel=2,
            )
        return Y

    def take(self, rows: Any) -> Self:
        """Return the data set of these rows: indices, a slice or a boolean mask."""
        parts = {field: getattr(self, field)[rows] for field in ("X", *self._label_fields())}
        if self.texts:
            parts["texts"] = np.array(self.texts, dtype=object)[rows].tolist()
        return dataclasses.replace(self, **parts)

    def split(
        self, shares: Sequence[float] | str = (0.6, 0.2, 0.2), seed: int | None = 0
    ) -> tuple[Self, ...]:
        """Split the rows at random into parts of given shares.

        Parameters
        ----------
        shares : sequence of float or str, default=(0.6, 0.2, 0.2)
            Shares that sum to 1 or to 100, or the same as text, ``"60/20/20"``.
        seed : int or None, default=0
            Rows are shuffled by ``np.random.default_rng(seed).permutation(n)`` and then cut.

        Returns
        -------
        parts : tuple of LabelDataset

        Examples
        --------
        >>> data = LabelDataset(X=np.zeros((10, 1)), D=np.full((10, 2), 0.5))
        >>> [part.n_samples for part in data.split("60/20/20", seed=1)]
        [6, 2, 2]
        """
        return tuple(map(self.take, split_rows(self.n_samples, parse_shares(shares), seed)))

    def describe(self, delta: float = 0.01) -> dict[str, Any]:
        """Figures of the set: sizes, positives per row, sparsity, entropy, equal rows.

        Parameters
        ----------
        delta : float, default=0.01
            A degree above it counts as a positive label. Sets without distributions use their `Y`.

        Returns
        -------
        figures : dict
            ``n_samples``, ``n_features``, ``n_labels``; ``positives_mean``, ``positives_min`` and
            ``positives_max`` (positive labels per row); ``sparsity`` (fraction of labels that are
            exactly 0); ``entropy`` and ``relative_entropy`` (mean over the rows, in nats and as a
            fraction of the maximum log c; only with distributions); ``one_hot_share`` (rows with
            all mass on one label, or with one positive label); ``duplicate_rows`` (rows whose
            features repeat an earlier row).
        """
        figures: dict[str, Any] = {
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "n_labels": self.n_labels,
        }
        if self.n_samples == 0:
            return figures
        has_degrees = self.D is not None
        degrees = self.D if has_degrees else self.Y
        Y = binarize(self.D, delta=delta) if has_degrees else self.Y
        positives = Y.sum(axis=1, dtype=np.int64)
        figures["positives_mean"] = positives.mean().item()
        figures["positives_min"] = positives.min().item()
        figures["positives_max"] = positives.max().item()
        figures["sparsity"] = (degrees == 0).mean().item()
        if has_degrees:
            entropy = entr(self.D.astype(np.float64)).sum(axis=1).mean().item()
            figures["entropy"] = entropy
            # 0 for one label
            figures["relative_entropy"] = entropy / math.log(max(self.n_labels, 2))
        figures["one_hot_share"] = ((degrees != 0).sum(axis=1) == 1).mean().item()
        figures["duplicate_rows"] = _count_duplicates(self.X)
        return figures

    def __repr__(self) -> str:
        kinds = {"distributions": self.D, "votes": self.counts, "logical": self.Y}
        has = ", ".join(word for word, matrix in kinds.items() if matrix is not None)
        counts = {"row": self.n_samples, "feature": self.n_features, "label": self.n_labels}
        sizes = []
        for noun, count in counts.items():
            plural = "" if count == 1 else "s"
            sizes.append(f"{count:,} {noun}{plural}")
        labels = ", ".join(self.label_names[:10])
        if self.n_labels > 10:
            labels += ", ..."
        text = f"LabelDataset {self.name!r}: {', '.join(sizes)} ({has})\n  labels: {labels}"
        for field in ("source", "licence"):
            if getattr(self, field):
                text += f"\n  {field}: {getattr(self, field)}"
        return text


def _column_names(matrix: Any) -> tuple[str, ...]:
    """Names of the columns, if it is a data frame of pandas or polars."""
    return tuple(map(str, getattr(matrix, "columns", ())))


def _as_matrix(given: Any, field: str) -> Any:
    # CSR alone gives rows quickly; labels are never sparse here.
    is_sparse = scipy.sparse.issparse(given) and field == "X"
    matrix = given.tocsr() if is_sparse else np.asarray(given)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise DatasetError(
            f"{field} must be a 2-D array of numbers with a row per sample, "
            f"got {matrix.ndim} dimension(s) of {matrix.dtype}."
        )
    return matrix


def _as_names(given: Sequence[str], default: Sequence[str], what: str) -> tuple[str, ...]:
    names = tuple(map(str, given or default))
    if len(names) != len(default):
        raise DatasetError(f"{len(names)} {what} names were given for {len(default)} {what}s.")
    return names


def parse_shares(shares: Sequence[float] | str) -> tuple[float, ...]:
    """Fractions that sum to 1, from numbers that sum to 1 or to 100, or text (``"60/20/20"``)."""
    numbers = shares.split("/") if isinstance(shares, str) else shares
    fractions = np.array(numbers, dtype=np.float64)
    if fractions.ndim == 1 and np.isclose(fractions.sum(), 100):
        fractions = fractions / 100
    if fractions.ndim != 1 or (fractions < 0).any() or not np.isclose(fractions.sum(), 1):
        raise DatasetError(
            f"Shares of a split must be non-negative and sum to 1 or to 100, got {shares!r}."
        )
    return tuple(fractions.tolist())


def split_rows(
    n_rows: int, shares: Sequence[float], seed: int | Sequence[int] | None
) -> list[NDArray[np.intp]]:
    """Row numbers, shuffled by ``np.random.default_rng(seed)`` and cut into parts."""
    # The small number undoes rounding: 0.6 + 0.2 of 10 rows are 8, not 7.
    cuts = np.floor(np.cumsum(shares)[:-1] * n_rows + 1e-6).astype(np.intp)
    return np.split(np.random.default_rng(seed).permutation(n_rows), cuts)


def _count_duplicates(X: Any) -> int:
    """Count rows that repeat an earlier row.

    Examples
    --------
    >>> _count_duplicates(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [0.0, 1.0]]))
    2
    """
    return X.shape[0] - len(np.unique(hash_rows(X)))
