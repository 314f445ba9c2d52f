"""Labels of tables and data sets, to fit estimators on and to compare predictions with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from ldlearn._messages import check_choice, describe_rows
from ldlearn.core.simplex import Array, Indices, Mask, normalize_rows
from ldlearn.core.targets import (
    SUM_TOLERANCE,
    fill_missing_degrees,
    fill_unknown,
    find_row_problems,
    split_observed,
    votes_to_degrees,
)
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables.files import OnMessage
from ldlearn.tables.values import to_labels

_KINDS = ("auto", "votes", "mixed")
_MATRIX_KINDS = ("auto", "distribution", "votes", "logical")
_EMPTY_ROWS = ("error", "drop", "unknown")
_LARGEST_COUNT = 1e100  # sums and products are finite
_OTHER_KINDS = (
    "degrees of a row sum to 1; use kind='votes' for votes, kind='mixed' for 0/1 labels with "
    "degrees of some rows (--kind), and divide percentages by 100."
)

_ONE_VOTE = (
    "No row has more than one vote. Such votes cannot show how much rows with the same features "
    "differ: the recovered degrees rest on an assumption about it, and are too even if raters "
    "mostly agree. A second vote for some of the rows would show it."
)


@dataclass(frozen=True)
class TrainingTargets:
    """Labels of a table as an estimator takes them.

    Attributes
    ----------
    y : ndarray of shape (n_samples, n_labels)
        What ``fit`` gets.
    row_data : dict
        What else it gets, by row: sample weights, degrees, numbers of raters.
    truth : ndarray of shape (n_samples, n_labels)
        What predictions are compared with: 0/1 labels or degrees, NaN where unknown.
    kind : {"0/1", "degrees", "votes"}
    messages : list of str
        What the user should know.
    counts : ndarray of shape (n_samples, n_labels) or None
        The votes, if the labels are counts of votes.
    """

    y: Array
    row_data: dict[str, Any]
    truth: Array
    kind: str
    messages: list[str]
    counts: Array | None = None

    def label_means(self) -> Array:
        """Mean of each label; its share of all votes."""
        if self.counts is None:
            return np.asarray(np.nanmean(self.truth, axis=0))
        return self.mean_distribution()

    def mean_distribution(self) -> Array:
        """The shares of all votes, or the mean of other labels: see `mean_distribution`."""
        if self.counts is None:
            return mean_distribution(self.truth)
        return self.counts.sum(axis=0) / self.counts.sum()


@dataclass(frozen=True)
class TableLabels:
    """The label columns of a table as numbers.

    Attributes
    ----------
    names : sequence of str
    values : ndarray of shape (n_samples, n_labels)
        Whatever the columns hold, NaN where they are empty.
    rows : sequence
        The names of the rows in messages.
    kind : {"auto", "votes", "mixed"}
        What the columns hold: counts of votes; 0/1 labels with the true degrees of some rows.
    """

    names: Sequence[str]
    values: Array
    rows: Any
    kind: str = "auto"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, _KINDS)

    @classmethod
    def from_columns(
        cls, table: Any, names: Sequence[str], blank: float | None = None, kind: str = "auto"
    ) -> Self:
        """Read label columns; see `to_labels`.

        Raises
        ------
        TableError
            If only positive labels are marked, unless ``blank`` states what an empty cell means.
        """
        found = cls(names, to_labels(table, names, blank), table.index, kind)
        empty = np.isnan(found.values)
        share = empty.mean()
        hides_zeros = found.is_logical and 0.1 < share < 1 and (found.values[~empty] > 0).all()
        if blank is None and hides_zeros:
            raise TableError(
                f"all known labels are positive, and {share:.0%} of the label cells are empty; use "
                "--blank 0 (blank=0) if an empty cell means 0, or nan instead of 0 if it means "
                "unknown."
            )
        return found

    def take(self, rows: Indices) -> Self:
        """Those of some rows."""
        return replace(self, values=self.values[rows], rows=self.rows[rows])

    @property
    def is_logical(self) -> bool:
        """Whether they are 0/1 labels, with or without degrees of some rows."""
        return self.kind == "mixed" or (self.kind == "auto" and are_logical(self.values))

    @property
    def are_degrees(self) -> bool:
        """Whether the labels of every row that has any sum to 1, and some are fractions."""
        sums = self.values.sum(axis=1)
        tolerance = max(SUM_TOLERANCE, _rounding_tolerance(np.nan_to_num(self.values)))
        sum_to_one = (np.abs(sums - 1) <= tolerance) | (sums == 0)
        return bool(sum_to_one.all() and (self.values % 1 != 0).any())

    def for_estimator(self, estimator: Any) -> TrainingTargets:
        """The labels as an estimator takes them; anything else is refused by row and column.

        Counts of votes stay what they are for an estimator that takes them, which reads the labels
        as counts unless another kind is declared. For others they become degrees with the number of
        votes as sample weight: for a learner, and for a joint model that takes degrees. Any other
        joint model is given the 0/1 labels that votes are when only some or none are counted, and
        the number of raters if it takes that. Degrees of some rows are for DLDL, which keeps them.
        """
        if self.kind != "mixed" and get_tags(estimator).counts:
            return self._count_targets(estimator)
        if self.kind == "votes":
            return self._vote_targets(estimator)
        row_data = {}
        values = self.values
        messages = []
        if self.kind == "mixed":
            if not get_tags(estimator).degrees:
                raise ParameterError(
                    f"{type(estimator).__name__} takes no degrees of some rows; DLDL does."
                )
            # Of a row with a single 1 both readings are the same: all of its degree is there.
            given = ~(np.isin(values, (0.0, 1.0)) | np.isnan(values)).all(axis=1)
            degrees = np.full(values.shape, np.nan)
            degrees[given] = self.take(np.flatnonzero(given)).check_degrees()
            values = _to_logical(values)
            if given.any():
                row_data["degrees"] = degrees
            messages = [f"True degrees of {given.sum()} rows, 0/1 labels of {(~given).sum()}."]
        y = replace(self, values=values).check(estimator)
        if unknown := np.isnan(y).sum():
            meaning = "" if estimator.kind == "learner" else ": neither 0 nor 1"
            messages.append(f"{unknown} of {y.size} labels are unknown{meaning}.")
        return TrainingTargets(y, row_data, y, "0/1" if are_logical(y) else "degrees", messages)

    def _count_targets(self, estimator: Any) -> TrainingTargets:
        """Targets of an estimator that takes counts of votes."""
        name = type(estimator).__name__
        self._check_two_labels()
        self._check_not_degrees(estimator, "use a learner such as SABFGS without --kind votes")
        degrees, totals, _ = self.count_votes(weighted=True)
        self._check_some_votes()
        messages = []
        if self.kind == "auto" and are_logical(self.values) and (totals > 1).any():
            messages.append(
                f"{name} takes each positive label as one vote; confirm that these are counts by "
                "--kind votes (kind='votes'), or use DLDL or VoteLDL for 0/1 labels that are none."
            )
        if (self.values % 1 != 0).any():
            messages.append("Some counts are fractions: they are taken as weighted votes.")
        if n_unvoted := (totals == 0).sum():
            messages.append(f"{n_unvoted} rows without votes get the degrees that are predicted.")
        if (totals <= 1).all() and not estimator.is_baseline:
            messages.append(_ONE_VOTE)
        return TrainingTargets(self.values, {}, degrees, "votes", messages, self.values)

    def _vote_targets(self, estimator: Any) -> TrainingTargets:
        degrees, totals, messages = self.count_votes()
        self._check_some_votes()
        voted = (totals > 0)[:, None]
        name = type(estimator).__name__
        tags = get_tags(estimator)
        row_data = {"sample_weight": totals}
        y = np.where(voted, self.values > 0, np.nan)
        if estimator.kind == "learner":
            # A row without votes has sample weight 0, so that any distribution will do for it.
            y = np.where(voted, degrees, 1.0 / len(self.names))
        elif tags.n_raters:
            # Of a row without votes every label is unknown, so that any number will do.
            row_data = {"n_raters": np.maximum(totals, 1.0)}
        elif tags.degrees:
            row_data["degrees"] = degrees
        else:
            row_data = {}
            messages.append(f"{name} takes no degrees: it is fitted on which labels got any vote.")
        if "sample_weight" in row_data and not tags.sample_weight:
            del row_data["sample_weight"]
            messages.append(
                f"{name} takes no sample weights: every row counts once, "
                "whatever its number of votes."
            )
        return TrainingTargets(y, row_data, degrees, "votes", messages, self.values)

    def resolve_kind(self, estimator: Any) -> Self:
        """Read labels of new rows as counts of votes if an estimator takes these.

        Not if another kind is declared, or if they are degrees.
        """
        if self.kind == "auto" and get_tags(estimator).counts and not self.are_degrees:
            return replace(self, kind="votes")
        return self

    def to_enhance(self, estimator: Any) -> Array:
        """Labels as ``enhance`` of an estimator takes them: 0/1, or counts of votes."""
        takes_counts = get_tags(estimator).counts
        if takes_counts and self.kind == "auto":
            self._check_not_degrees(estimator, "declare weighted votes by --kind votes")
        if self.kind != ("votes" if takes_counts else "auto"):
            taken = "counts of votes" if takes_counts else "0/1 labels"
            raise ParameterError(
                f"{type(estimator).__name__} enhances {taken}, which kind={self.kind!r} (--kind "
                f"{self.kind}) does not suit; leave it out, or use a model of DLDL for 0/1 labels, "
                "of CountLDL for votes."
            )
        if takes_counts:
            self.check_counts(weighted=True)
            return self.values
        advice = "only 0/1 labels can be enhanced; for counts of votes use a model of CountLDL."
        return self.check_logical(estimator, advice)

    def _check_not_degrees(self, estimator: Any, otherwise: str) -> None:
        """Refuse degrees where counts of votes are needed; ``otherwise`` ends the advice."""
        if self.are_degrees:
            raise TableError(
                f"{type(estimator).__name__} takes counts of votes, but the labels of each row sum "
                "to 1, as degrees do; multiply them by the number of votes of the row, or "
                f"{otherwise}."
            )

    def handle_empty_rows(self, how: str) -> tuple[Self, Indices]:
        """Leave out rows whose labels are all 0, or take those that are 0/1 as unknown.

        Rows without votes can only be left out; otherwise they stay as they are. Also return the
        rows that are left.
        """
        check_choice("empty_rows", how, _EMPTY_ROWS)
        empty = self._empty_rows()
        if how == "drop":
            rows = np.flatnonzero(~empty)
            return self.take(rows), rows
        found = self
        if how == "unknown" and self.is_logical:
            found = replace(self, values=np.where(empty[:, None], np.nan, self.values))
        return found, np.arange(len(empty))

    def report_zeros(self, estimator: Any, on_message: OnMessage) -> None:
        """Report that a 0 is interpreted as degree 0, if the method assumes that.

        The message includes how many labels are positive.
        """
        if not (self.is_logical and get_tags(estimator).keeps_zeros):
            return
        labels = fill_unknown(*split_observed(_to_logical(self.values)))
        n_labels = len(self.names)
        n_positives = labels.sum(axis=1)
        counts = f"rows have {n_positives.mean():.2g} of {n_labels} labels positive on average"
        # Less than half of the variance that independent labels with the same frequencies would
        # give their number.
        hardly_varies = n_positives.var() < 0.5 * labels.var(axis=0).sum()
        if hardly_varies or 4 * n_positives.mean() <= n_labels:
            reason = "and their number hardly varies" if hardly_varies else "which is few"
            counts += f", {reason}; use --zeros less if a 0 only means 'not a main label'"
        on_message(f"a 0 is interpreted as degree 0; {counts}.")

    def check(self, estimator: Any) -> Array:
        """The labels, which must be of the kind that the estimator takes."""
        if estimator.kind == "learner":
            if not get_tags(estimator).incomplete_degrees:
                self.check_all_known(
                    "write its degree, drop the row, or use --method IncomLDL or WInLDL, "
                    "which take missing ones."
                )
            return self.check_degrees(may_be_missing=True)
        advice = (
            f"{type(estimator).__name__} learns from 0/1 labels; for counts use kind='votes' "
            "(--kind votes), for degrees of some rows kind='mixed' (--kind mixed), for degrees of "
            "all rows a learner such as SABFGS."
        )
        return self.check_logical(estimator, advice)

    def check_logical(self, estimator: Any, advice: str) -> Array:
        """The labels, which must be 0/1, and known unless the estimator takes others."""
        self.check_zero_or_one(advice)
        may_be_unknown = get_tags(estimator).unknown_labels
        if not may_be_unknown:
            self.check_all_known(
                f"write 0 or 1: {type(estimator).__name__} takes no unknown labels, DLDL does."
            )
        # Of a single label every 0 is an empty row: that sentence would not help.
        if (self.values == 0).any():
            self._check_two_labels()
        self._check_rows_have_positives(may_be_unknown=may_be_unknown)
        return self.values

    def to_prepared_fields(self, kind: str) -> dict[str, NDArray[Any]]:
        """Fields of a `PreparedTable` (D, Y, counts); ``kind`` is one of ``_MATRIX_KINDS``."""
        self._check_two_labels()
        if self.is_logical and kind in ("auto", "logical"):
            self._check_rows_have_positives()
        else:
            self.check_all_known("only of 0/1 labels some may be unknown.")
        if np.isnan(self.values).any():
            return {"Y": self.values}
        values = self.values
        sums = values.sum(axis=1, keepdims=True)
        if (np.abs(sums - 1) <= _rounding_tolerance(values)).all():
            values = values / sums  # degrees sum to one but for rounding
        return replace(self, values=values).to_dataset_fields(kind)

    def to_dataset_fields(self, kind: str, *, normalise: bool = False) -> dict[str, NDArray[Any]]:
        """Fields of a `LabelDataset` (D, Y, counts); ``kind`` is one of ``_MATRIX_KINDS``.

        ``normalise`` divides distributions by their row sums; a negative or missing degree and a
        row of zeros stay errors.
        """
        check_choice("kind", kind, _MATRIX_KINDS)
        values = self.values
        if kind == "auto":
            kind = _infer_kind(values)
        if kind == "logical":
            self.check_all_known(
                "write 0 or 1, or use preprocess = true in a plan, "
                "to compare methods that take unknown labels."
            )
            if not _is_logical(values):
                self.check_zero_or_one("logical labels are 0 or 1.")
            return {"Y": (values > 0).astype(np.int8)}
        if kind == "votes":
            self.check_rows(
                "every row needs at least one vote; drop such rows (--empty-rows drop).", np.inf
            )
            totals = values.sum(axis=1, keepdims=True, dtype=np.float64)
            return {"counts": values, "D": values / totals}
        # float32 stays as it is in the file.
        D = values if values.dtype.kind == "f" else values.astype(np.float64)
        if not normalise:
            self.check_rows(
                f"sums may differ from 1 by {SUM_TOLERANCE:g}; if degrees only need to be divided "
                "by the row sum, use normalise=True; if they are votes, kind='votes'."
            )
            return {"D": D}
        self.check_rows("dividing by the row sum does not repair that.", np.inf)
        sums = D.sum(axis=1, keepdims=True, dtype=np.float64)
        # Rows that sum to 1 stay what they are to the last bit: dividing by 1 + 1e-16 would change
        # them.
        is_one = np.abs(sums - 1) <= np.finfo(D.dtype).eps
        return {"D": np.where(is_one, D, D / sums).astype(D.dtype)}

    def to_evaluation_targets(
        self, *, weighted: bool = False
    ) -> tuple[Array, Array | None, bool, list[str]]:
        """What predictions of other rows are compared with.

        Parameters
        ----------
        weighted : bool, default=False
            Whether counts of votes may be fractions.

        Returns
        -------
        truth : ndarray of shape (n_samples, n_labels)
            NaN where nothing can be compared.
        sample_weight : ndarray of shape (n_samples,) or None
            The number of votes of each row.
        logical : bool
            Whether these are 0/1 labels.
        messages : list of str
        """
        if self.kind == "votes":
            degrees, totals, messages = self.count_votes(weighted=weighted)
            return degrees, totals, False, messages
        if not self.is_logical:
            return self.check_degrees(), None, False, []
        T = _to_logical(self.values)
        messages = []
        if n_unknown := np.isnan(T).sum():
            messages.append(f"{n_unknown} of {T.size} labels are unknown and not scored.")
        return T, None, True, messages

    def check_all_known(self, advice: str = "write 0 or 1, or drop the row.") -> None:
        """Refuse empty label cells, naming the first."""
        self._raise_at_first(np.isnan(self.values), f"the label is missing; {advice}")

    def check_zero_or_one(self, advice: str) -> None:
        """Refuse label columns that are neither 0/1 nor empty, naming the first cell."""
        bad = ~np.isin(self.values, (0.0, 1.0)) & ~np.isnan(self.values)
        self._raise_at_first(bad, "{} is neither 0 nor 1; " + advice)

    def check_degrees(self, *, may_be_missing: bool = False, advice: str = _OTHER_KINDS) -> Array:
        """Label distributions, rescaled to sum exactly to one; anything else is refused by row.

        ``may_be_missing``: whether degrees may be NaN; a single one of a row follows from the
        others.
        """
        D = self.values
        unknown: Mask | bool = False
        if may_be_missing:
            D, unknown = fill_missing_degrees(D)
        tolerance = max(SUM_TOLERANCE, _rounding_tolerance(np.nan_to_num(self.values)))
        replace(self, values=D).check_rows(advice, tolerance)
        return np.where(unknown, np.nan, D / D.sum(axis=1, keepdims=True))

    def check_rows(self, advice: str, tolerance: float = SUM_TOLERANCE) -> None:
        """Refuse rows that are no distributions.

        The message names them, and the first cell or sum of each kind of problem.
        """
        parts = []
        for problem, mark in find_row_problems(self.values, tolerance).items():
            row = self.values[np.argmax(mark)]
            first = f"{row.sum():.6g}"
            bad = ~np.isfinite(row) | (row < 0)
            if bad.any():
                j = int(np.argmax(bad))
                first = f"{row[j]:.6g} of label {self.names[j]!r}"
            parts.append(f"{describe_rows(mark, self.rows)}: {problem}, first {first}")
        if parts:
            raise TableError(f"{'; '.join(parts)}; {advice}")

    def check_counts(self, *, weighted: bool = False) -> None:
        """Refuse label columns that are no counts of votes, naming the first cell.

        ``weighted``: whether counts may be fractions.
        """
        self.check_all_known("write 0 where there are no votes, or use --blank 0 (blank=0).")
        values = self.values
        bad = (values < 0) | ~np.isfinite(values)
        advice = "write a number from 0 on."
        if not weighted:
            bad |= values % 1 != 0
            advice = (
                "use kind='mixed' (--kind mixed) for 0/1 labels with degrees of some rows, none "
                "for degrees of all rows, and CountLDL for weighted votes."
            )
        self._raise_at_first(bad, "{} is no count of votes; " + advice)
        too_large = values > _LARGEST_COUNT
        self._raise_at_first(too_large, "{} votes are too many to compute with; correct the count.")

    def count_votes(self, *, weighted: bool = False) -> tuple[Array, Array, list[str]]:
        """Degrees, numbers of votes of the rows, and messages; see `check_counts`."""
        self.check_counts(weighted=weighted)
        degrees, totals = votes_to_degrees(self.values)
        messages = []
        if n_unvoted := (totals == 0).sum():
            messages.append(f"{n_unvoted} rows without votes are not used.")
        return degrees, totals, messages

    def _check_some_votes(self) -> None:
        if not self.values.any():
            raise TableError("there are no votes: every count is 0.")

    def _check_two_labels(self) -> None:
        """Refuse a single label: there is nothing to share."""
        if len(self.names) == 1:
            raise TableError(
                "one label has degree 1 in every row; name at least two.", column=self.names[0]
            )

    def _check_rows_have_positives(self, *, may_be_unknown: bool = True) -> None:
        """Refuse rows without a positive label, unless some are unknown."""
        empty = self._empty_rows()
        if empty.any():
            advice = "drop such rows (--empty-rows drop)."
            if may_be_unknown:
                advice = "drop such rows or treat their labels as unknown "
                advice += "(--empty-rows drop or unknown)."
            raise TableError(f"{describe_rows(empty, self.rows)}: no label is 1; {advice}")

    def _empty_rows(self) -> Mask:
        return (self.values == 0).all(axis=1)

    def _raise_at_first(self, bad: Mask, problem: str) -> None:
        """Name the first bad cell; the problem may contain its value."""
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise TableError(
                problem.format(f"{self.values[i, j]:g}"), row=self.rows[i], column=self.names[j]
            )


def _to_logical(values: Array) -> Array:
    return np.where(np.isnan(values), np.nan, values > 0)


def are_logical(targets: Array) -> bool:
    """Whether a label matrix holds only 0 and 1, or nothing."""
    return bool((np.isin(targets, (0.0, 1.0)) | np.isnan(targets)).all())


def mean_distribution(T: Array) -> Array:
    """Mean over the rows of the degrees, or of equal shares of the positive labels.

    A row without a positive label counts as one with all of them. An unknown label or degree counts
    as its mean over the other rows.
    """
    missing = np.isnan(T)
    if not missing.any():
        filled = T
    elif are_logical(T):
        filled = fill_unknown(*split_observed(T))
    else:
        filled = np.nansum(T, axis=0)[None] / np.maximum((~missing).sum(axis=0), 1)
    return normalize_rows(filled).mean(axis=0)


def _infer_kind(matrix: NDArray[Any]) -> str:
    """Infer what the entries of a label matrix are.

    They are logical if all known ones are 0 or 1 (or -1 or 1), votes if whole and not negative, and
    else distributions.

    Examples
    --------
    >>> _infer_kind(np.array([[0, 1], [1, 1]])), _infer_kind(np.array([[3.0, 1.0]]))
    ('logical', 'votes')
    >>> _infer_kind(np.array([[0.5, 0.5]]))
    'distribution'
    """
    if _is_logical(matrix[~np.isnan(matrix)]):
        return "logical"
    is_whole = np.isfinite(matrix).all() and (matrix >= 0).all() and (matrix % 1 == 0).all()
    return "votes" if is_whole else "distribution"


def _is_logical(matrix: NDArray[Any]) -> bool:
    # Some files write -1 where others write 0.
    return any(np.isin(matrix, pair).all() for pair in ((0, 1), (-1, 1)))


def _rounding_tolerance(degrees: Array) -> float:
    """How far from 1 the sum of a row may be if its degrees are rounded.

    Degrees may be written with two decimals, or with three, four or six.
    """
    # Each degree is off by half of its last decimal at most, and so is the sum by as many halves as
    # there are labels.
    for decimals in (2, 3, 4, 6):
        if np.allclose(degrees, degrees.round(decimals), rtol=0, atol=1e-9):
            break
    return min(0.5 * degrees.shape[1] * 10.0**-decimals, 0.05) + 1e-9
