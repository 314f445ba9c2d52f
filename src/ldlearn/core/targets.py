"""Validation of targets: logical labels and label distributions, and the names of the labels."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn._messages import describe_rows, format_list, nearest_names
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import Array, Mask, SampleWeight, row_weights, take_rows
from ldlearn.exceptions import InputError

# Tolerated deviation of a row sum from 1: printed tables round to three digits.
SUM_TOLERANCE = 1e-3
VOTES_LIMIT = 1e9  # of a row, for `split_votes`: numpy draws from no larger urns


def default_label_names(n_labels: int) -> list[str]:
    """``label_0, label_1, ...``: the names of labels without names."""
    return list(map("label_{}".format, range(n_labels)))


def label_names(y: Any, n_labels: int) -> Array:
    """Column names of a data frame, or `default_label_names`."""
    names = list(map(str, getattr(y, "columns", default_label_names(n_labels))))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"Two columns of y are called {twice!r}; rename one of them.")
    return np.asarray(names, dtype=object)


def label_order(y: Any, names: Iterable[object]) -> list[int] | None:
    """Column positions of the named labels in a data frame; None if y or the labels have no names.

    Examples
    --------
    >>> import pandas as pd
    >>> label_order(pd.DataFrame({"sea": [1], "sky": [0]}), ["sky", "sea"])
    [1, 0]
    """
    wanted = list(map(str, names))
    if not hasattr(y, "columns") or wanted == default_label_names(len(wanted)):
        return None
    present = list(map(str, y.columns))
    unexpected = [name for name in present if name not in set(wanted)]
    for name in wanted:
        if name in present:
            continue
        advice = ""
        for near in nearest_names(name, unexpected, n=1):
            advice = f"; is {near!r} the label {name!r}? Then rename it"
        raise InputError(f"The label {name!r} is missing in y{advice}.")
    if unexpected:
        known = format_list(wanted)
        raise InputError(
            f"The column {unexpected[0]!r} of y is not among the labels {known}; drop it."
        )
    return [present.index(name) for name in wanted]


def check_matrix(y: Any, what: str, *, nan: str | None = None) -> Array:
    """Validate y as a 2-D float array of finite numbers; otherwise raise InputError.

    ``nan="allow"`` accepts NaN; any other text is the advice in the error message for NaN.
    """
    if y is None:
        raise InputError(
            f"requires y to be passed, but the target y is None: give {what}, one row a sample."
        )
    try:
        array = to_dense(y)
    except ValueError:
        raise InputError("The rows of y must be equally long: one number for each label.") from None
    if np.iscomplexobj(array):
        raise InputError("Complex data not supported: y must hold real numbers.")
    try:
        # A copy, because callers write into the array. A pandas data frame may contain NA.
        if type(y).__module__.partition(".")[0] == "pandas" and hasattr(y, "to_numpy"):
            array = y.to_numpy(np.float64, copy=True, na_value=np.nan)
        else:
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"y must hold numbers only: give {what} as a numeric array.") from None
    if array.ndim != 2:
        raise InputError(
            f"y must be 2-D ({what}, one row a sample, one column a label), "
            f"got {array.ndim} dimension(s)."
        )
    if array.shape[1] == 0:
        raise InputError("y has no label column; at least one is needed.")
    bad = ~np.isfinite(array)
    if nan == "allow":
        bad = np.isinf(array)
    for row, column in np.argwhere(bad)[:1]:
        kind = "infinity"
        advice = "remove or fill it."
        if np.isnan(array[row, column]):
            kind = "NaN"
            advice = nan or advice
        raise InputError(f"Input y contains {kind} (first at row {row}, column {column}); {advice}")
    return array


def check_logical(y: Any, *, nan: str | None = None) -> Array:
    """Validate logical labels: a boolean array, or floats with NaN for unknown labels.

    Parameters
    ----------
    y : array-like, sparse matrix or data frame of shape (n_samples, n_labels)
        Zeros and ones. A row without a positive label raises InputError, unless one of its labels
        is unknown.
    nan : str, default=None
        As in `check_matrix`: "allow" if labels may be unknown.
    """
    Y = _as_boolean_labels(y)
    if Y is None:
        Y = check_matrix(y, "0/1 labels", nan=nan)
    unknown = np.isnan(Y)
    for row, column in np.argwhere((Y != 0) & (Y != 1) & ~unknown)[:1]:
        value = Y[row, column]
        advice = (
            "turn degrees into 0/1 labels with ldlearn.core.binarize, "
            "or use a learner, which takes distributions."
        )
        if value > 1 and value % 1 == 0:
            advice = (
                "counts of votes are for CountLDL; for a learner they become degrees by "
                "ldlearn.core.votes_to_degrees."
            )
        raise InputError(
            f"y must hold only 0 and 1, got {value:g} at row {row}, column {column}; {advice}"
        )
    empty = ~Y.any(axis=1)  # NaN is nonzero
    if empty.any():
        rows = describe_rows(empty)
        raise InputError(
            f"Every row needs a positive label; none is in {rows} of y: drop such rows."
        )
    return Y if unknown.any() else Y.astype(bool, copy=False)


def _as_boolean_labels(y: Any) -> Mask | None:
    """Zeros and ones in arrays of integers and sparse matrices as booleans; else None.

    Avoids an intermediate float array, which would be eight times as large.
    """
    if sparse.issparse(y) and y.dtype.kind in "buif":
        # A copy, because summing duplicates would change the caller's matrix.
        y = y.tocsr(copy=True)
        y.sum_duplicates()
        values = y.data
    elif isinstance(y, np.ndarray) and y.dtype.kind in "bui":
        values = y
    else:
        return None
    if y.ndim != 2 or not y.shape[1] or not ((values == 0) | (values == 1)).all():
        return None
    labels = y.astype(bool)
    return labels if isinstance(labels, np.ndarray) else labels.toarray()


def split_observed(Y: Array) -> tuple[Mask, Mask | None]:
    """Masks of the positive and of the observed labels; None if all labels are observed.

    Examples
    --------
    >>> split_observed(np.array([[1.0, np.nan, 0.0]]))
    (array([[ True, False, False]]), array([[ True, False,  True]]))
    """
    if Y.dtype == bool:
        return Y, None
    observed = ~np.isnan(Y)
    return observed & (Y > 0), None if observed.all() else observed


def join_observed(Y: Mask, observed: Mask | None) -> Array:
    """The inverse of `split_observed`: labels as floats, NaN where they are unknown."""
    return Y.astype(np.float64) if observed is None else np.where(observed, Y, np.nan)


class RowTargets(NamedTuple):
    """Targets of rows, which of them are observed, and sample weights.

    Examples
    --------
    >>> RowTargets(np.array([[1, 0], [0, 1]]), sample_weight=np.array([1.0, 2.0])).take([1])
    RowTargets(values=array([[0, 1]]), observed=None, sample_weight=array([2.]))
    """

    values: Any  # 0/1 labels or degrees, of shape (n_samples, n_labels)
    observed: Mask | None = None  # mask of the observed labels; None if all are
    sample_weight: SampleWeight | None = None  # None if all are 1

    def take(self, rows: Any) -> "RowTargets":
        """The targets of some rows."""
        sample_weight = take_rows(self.sample_weight, rows)
        return RowTargets(self.values[rows], take_rows(self.observed, rows), sample_weight)

    def row_weights(self) -> SampleWeight:
        """The sample weights, 1 if there are none."""
        return row_weights(self.values, self.sample_weight)


def possible_labels(Y: Mask, observed: Mask | None) -> Mask:
    """Mask of the labels that may have a positive degree: positive or unknown."""
    return Y if observed is None else Y | ~observed


def fill_unknown(
    Y: Mask,
    observed: Mask | None,
    weights: Array | None = None,
    rates: Array | None = None,
) -> Array:
    """Labels as floats; an unknown label becomes the fraction of positives of its observed values.

    For k positives in n (weighted) rows that fraction is ``(k + 1/2) / (n + 1)``, which is never 0
    or 1. ``rates`` are these fractions, if known already.

    Examples
    --------
    >>> Y = np.array([[True, False], [True, False], [False, True]])
    >>> fill_unknown(Y, np.array([[True, False], [True, True], [True, True]]))
    array([[1. , 0.5],
           [1. , 0. ],
           [0. , 1. ]])
    """
    if observed is None:
        return Y.astype(np.float64)
    if rates is None:
        rates = positive_rates(*count_positives(Y, observed, weights))
    return np.where(observed, Y, rates)


def count_positives(
    Y: Mask, observed: Mask | None, weights: Array | None = None
) -> tuple[Array, Array]:
    """Weighted numbers of rows in which each label is positive, and in which it is observed."""
    count = row_weights(Y, weights)
    if observed is None:
        return count @ Y, np.full(Y.shape[1], count.sum())
    return count @ Y, count @ observed


def positive_rates(positives: Array, counts: Array) -> Array:
    """Fraction of rows in which each label is positive, as estimated by `fill_unknown`."""
    return (positives + 0.5) / (counts + 1.0)


def check_labels_seen(names: Array, counts: Array) -> None:
    """Raise InputError if a label is observed in no row."""
    for j in np.flatnonzero(counts == 0)[:1]:
        raise InputError(
            f"The label {names[j]!r} (column {j} of y) is unknown in every row; leave it out."
        )


def votes_to_degrees(counts: Any) -> tuple[Array, Array]:
    """Convert votes to degrees (shares of a row's votes) and sample weights (their number).

    A row without votes has unknown degrees (NaN) and weight 0.

    Parameters
    ----------
    counts : array-like of shape (n_samples, n_labels)

    Returns
    -------
    degrees : ndarray of shape (n_samples, n_labels)
    weights : ndarray of shape (n_samples,)

    Examples
    --------
    >>> degrees, weights = votes_to_degrees([[3, 1], [0, 0]])
    >>> degrees
    array([[0.75, 0.25],
           [ nan,  nan]])
    >>> weights
    array([4., 0.])
    """
    votes = check_counts(counts, "write 0 where a label has no votes.")
    weights = votes.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return votes / weights[:, None], weights


def check_counts(counts: Any, nan: str) -> Array:
    """Validate counts of votes, which may be fractions; ``nan`` is the advice for missing ones."""
    votes = check_matrix(counts, "counts of votes", nan=nan)
    negative = (votes < 0).any(axis=1)
    if negative.any():
        raise InputError(f"Votes must not be negative, but they are in {describe_rows(negative)}.")
    # Squared, because products with it have to be finite, too.
    with np.errstate(over="ignore"):
        square = votes.sum() ** 2
    if not np.isfinite(square):
        raise InputError("The sum of all votes is too large to compute with; correct the counts.")
    return votes


def split_votes(
    counts: Array, random_state: np.random.Generator, n_kept: int | None = None
) -> tuple[Array, Array]:
    """Split the votes of each row into two parts, drawn without replacement.

    Parameters
    ----------
    counts : ndarray of shape (n_samples, n_labels)
        Whole numbers, whose sum is below `VOTES_LIMIT` in each row.
    random_state : numpy.random.Generator
    n_kept : int, default=None
        Votes in the first part of each row; rows with fewer keep all. None means half of them, and
        of an odd number the larger half, so that a row with one vote keeps it.

    Returns
    -------
    kept, held_out : ndarray of shape (n_samples, n_labels)

    Examples
    --------
    >>> kept, held_out = split_votes(np.array([[3.0, 2.0], [1.0, 0.0]]), np.random.default_rng(0))
    >>> kept.sum(axis=1), held_out.sum(axis=1)
    (array([3., 1.]), array([2., 0.]))
    """
    remaining = counts.astype(np.int64)
    others = remaining.sum(axis=1)
    missing = others // 2
    if n_kept is not None:
        missing = np.maximum(others - n_kept, 0)
    held_out = np.zeros_like(remaining)
    for label, votes in enumerate(remaining.T):
        others = others - votes
        held_out[:, label] = random_state.hypergeometric(votes, others, missing)
        missing = missing - held_out[:, label]
    return counts - held_out, held_out.astype(counts.dtype)


def check_some_degrees(degrees: Any, names: Iterable[object], n: int) -> Array:
    """Validate true degrees of some rows; the rows whose degrees are unknown contain NaN."""
    order = label_order(degrees, names)
    D = check_matrix(degrees, "degrees", nan="allow")
    if order is not None:
        D = D[:, order]
    n_rows, n_columns = D.shape
    c = len(list(names))
    if D.shape != (n, c):
        wanted = f"{n} rows and {c} columns, one for each row of X and each label"
        raise InputError(f"degrees must have {wanted}, got {n_rows} and {n_columns}.")
    missing = np.isnan(D)
    known = ~missing.any(axis=1)
    partly = ~known & ~missing.all(axis=1)
    if partly.any():
        rows = describe_rows(partly)
        raise InputError(
            f"The degrees of a row must be all known or all NaN, not mixed as in {rows} of degrees."
        )
    problems = find_row_problems(D[known])
    if problems:
        off = np.any(list(problems.values()), axis=0)
        first = np.flatnonzero(known)[off][0]
        kinds = " or ".join(problems)
        raise InputError(
            f"Degrees must not be negative and must sum to 1: row {first} of degrees: {kinds}."
        )
    return D / D.sum(axis=1, keepdims=True)


def check_incomplete_distributions(y: Any) -> Array:
    """Validate label distributions whose missing degrees are NaN; a single one is filled in.

    Examples
    --------
    >>> check_incomplete_distributions([[0.25, 0.25, np.nan], [0.25, np.nan, np.nan]])
    array([[0.25, 0.25, 0.5 ],
           [0.25,  nan,  nan]])
    """
    filled, unknown = fill_missing_degrees(check_matrix(y, "label distributions", nan="allow"))
    return np.where(unknown, np.nan, check_distributions(filled))


def fill_missing_degrees(D: Array) -> tuple[Array, Mask]:
    """Degrees in which missing ones share what the others leave; and which stay unknown.

    A single missing degree of a row follows from the others.
    """
    missing = np.isnan(D)
    n_missing = missing.sum(axis=1, keepdims=True)
    rest = np.maximum(1.0 - np.nansum(D, axis=1, keepdims=True), 0.0)
    filled = np.where(missing, rest / np.maximum(n_missing, 1), D)
    return filled, missing & (n_missing > 1)


def check_distributions(y: Any, *, nan: str | None = None) -> Array:
    """Validate label distributions: a float array whose rows are rescaled to sum to one.

    ``nan`` is the advice in the error message for NaN.
    """
    D = check_matrix(y, "label distributions", nan=nan)
    problems = find_row_problems(D)
    if "negative degree" in problems:
        rows = describe_rows(problems["negative degree"])
        raise InputError(f"Degrees must not be negative, but they are in {rows} of y.")
    sums = D.sum(axis=1)
    if problems:
        off = np.any(list(problems.values()), axis=0)
        first = off.argmax()
        raise InputError(
            f"The degrees of a row must sum to 1, unlike {describe_rows(off)} of y "
            f"(row {first} sums to {sums[first]:.4g}); divide each row by its sum first."
        )
    return D / sums[:, None]


def find_row_problems(D: Array, tolerance: float = SUM_TOLERANCE) -> dict[str, Mask]:
    """Masks of the rows that are not label distributions, by kind of problem; empty if none is.

    A row is marked by the first kind that applies. ``tolerance`` is that of the sums, infinite for
    votes.
    """
    with np.errstate(invalid="ignore"):  # infinity minus infinity is found as not finite
        total = D.sum(axis=1, dtype=np.float64)
    marks = {
        "missing or infinite degree": ~np.isfinite(total),  # a finite sum has finite terms
        "negative degree": (D < 0).any(axis=1),
        "degrees that sum to 0": total == 0,
        "degrees that do not sum to 1": np.abs(total - 1) > tolerance,
    }
    sound = np.ones(len(D), dtype=bool)
    problems = {}
    for kind, mark in marks.items():
        if (mark & sound).any():
            problems[kind] = mark & sound
        sound &= ~mark
    return problems
