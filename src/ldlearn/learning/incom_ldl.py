"""IncomLDL: low-rank linear regression on incomplete label distributions."""

import numpy as np

from ldlearn.base import NonNegative, estimator_dataclass
from ldlearn.core.simplex import Array
from ldlearn.learning.win_ldl import IncompleteDegreesLearner
from ldlearn.solvers.low_rank import (
    ThinFactors,
    nuclear_norm,
    singular_value_threshold,
)
from ldlearn.solvers.simplex_regression import SimplexFit, simplex_regression


@estimator_dataclass
class IncomLDL(IncompleteDegreesLearner):
    r"""Low-rank regression on incomplete label distributions (IncomLDL).

    Assumes that degrees are linear in the features and that few directions explain all labels.
    Training degrees may be missing (NaN): those that are known are fitted, and the simplex and the
    correlation between labels supply the rest.

    .. math::

        \min_{W, b}\; \tfrac12 \sum_{(i, j)\,known} (z_{ij} - d_{ij})^2
        + \alpha |(X^T X + l_2 m I)^{1/2} W|_*, \qquad z_i = x_i W + b \in \Delta

    X has m standardised features, :math:`|\cdot|_*` is the sum of the singular values (without
    :math:`l_2` those of :math:`X W`) and :math:`\Delta` the simplex. New rows are predicted by the
    point of the simplex nearest to :math:`x W + b`.

    Parameters
    ----------
    alpha : float, default=None
        Penalty on the rank. None takes :math:`s \sqrt{q} (\sqrt{r} + \sqrt{c})`, where q is the
        part of known degrees, s their standard deviation and r the effective number of features,
        the trace of :math:`X^T X (X^T X + l_2 m I)^{-1}`: about the largest singular value if
        features and degrees are unrelated.
    l2 : float, default=1.0
        Penalty on coefficients of features that hardly vary together with others; 0 is the
        published form.
    tol : float, default=1e-5
        Stop when z changes, and misses the simplex, by no more than this.
    max_iter : int, default=5000
        Iterations at most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        W, transposed, for features as given.
    intercept_ : ndarray of shape (n_labels,)
    alpha_ : float
    objective_ : float
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    A single missing degree of a row follows from the others. Degrees are predicted to be at least
    1e-6.

    Departures from the paper: an intercept; standardised features; the term in l2 and the default
    of alpha; proximal terms in the alternating direction method, which solves the same problem.
    Confidence: inferred (from the abstract and from a re-implementation by others).

    References
    ----------
    M. Xu, Z.-H. Zhou, "Incomplete Label Distribution Learning", IJCAI 2017, pp. 3175-3181.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import IncomLDL
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> D = np.array(
    ...     [[0.2, 0.2, 0.6], [0.3, np.nan, np.nan], [np.nan, 0.2, np.nan], [0.5, 0.2, 0.3]]
    ... )
    >>> IncomLDL(alpha=1e-6).fit(X, D).predict(X).round(2)
    array([[0.2, 0.2, 0.6],
           [0.3, 0.2, 0.5],
           [0.4, 0.2, 0.4],
           [0.5, 0.2, 0.3]])
    """

    learned = {"alpha_": "float"}

    _test_params = ({}, {"alpha": 0.01, "l2": 0.0})

    alpha: NonNegative | None = None

    def _regress(self, factors: ThinFactors, D: Array, penalty: float) -> SimplexFit:
        known = ~np.isnan(D)
        alpha = self.alpha
        if alpha is None:
            deviations = D - np.nanmean(D, axis=0)
            variance = np.nanmean(deviations**2) * known.mean()
            squares = factors.values**2
            effective = np.sum(squares / (squares + penalty))
            alpha = np.sqrt(variance) * (np.sqrt(effective) + np.sqrt(D.shape[1]))
        self.alpha_ = float(alpha)

        def shrink(A: Array, t: float) -> Array:
            return singular_value_threshold(A, self.alpha_ * t)

        fit = simplex_regression(
            factors,
            D,
            known.astype(np.float64),
            shrink,
            ridge=penalty,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        errors = np.nansum((fit.fitted - D) ** 2)
        self.objective_ = 0.5 * errors + self.alpha_ * nuclear_norm(fit.V)
        return fit
