"""The field's artificial set: three features, three labels, a known formula, and its picture."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ldlearn.core.simplex import Array
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.exceptions import DatasetError

_SIDE = 51  # points of the grid of the manifold in each direction


def artificial_distribution(X: ArrayLike) -> Array:
    r"""Label distributions of the artificial set at given points.

    With :math:`t_k = x_k + 0.5 x_k^2 + 0.2 x_k^3 + 1`, the degrees are the shares of
    :math:`\psi_1 = (w_1^\top t)^2`, :math:`\psi_2 = (w_2^\top t + 0.01 \psi_1)^2` and
    :math:`\psi_3 = (w_3^\top t + 0.01 \psi_2)^2`, where :math:`w_1 = (4, 2, 1)`,
    :math:`w_2 = (1, 2, 4)` and :math:`w_3 = (1, 4, 2)`.

    Parameters
    ----------
    X : array-like of shape (n_samples, 3)

    Returns
    -------
    D : ndarray of shape (n_samples, 3)

    Examples
    --------
    >>> artificial_distribution([[0.0, 0.0, 0.0]]).round(6)
    array([[0.301968, 0.345723, 0.352309]])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 3:
        raise DatasetError(
            f"The artificial set has three features; X must have shape (n, 3), got {X.shape}."
        )
    T = X + 0.5 * X**2 + 0.2 * X**3 + 1
    psi = np.zeros_like(X)
    for j, coefficients in enumerate(([4.0, 2.0, 1.0], [1.0, 2.0, 4.0], [1.0, 4.0, 2.0])):
        # At j = 0 the last column is still 0.
        psi[:, j] = (T @ np.array(coefficients) + 0.01 * psi[:, j - 1]) ** 2
    return psi / psi.sum(axis=1, keepdims=True)


def make_artificial(
    version: str = "training", n_samples: int = 500, *, random_state: Any = 0
) -> LabelDataset:
    """Artificial set of three features and three labels.

    Parameters
    ----------
    version : {"training", "manifold"}, default="training"
        ``"training"``: points drawn uniformly from the cube [-1, 1]^3. ``"manifold"``: the 2,601
        points of the surface x3 = sin((x1 + x2) pi) over the grid -1, -0.96, ..., 1, x1 varying
        slowest: the set on which predicted or recovered distributions are shown as a picture
        (`artificial_picture`).
    n_samples : int, default=500
        Number of training points; the manifold has its own.
    random_state : int, RandomState instance or None, default=0
        Draws the training points.

    Returns
    -------
    data : LabelDataset

    Notes
    -----
    Every degree exceeds 0.01, so the rule "degree > 0.01" makes every label positive; use
    ``.logical(rule="cumulative")``. The size 500 of the training set is not certain: other code
    uses 200.

    References
    ----------
    X. Geng. Label distribution learning. IEEE Transactions on Knowledge and Data Engineering 28,
    2016.
    N. Xu, Y.-P. Liu and X. Geng. Label enhancement for label distribution learning. IEEE
    Transactions on Knowledge and Data Engineering, 2019.

    Examples
    --------
    >>> make_artificial("manifold").D.mean(axis=0).round(6)
    array([0.303707, 0.343583, 0.35271 ])
    """
    if version == "manifold":
        X = _manifold_points()
    elif version == "training":
        X = check_random_state(random_state).uniform(-1.0, 1.0, size=(n_samples, 3))
    else:
        raise DatasetError(f"version must be 'training' or 'manifold', got {version!r}.")
    return LabelDataset(
        X=X,
        D=artificial_distribution(X),
        feature_names=["x1", "x2", "x3"],
        label_names=["red", "green", "blue"],
        name=f"artificial ({version})",
        source="generated",
        licence="none needed",
        citation="X. Geng. Label distribution learning. IEEE TKDE 28, 2016.",
        description="Every degree exceeds 0.01: take logical labels by "
        '.logical(rule="cumulative").',
    )


def _manifold_points() -> Array:
    axis = np.linspace(-1.0, 1.0, _SIDE)
    x1 = np.repeat(axis, _SIDE)
    x2 = np.tile(axis, _SIDE)
    return np.column_stack([x1, x2, np.sin((x1 + x2) * np.pi)])


def _decorrelation_matrix(Z: Array) -> Array:
    """The map of centred colours that removes correlations of their channels, not their spread.

    With standard deviations s and correlation matrix V L V', it is diag(s) V L^(-1/2) V' diag(1/s),
    transposed.
    """
    scale = Z.std(axis=0)
    values, vectors = np.linalg.eigh(np.corrcoef(Z.T))
    # Degrees sum to one, so that one direction has no variance: drop it instead of amplifying
    # rounding.
    kept = values > 1e-10 * values.max()
    vectors = vectors[:, kept]
    return vectors / np.sqrt(values[kept]) @ vectors.T * scale / scale[:, None]


def artificial_picture(D: ArrayLike) -> Array:
    """RGB picture of distributions on the manifold of the artificial set.

    Degrees are colours; a decorrelation stretch makes them distinct. It is learned from the true
    distributions, so that pictures of different methods can be compared, and saturates 1 % of them
    at each end of each channel.

    Parameters
    ----------
    D : array-like of shape (2601, 3)
        Distributions at the points of ``make_artificial("manifold")``, in that order.

    Returns
    -------
    picture : ndarray of shape (51, 51, 3)
        Colours in [0, 1]; rows are x1, columns x2, both from -1 to 1.

    Examples
    --------
    >>> artificial_picture(make_artificial("manifold").D).shape
    (51, 51, 3)
    """
    colours = np.asarray(D, dtype=np.float64)
    if colours.shape != (_SIDE**2, 3):
        raise DatasetError(
            f"A picture needs the (2601, 3) degrees of the manifold, got {colours.shape}."
        )
    truth = artificial_distribution(_manifold_points())
    mean = truth.mean(axis=0)
    matrix = _decorrelation_matrix(truth)
    low, high = np.quantile((truth - mean) @ matrix, [0.01, 0.99], axis=0)
    stretched = ((colours - mean) @ matrix - low) / (high - low)
    return np.clip(stretched, 0.0, 1.0).reshape(_SIDE, _SIDE, 3)
