"""Wide features in as many coordinates as there are rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from ldlearn.core.resources import blas_threads
from ldlearn.core.simplex import Array
from ldlearn.solvers.features import Features

_MOST_ROWS = 2000  # whose products with each other are factorised
_COLUMNS_AT_ONCE = 512
_UNEVEN = 1e8  # ratio of squares up to which rounding errors do no harm to the smaller
_EPS = float(np.finfo(np.float64).eps)


class RowSpace(Features):
    """The rows of a wide X in an orthonormal basis Q of their span: ``X - mean = R Q'``.

    Weights with a penalty ``|W|^2`` lie in that span: what is orthogonal to all rows would cost and change no score. So
    ``W = Q V``, and V, with the same penalty, is what the fit on R finds. ``(X - mean)(X - mean)' = U L U'`` gives
    ``R = U L^1/2``, whose columns are orthogonal, and ``Q = (X - mean)' U L^-1/2``, which is never formed. If rows have
    weights, all that is done to rows times the roots of these.

    Parameters
    ----------
    whole : Features

    Attributes
    ----------
    keeps_digits : bool
        Whether rounding leaves what rows differ by. Not beside a row that is far longer than others or counts far more
        often, nor where all have far more in common than they differ by, as far from zero without an intercept.

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
        products = often * _products_of_rows(whole) * often.T
        with blas_threads():
            values, U = np.linalg.eigh(products)
        kept = values > whole.n * _EPS * values[-1]
        roots = np.sqrt(values[kept])
        super().__init__(U[:, kept] * roots / often, whole.fit_intercept, whole.weights, orthogonal=True)
        self._whole, self._inverse = whole, often * U[:, kept] / roots
        squares, varying = np.diag(products), whole.spread > 0.0
        at_mean = (_EPS * often[:, 0]) ** 2 * np.sum(whole.mean[varying] ** 2)  # of rows there, by rounding alone
        least = min(squares[squares > at_mean].min(), values[-2])
        self.keeps_digits = bool(max(squares.max(), values[-1] / whole.n) <= _UNEVEN * least)

    @property
    def whole(self) -> Features:
        """See `CentredColumns.whole`."""
        return self._whole

    def in_columns(self, V: Array, b: Array) -> tuple[Array, Array]:
        """See `Features.in_columns`."""
        W, _ = self._whole.transpose_times(self._inverse @ V, exact=True)
        return W, b - self._whole.mean @ W

    def last_directions(self, k: int) -> Array:
        """The last k columns of Q: the directions in which the rows differ most."""
        directions, _ = self._whole.transpose_times(self._inverse[:, -k:], exact=True)
        return directions


def reduce_to_row_space(features: Features) -> Features:
    """Features for the same fits with fewer columns, if there are many more than rows: `RowSpace`; else these.

    Columns must be alike: beside a very large one, what the others say of rows would be lost in rounding. Sparse rows
    stay as they are: products with them are quick.
    """
    is_wide = 2 <= features.n <= _MOST_ROWS and 2 * features.n <= features.m and features.are_alike
    is_plain = not sparse.issparse(features.X) and (features.weights is None or bool((features.weights > 0.0).all()))
    if not (is_wide and is_plain and np.isfinite(features.spread.sum())):
        return features
    rows = RowSpace(features)
    return rows if rows.keeps_digits else features


def _products_of_rows(features: Features) -> NDArray[np.float64]:
    """``(X - mean)(X - mean)'``."""
    products = np.zeros((features.n, features.n))
    for columns in gen_batches(features.m, _COLUMNS_AT_ONCE):
        block = features.X[:, columns] - features.mean[columns]
        products += block @ block.T
    return products
