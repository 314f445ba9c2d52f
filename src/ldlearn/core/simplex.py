"""Points of the simplex: softmax, normalisation, projection, rounding, maps from scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import InputError

Array = NDArray[Any]  # of floats, if nothing else is said
Mask = NDArray[np.bool_]
Indices = NDArray[Any]  # of integers
SampleWeight = Array  # one non-negative number per row
TINY = np.finfo(np.float64).tiny


def row_weights(rows: Any, sample_weight: SampleWeight | None) -> SampleWeight:
    """How often each of the rows counts: once if there are no sample weights.

    Examples
    --------
    >>> row_weights(np.eye(2), None)
    array([1., 1.])
    """
    return np.ones(rows.shape[0]) if sample_weight is None else sample_weight


def take_rows(array: Any, rows: Any) -> Any:
    """Some rows of an array; None stays None."""
    return None if array is None else array[rows]


def positive_or_one(A: Array) -> Array:
    """A with 1 in the place of the entries that are not positive, to divide by.

    Examples
    --------
    >>> positive_or_one(np.array([2.0, 0.0]))
    array([2., 1.])
    """
    return np.where(A > 0, A, 1.0)


def log_softmax(Z: Array, support: Mask | None = None) -> Array:
    """Row-wise ``log(softmax(Z))``; entries off the support (if one is given) are ``-inf``.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_softmax(np.array([[1000.0, 1000.0]])))
    array([[0.5, 0.5]])
    """
    Z = _shift_rows(Z, support)
    totals = np.exp(Z).sum(axis=1, keepdims=True)
    return Z - np.log(totals)


def softmax(Z: Array, support: Mask | None = None) -> Array:
    """Row-wise softmax, on the support if one is given; never overflows.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.zeros((1, 3)), np.array([[True, False, True]]))
    array([[0.5, 0. , 0.5]])
    """
    E = np.exp(_shift_rows(Z, support))
    E /= E.sum(axis=1, keepdims=True)
    return E


def _shift_rows(Z: Array, support: Mask | None) -> Array:
    """Z minus the largest entry of each row; ``-inf`` off the support."""
    if support is not None:
        Z = np.where(support, Z, -np.inf)
    return Z - Z.max(axis=1, keepdims=True)


def log_degrees(P: Array) -> Array:
    """Logarithms in float64; that of 0 is finite, about -708."""
    return np.log(np.maximum(P, TINY), dtype=np.float64)


def log_mean_distribution(D: Array, weights: SampleWeight | None = None) -> Array:
    """Logarithms of the (weighted) mean distribution, of degrees of at least 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(log_mean_distribution(np.array([[1.0, 0.0], [0.5, 0.5]]))[None])
    array([[0.75, 0.25]])
    """
    mean = np.average(D, axis=0, weights=weights)
    return np.log(np.maximum(mean, 1e-6), dtype=np.float64)


def normalize_rows(F: Array, shift: bool = False) -> Array:
    """Non-negative scores divided by their row sums; a row without mass becomes uniform.

    With ``shift=True`` the smallest score of each row is subtracted first, so that scores may be
    negative.

    Examples
    --------
    >>> import numpy as np
    >>> normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    F = np.asarray(F)
    if shift:
        F = F - F.min(axis=1, keepdims=True)
    elif (F < 0).any():
        raise InputError(
            "normalize_rows needs non-negative scores; use shift=True for scores of any sign."
        )
    # Divided by the largest first: the sum of large numbers may overflow.
    peak = F.max(axis=1, keepdims=True)
    scaled = np.where(peak > 0, F, 1.0)
    scaled = scaled / positive_or_one(peak)
    return scaled / scaled.sum(axis=1, keepdims=True)


def clip_degrees(P: Array, smallest: float = 1e-9) -> Array:
    """Distributions whose degrees are raised to at least ``smallest``, then divided by their sums.

    Examples
    --------
    >>> import numpy as np
    >>> clip_degrees(np.array([[1.0, 0.0]]), smallest=0.25)
    array([[0.8, 0.2]])
    """
    raised = np.maximum(P, smallest)
    return raised / raised.sum(axis=1, keepdims=True)


def project_simplex(V: Array, support: Mask | None = None) -> Array:
    """Euclidean projection of every row onto the simplex of its support.

    For binary ``Y`` this is the projection onto ``{b : 0 <= b <= y, sum(b) = 1}``: the upper bound
    can never be active, so the quadratic programme of the paper is one sort per row.

    Parameters
    ----------
    V : ndarray of shape (n_samples, n_labels)
    support : boolean ndarray of shape (n_samples, n_labels), default=None
        True where mass is allowed; at least one entry in each row.

    Examples
    --------
    >>> import numpy as np
    >>> project_simplex(np.array([[2.0, 1.5, 9.0]]), np.array([[True, True, False]]))
    array([[0.75, 0.25, 0.  ]])
    """
    if support is not None and not support.any(axis=1).all():
        raise InputError("project_simplex needs at least one allowed entry in every row.")
    # Adding a constant to a row does not change its projection; this one avoids cancellation.
    V = _shift_rows(np.asarray(V), support)
    descending = -np.sort(-V, axis=1)
    allowed = np.isfinite(descending)
    descending[~allowed] = 0.0
    excess = np.cumsum(descending, axis=1) - 1.0
    counts = np.arange(1, V.shape[1] + 1)
    is_active = allowed & (descending * counts > excess)
    active = is_active.sum(axis=1, keepdims=True)
    threshold = np.take_along_axis(excess, active - 1, axis=1) / active
    return np.maximum(V - threshold, 0.0)


def round_rows(D: Array, digits: int) -> Array:
    """Round distributions such that rows still sum to one: largest remainders are rounded up.

    Examples
    --------
    >>> round_rows(np.full((1, 3), 1 / 3), 2)
    array([[0.34, 0.33, 0.33]])
    """
    scale = 10.0**digits
    units = np.asarray(D, dtype=np.float64) * scale
    whole = np.floor(units + 1e-9)  # integers up to rounding errors are not rounded down
    missing = np.rint(scale - whole.sum(axis=1, keepdims=True))
    # The rank of each remainder, by sorting twice.
    order = np.argsort(whole - units, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    return np.round((whole + (rank < missing)) / scale, digits)


OUTPUT_MAPS = ("softmax", "l1", "shift_l1")


def to_distributions(F: Array, normalize: str) -> Array:
    """Map rows of scores to label distributions.

    Parameters
    ----------
    F : ndarray of shape (n_samples, n_labels)
    normalize : {"softmax", "l1", "shift_l1"}
        * ``"softmax"``: exponentials over their sum. Scores in [0, 1] then differ by a factor of e
          at most.
        * ``"l1"``: positive parts over their sum.
        * ``"shift_l1"``: the smallest score of the row is moved to 0 first.

        A row without mass becomes uniform.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.array([[3.0, 1.0, -1.0]])
    >>> to_distributions(F, "l1")
    array([[0.75, 0.25, 0.  ]])
    >>> to_distributions(F, "shift_l1").round(3)
    array([[0.667, 0.333, 0.   ]])
    >>> to_distributions(F, "softmax").round(3)
    array([[0.867, 0.117, 0.016]])
    """
    if normalize == "softmax":
        return softmax(F)
    if normalize == "l1":
        return normalize_rows(F.clip(min=0.0))
    if normalize == "shift_l1":
        return normalize_rows(F, shift=True)
    raise InputError(f"normalize must be one of {', '.join(OUTPUT_MAPS)}, got {normalize!r}.")
