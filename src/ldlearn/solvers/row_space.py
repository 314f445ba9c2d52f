"""Wide feature matrices in a basis of their row space: fits of the same models, fewer columns."""

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from ldlearn.core.resources import blas_threads
from ldlearn.core.simplex import Array
from ldlearn.solvers.centred_matrix import CentredMatrix


class RowSpace(CentredMatrix):
    """The rows of a wide X in an orthonormal basis Q of their span: ``X - mean = R Q'``.

    Coefficients with a penalty ``|W|^2`` lie in that span: any orthogonal part would cost and
    change no score. So ``W = Q V``, and V, with the same penalty, is what the fit on R finds.
    ``(X - mean)(X - mean)' = U L U'`` gives ``R = U L^1/2``, whose columns are orthogonal, and
    ``Q = (X - mean)' U L^-1/2``, which is never formed. With sample weights, rows are first
    multiplied by the square roots of these.

    Parameters
    ----------
    original : CentredMatrix

    Attributes
    ----------
    keeps_digits : bool
        Whether the differences between rows are accurate. They are not if a row is much longer or
        has a much larger weight than others, or if all rows are far from zero without an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> original = CentredMatrix(np.random.default_rng(0).normal(size=(3, 8)))
    >>> rows = RowSpace(original)
    >>> V, b = np.ones((2, 1)), np.zeros(1)
    >>> W, intercept = rows.to_original(V, b)
    >>> np.allclose(original.X @ W + intercept, rows.X @ V + b)
    True
    """

    def __init__(self, original: CentredMatrix) -> None:
        eps = np.finfo(np.float64).eps
        root_weight = np.sqrt(original.apply_weights(np.ones((original.n, 1))))
        products = root_weight * _products_of_rows(original) * root_weight.T
        with blas_threads():
            values, U = np.linalg.eigh(products)
        kept = values > original.n * eps * values[-1]
        roots = np.sqrt(values[kept])
        super().__init__(
            U[:, kept] * roots / root_weight,
            original.fit_intercept,
            original.sample_weight,
            orthogonal=True,
        )
        self._original = original
        self._inverse = root_weight * U[:, kept] / roots
        squares = np.diag(products)
        varying = original.spread > 0.0
        # The squared length of a row that equals the mean, by rounding alone.
        at_mean = (eps * root_weight[:, 0]) ** 2 * np.sum(original.mean[varying] ** 2)
        # Squares may differ by this ratio before rounding errors harm the smaller ones.
        least = min(squares[squares > at_mean].min(), values[-2])
        self.keeps_digits = bool(max(squares.max(), values[-1] / original.n) <= 1e8 * least)

    @property
    def original_matrix(self) -> CentredMatrix:
        """See `CentredMatrix.original_matrix`."""
        return self._original

    def to_original(self, V: Array, b: Array) -> tuple[Array, Array]:
        """See `CentredMatrix.to_original`."""
        W, _ = self._original.transpose_product(self._inverse @ V, exact=True)
        return W, b - self._original.mean @ W

    def largest_directions(self, k: int) -> Array:
        """The last k columns of Q: the directions in which the rows differ most."""
        directions, _ = self._original.transpose_product(self._inverse[:, -k:], exact=True)
        return directions


def reduce_to_row_space(features: CentredMatrix) -> CentredMatrix:
    """A `RowSpace` for the same fits, if there are many more columns than rows; else the argument.

    Columns must have similar spreads: beside a very large one, the others would be lost in
    rounding. Sparse rows stay as they are, because products with them are fast.
    """
    weights = features.sample_weight
    is_reducible = (
        2 <= features.n <= 2000
        and 2 * features.n <= features.m
        and features.has_similar_spreads
        and (weights is None or weights.min() > 0.0)
        and not sparse.issparse(features.X)
        and np.isfinite(features.spread.sum())
    )
    if is_reducible:
        rows = RowSpace(features)
        if rows.keeps_digits:
            return rows
    return features


def _products_of_rows(features: CentredMatrix) -> Array:
    """``(X - mean)(X - mean)'``."""
    products = np.zeros((features.n, features.n))
    for columns in gen_batches(features.m, 512):
        block = features.X[:, columns] - features.mean[columns]
        products += block @ block.T
    return products
