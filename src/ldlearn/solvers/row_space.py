"""Wide features in as many coordinates as there are rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from ldlearn.core.simplex import Array
from ldlearn.core.threads import blas_threads
from ldlearn.solvers.features import Features

_MOST_ROWS = 2000  # whose products with each other are factorised
_COLUMNS_AT_ONCE = 512


class RowSpace(Features):
    """The rows of a wide X in an orthonormal basis Q of their span: ``X - mean = R Q'``.

    Weights with a penalty ``|W|^2`` lie in that span: what is orthogonal to all rows would cost and change no score. So
    ``W = Q V``, and V, with the same penalty, is what the fit on R finds. ``(X - mean)(X - mean)' = U L U'`` gives
    ``R = U L^1/2``, whose columns are orthogonal, and ``Q = (X - mean)' U L^-1/2``, which is never formed. If rows have
    weights, all that is done to rows times the roots of these.

    Parameters
    ----------
    whole : Features

    Examples
    --------
    >>> import numpy as np
    >>> whole = Features(np.random.default_rng(0).normal(size=(3, 8)))
    >>> rows = RowSpace(whole)
    >>> V, b = np.ones((2, 1)), np.zeros(1)
    >>> W, intercept = rows.in_columns(V, b)
    >>> np.allclose(whole.X @ W + intercept, rows.X @ V + b)
    True
    """

    def __init__(self, whole: Features) -> None:
        often = np.ones((whole.n, 1)) if whole.weights is None else np.sqrt(whole.weights)[:, None]
        with blas_threads():
            values, U = np.linalg.eigh(often * _products_of_rows(whole) * often.T)
        kept = values > whole.n * np.finfo(np.float64).eps * values[-1]
        roots = np.sqrt(values[kept])
        super().__init__(U[:, kept] * roots / often, whole.fit_intercept, whole.weights, orthogonal=True)
        self._whole, self._inverse = whole, often * U[:, kept] / roots

    @property
    def whole(self) -> Features:
        """See `CentredColumns.whole`."""
        return self._whole

    def in_columns(self, V: Array, b: Array) -> tuple[Array, Array]:
        """See `Features.in_columns`."""
        W, _ = self._whole.transpose_times(self._inverse @ V)
        return W, b - self._whole.mean @ W

    def last_directions(self, k: int) -> Array:
        """The last k columns of Q: the directions in which the rows differ most."""
        directions, _ = self._whole.transpose_times(self._inverse[:, -k:])
        return directions


def short_rows(features: Features) -> Features:
    """Features for the same fits with fewer columns, if there are many more than rows: `RowSpace`; else these.

    Columns must be alike: beside a very large one, what the others say of rows would be lost in rounding.
    """
    X = features.X
    plain = not sparse.issparse(X) and X.dtype == np.float64
    plain = plain and (features.weights is None or bool((features.weights > 0.0).all()))
    is_wide = features.n <= _MOST_ROWS and 2 * features.n <= features.m and features.are_alike
    return RowSpace(features) if plain and is_wide else features


def _products_of_rows(features: Features) -> NDArray[np.float64]:
    """``(X - mean)(X - mean)'``."""
    products = np.zeros((features.n, features.n))
    for columns in gen_batches(features.m, _COLUMNS_AT_ONCE):
        block = features.X[:, columns] - features.mean[columns]
        products += block @ block.T
    return products
