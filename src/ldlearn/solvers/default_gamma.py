"""Default penalty of a linear predictor, independent of the number and units of the features."""

import warnings

import numpy as np
from scipy import sparse

from ldlearn.core.scaling import random_rows
from ldlearn.core.simplex import Array, Indices
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.linear_predictor import centred_blocks

# a squared distance or a variance is outlying if it is larger than the median by this factor
_OUTLYING = 1000.0


class ScaleWarning(UserWarning):
    """Some features are on a much larger scale than the others."""


def default_gamma(features: CentredMatrix, *, warn: bool = False) -> float:
    """0.03 times the sum of the variances of the features.

    That is 0.03 n_features if the features are standardised. It corresponds to a prior on W under
    which the variance of the logits does not depend on the number and the units of the features.
    The objective is a sum over rows; empirically the best penalty does not depend on their number.

    Rows farther from the medians of the features than 30 times the median distance do not count,
    and no variance counts for more than 1,000 times the median variance: one of either would make
    the penalty too large for all the others.

    Parameters
    ----------
    features : CentredMatrix
        On a cluster outlying rows count: finding them would take two more
        passes.
    warn : bool, default=False
        Whether to warn about such rows and columns.
    """
    features = features.original_matrix
    if not np.isfinite(features.spread.sum()):
        raise OverflowError("The squares of the features overflow.")
    rows = features
    far = np.zeros(0, dtype=np.intp)
    if features.in_memory:
        distances = _squared_distances(features)
        is_far = distances > _OUTLYING * _median_of_positive(distances)
        far = np.flatnonzero(is_far)
        if len(far):
            rows = features.subset(~is_far)
    variances = rows.spread / rows.total
    largest = _OUTLYING * _median_of_positive(variances)
    if warn:
        columns = np.flatnonzero(variances > largest)
        if len(far):
            advice = "correct or remove such rows"
            _warn_of_outliers("Row", far, "far from all others", advice, UserWarning)
        if len(columns):
            advice = "standardise the features"
            _warn_of_outliers("Column", columns, "on a much larger scale", advice, ScaleWarning)
    return float(0.03 * np.minimum(variances, largest).sum())


def _squared_distances(features: CentredMatrix) -> Array:
    """Squared distance of each row from the medians of the columns.

    In sparse data it is the distance from 0, and constant columns are left out.
    """
    X = features.X
    if sparse.issparse(X):
        return X.astype(np.float64).multiply(X) @ (features.spread > 0.0)
    sample = X if features.n <= 20_000 else X[random_rows(features.n, 20_000)]
    centre = np.median(sample, axis=0)
    found = np.empty(features.n)
    for rows, centred in centred_blocks(X, centre, features.m):
        found[rows] = np.einsum("ij,ij->i", centred, centred)
    return found


def _median_of_positive(values: Array) -> float:
    """Of the values above 0; infinite if there are none."""
    positive = values[values > 0.0]
    return float(np.median(positive)) if len(positive) else np.inf


def _warn_of_outliers(
    kind: str,
    places: Indices,
    what: str,
    advice: str,
    category: type[UserWarning],
) -> None:
    place = str(places[0])
    if len(places) > 1:
        place += f" and {len(places) - 1} more"
    message = f"{kind} {place} of X (counted from 0): {what}; it may dominate the fit, so {advice}."
    warnings.warn(message, category, stacklevel=2)
