"""DF-LDL: one learner for each order of two labels, chosen by the neighbours of a row."""

from itertools import permutations
from typing import Any

import numpy as np

from ldlearn.base import (
    Capabilities,
    Learner,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.resources import in_threads
from ldlearn.core.simplex import Array, normalize_rows
from ldlearn.learning.aa_knn import AAKNN
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.linear_predictor import linear_softmax
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.softmax_regression import softmax_regression


@estimator_dataclass
class DFLDL(Learner):
    r"""Decomposition and fusion (DF-LDL).

    Rows in which label i has at least the degree of label j are easier to learn than all rows
    together. A softmax regression is fitted to these rows for every ordered pair of labels; a new
    row is predicted by the mean of those whose order its nearest training rows confirm.

    .. math::

        p(x) = \frac{2}{c (c - 1)} \sum_{i \ne j} s_{ij}(x)\, P_{ij}(x), \qquad
        \min_{P_{ij}}\; KL(D_{ij}, P_{ij}) + l_2 |W_{ij}|^2, \quad
        P_{ij} = softmax(X W_{ij} + b_{ij})

    :math:`D_{ij}` are the training rows with :math:`d_i \ge d_j`, and :math:`s_{ij}` is 1 if label
    i has the larger mean degree among the ``n_neighbors`` nearest rows, 0 if label j has it, and
    1/2 if they are equal.

    Parameters
    ----------
    l2 : float, default=1.0
        Penalty of each softmax regression, as in `SABFGS`.
    n_neighbors : int, default=10
        Rows that decide which regressions are competent.
    tol : float, default=1e-6
        Stop when the loss per row is certified to be this close to its minimum.
    max_iter : int, default=100
        Newton iterations of each regression at most.

    Attributes
    ----------
    pair_coef_ : ndarray of shape (n_pairs, n_labels, n_features)
        W of each ordered pair (0, 1), (0, 2), ..., transposed; 0 if no row has this order.
    pair_intercept_ : ndarray of shape (n_pairs, n_labels)
        b of each pair.
    neighbors_ : AAKNN
        Finds the mean distribution of the neighbours.
    n_iter_ : int
        Largest number of iterations of a regression.
    converged_ : bool
        Whether all regressions reached ``tol``.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    c (c - 1) regressions: many labels take long. Scale the features, since neighbours are found by
    distance. Where neighbours say little about the order of labels it is below the mean
    distribution: on Yeast_spo5 (1,479 rows) its intersection is 0.903, that of the mean 0.908, and
    on Movie (1,500 rows, 1,869 features) 0.805 and 0.810.

    Departures from the paper: softmax regression (`SABFGS`) is the only base learner; rows in which
    two labels have equal degrees belong to both orders, so that the order of the labels does not
    matter. Confidence: inferred (from a re-implementation by others).

    References
    ----------
    M. González, G. González-Almagro, I. Triguero, J.-R. Cano, S. García, "Decomposition-Fusion for
    Label Distribution Learning", Information Fusion 66, 2021, pp. 64-75.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import DFLDL
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> D = np.hstack(
    ...     [0.5 + 0.4 * np.sign(X), 0.5 - 0.4 * np.sign(X)]
    ... )  # a step, which a linear model misses
    >>> DFLDL(l2=0.01).fit(X, D).predict([[-0.3], [0.3]]).round(2)
    array([[0.1, 0.9],
           [0.9, 0.1]])
    """

    learned = {
        "pair_coef_": "float (n_pairs, n_labels, n_features)",
        "pair_intercept_": "float (n_pairs, n_labels)",
        "neighbors_": "AAKNN",
    }

    _test_params = ({"n_neighbors": 3, "max_iter": 200},)

    l2: NonNegative = 1.0
    n_neighbors: PositiveInt = 10
    tol: Positive = 1e-6
    max_iter: PositiveInt = 100

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, D: Array) -> None:
        c = D.shape[1]
        pairs = list(permutations(range(c), 2))
        self.pair_coef_ = np.zeros((len(pairs), c, X.shape[1]))
        self.pair_intercept_ = np.zeros((len(pairs), c))

        def fit_pair(k: int) -> tuple[int, bool]:
            i, j = pairs[k]
            rows = D[:, i] >= D[:, j]
            if not rows.any():
                return 0, True
            features = reduce_to_row_space(CentredMatrix(X[rows]))
            fit = softmax_regression(
                features,
                D[rows],
                l2=self.l2,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            coef, self.pair_intercept_[k] = features.to_original(fit.coef, fit.intercept)
            self.pair_coef_[k] = coef.T
            return fit.n_iter, fit.converged

        fits = in_threads(fit_pair, range(len(pairs)))
        self.n_iter_ = max((n_iter for n_iter, _ in fits), default=0)
        self.converged_ = all(converged for _, converged in fits)
        self.neighbors_ = AAKNN(n_neighbors=self.n_neighbors).fit(X, D)

    def _predict(self, X: Any) -> Array:
        near = self.neighbors_.predict(X).astype(np.float64)
        P = np.zeros(near.shape)
        for k, (i, j) in enumerate(permutations(range(near.shape[1]), 2)):
            ahead = np.round(near[:, i] - near[:, j], 9)
            competence = np.heaviside(ahead, 0.5)
            predicted = linear_softmax(X, self.pair_coef_[k].T, self.pair_intercept_[k])
            P += competence[:, None] * predicted
        return normalize_rows(P)
