"""LALOT (LDLOT): optimal transport loss with a learned ground metric between labels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldlearn.base import Learner
from ldlearn.base.sklearn_private import Interval
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import Array, softmax
from ldlearn.solvers.lbfgs import minimize_lbfgs
from ldlearn.solvers.sinkhorn import Transport, sinkhorn, total_plan, transport_cost

_SMALLEST_DEGREE = 1e-100  # transport needs positive degrees to take logarithms of
_TRANSPORT_TOLERANCE = 1e-7


class LALOT(Learner):
    r"""Label distribution learning by optimal transport (LALOT; the DLDL paper calls it LDLOT).

    Instead of label by label, predictions are compared with the truth by what it costs to move mass from label to
    label; the costs are learned with the model, around the correlation of the labels. Assumes that some labels are
    nearer to each other than others and that mistaking those for each other is cheaper.

    .. math::

        \min_{\Theta, \theta_0, K \succeq 0}\; \sum_i W(h_i, d_i; M) + \frac{C}{2} |K - K_0|_F^2, \qquad
        h_i = softmax(\Theta^T x_i + \theta_0), \quad M_{ab} \propto K_{aa} + K_{bb} - 2 K_{ab}, \quad K_0 = D^T D

    .. math:: W(h, d; M) = \min_{P 1 = h,\, P^T 1 = d,\, P \ge 0}\;
        \langle P, M \rangle + \frac{1}{\lambda} \sum_{ab} P_{ab} (\ln P_{ab} - 1)

    M is divided by its largest entry. Weights and K are improved in turn.

    Parameters
    ----------
    lam : float, default=20.0
        :math:`\lambda`. The entropy with weight 1 / lam pulls every prediction towards equal shares: the smaller lam,
        the more. The larger, the longer a fit takes.
    C : float, default=200.0
        How closely K keeps to :math:`K_0`.
    steps : int, default=10
        L-BFGS iterations on the weights before each update of K.
    max_iter : int, default=10
        Rounds of both. The weights are not penalised, so this is also the guard against overfitting.
    tol : float, default=1e-4
        Stop when a round changes the transport loss by less than this, relatively.
    fit_intercept : bool, default=True
        Whether :math:`\theta_0` is free (as published) or 0.

    Attributes
    ----------
    coef_ : ndarray of shape (m, c)
        :math:`\Theta`.
    intercept_ : ndarray of shape (c,)
    K_ : ndarray of shape (c, c)
        Positive semi-definite.
    cost_ : ndarray of shape (c, c)
        M, between 0 and 1.
    loss_ : float
        Sum of the transport terms under the costs that were used last.
    n_iter_ : int
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: ``lam=20`` instead of the 0.2 of the available code, with which the entropy outweighs
    the costs and predictions are close to uniform whatever the features are; L-BFGS from zero weights instead of
    gradient descent from random ones; transport is solved to a tolerance, by sweeps and Newton's method, instead of by
    200 sweeps; features are standardised within the solver. As in that code, the step in K is exact only for M not yet
    divided by its largest entry, so the objective need not fall in that step. Confidence: inferred (from a translation
    by others and the theory of transport; the paper's prior, its optimiser, and whether it takes M or its root are not
    certain).

    References
    ----------
    P. Zhao, Z.-H. Zhou, "Label Distribution Learning by Optimal Transport", AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LALOT
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [0.0, 0.1, 0.9]])
    >>> model = LALOT(lam=50.0).fit(X, D)
    >>> model.predict(X).round(1)
    array([[0.9, 0.1, 0. ],
           [0.5, 0.3, 0.2],
           [0. , 0.1, 0.9]])
    """

    _test_params = ({"max_iter": 3}, {"lam": 60.0, "C": 10.0, "max_iter": 2, "fit_intercept": False})
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "steps": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        lam: float = 20.0,
        C: float = 200.0,
        *,
        steps: int = 10,
        max_iter: int = 10,
        tol: float = 1e-4,
        fit_intercept: bool = True,
    ) -> None:
        self.lam = lam
        self.C = C
        self.steps = steps
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept

    def _fit(self, X: Any, D: Array) -> None:
        scaling = feature_scaling(X, center=self.fit_intercept)
        Z = scaling.apply(X)
        theta, theta0 = np.zeros((Z.shape[1], D.shape[1])), np.zeros(D.shape[1])
        K0 = D.T @ D
        K, losses = K0, [np.inf]
        while len(losses) <= self.max_iter:
            loss = TransportLoss(Z, D, label_cost(K), self.lam, self.fit_intercept)
            fit = minimize_lbfgs(loss, [theta, theta0], max_iter=self.steps, tol=0.1 * self.tol)
            theta, theta0 = fit.arrays
            K = metric_step(loss.total_plan(theta, theta0), K0, self.C)
            losses.append(fit.loss)
            if abs(losses[-2] - losses[-1]) <= self.tol * abs(losses[-1]):
                break
        self.coef_, self.intercept_ = scaling.undo(theta, theta0)
        self.K_, self.cost_, self.loss_, self.n_iter_ = K, label_cost(K), losses[-1], len(losses) - 1

    def _predict(self, X: Any) -> Array:
        return softmax(X @ self.coef_ + self.intercept_)


class TransportLoss:
    """``sum_i W(softmax(z_i theta + theta0), d_i; M)`` and its gradient; each call starts from the last one's plans."""

    def __init__(self, Z: Array, D: Array, M: Array, lam: float, fit_intercept: bool = True) -> None:
        self.Z, self.D, self.M, self.lam, self.fit_intercept = Z, D, M, lam, fit_intercept
        self._last: Array | None = None

    def __call__(self, theta: Array, theta0: Array) -> tuple[float, list[Array]]:
        """Loss and gradient in theta and theta0."""
        H, plan = self._transport(theta, theta0)
        # The dual variable of h is the derivative of W in h, up to a constant that the softmax removes.
        a = plan.log_u / self.lam
        G = H * (a - np.sum(H * a, axis=1, keepdims=True))
        loss = float(transport_cost(plan, H, self.D, self.lam).sum())
        return loss, [self.Z.T @ G, self.fit_intercept * G.sum(axis=0)]

    def total_plan(self, theta: Array, theta0: Array) -> NDArray[np.float64]:
        """How much moves between any two labels, over all rows."""
        return total_plan(self._transport(theta, theta0)[1], self.M, self.lam)

    def _transport(self, theta: Array, theta0: Array) -> tuple[Array, Transport]:
        H = np.maximum(softmax(self.Z @ theta + theta0), _SMALLEST_DEGREE)
        plan = sinkhorn(H, self.D, self.M, self.lam, start=self._last, tol=_TRANSPORT_TOLERANCE)
        self._last = plan.log_u
        return H, plan


def label_cost(K: Array) -> NDArray[np.float64]:
    """Squared distances between labels under the kernel K, divided by the largest."""
    diagonal = np.diag(K)
    M = np.maximum(diagonal[:, None] + diagonal - K - K.T, 0.0)
    np.fill_diagonal(M, 0.0)
    largest = float(M.max())
    return np.asarray(M / largest if largest > 0 else M)


def metric_step(plan: Array, K0: Array, C: float) -> NDArray[np.float64]:
    """The K that minimises ``<plan, M(K)> + C/2 |K - K0|^2`` over positive semi-definite matrices, M not rescaled."""
    slope = np.diag(plan.sum(axis=0) + plan.sum(axis=1)) - plan - plan.T
    values, vectors = np.linalg.eigh(K0 - slope / C)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
