"""Algorithm 1 of the DLDL paper: the D-step by alternating directions, with the sign of the
multiplier corrected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import wrightomega

from ldlearn.core.simplex import Array, Mask, project_simplex
from ldlearn.solvers.newton_simplex import SimplexSolution, Support, newton_simplex


def admm_simplex(
    log_prior: Array,
    support: Mask,
    *,
    laplacian: Any = None,
    beta: float = 0.0,
    sample_weight: Array | None = None,
    start: Array | None = None,
    tau: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 20_000,
) -> tuple[Array, int, bool]:
    r"""Minimise ``KL(D, P) + tr(D'GD) + beta |D|^2`` over distributions on the support, by ADMM on
    ``B = D``.

    * D: ``argmin KL(D, P) + tr(D'GD) + beta |D|^2 + <Phi, B - D> + tau/2 |B - D|^2`` (Eq. 13). To
      the graph term ``(D - D_k)' (2 diag(G) - G) (D - D_k)`` is added, which is never negative,
      vanishes at the solution and leaves of the quadratic its diagonal; then every entry solves
      ``ln d + q d = r``, a value of the Wright omega function.
    * B: projection of ``D - Phi / tau`` onto the simplex of the support. (The paper prints ``+``,
      which settles at a wrong point; its quadratic programme is this projection.)
    * ``Phi += tau (B - D)``.

    Parameters
    ----------
    log_prior, support, laplacian, beta, sample_weight, start
        As in `newton_simplex`.
    tau : float, default=1.0
        Penalty. The paper's schedule, at most 0.002, cannot reach its own stopping rule.
    tol : float, default=1e-6
        Stop when the largest entries of ``B - D`` and of the change of D are both below this.
    max_iter : int, default=20000

    Returns
    -------
    D : ndarray of shape (n, c)
        Restricted to the support and renormalised.
    n_iter : int
    converged : bool

    Examples
    --------
    >>> import numpy as np
    >>> P, Y = np.array([[0.1, 0.3, 0.6]]), np.array([[True, True, False]])
    >>> D, _, converged = admm_simplex(np.log(P), Y)
    >>> D.round(4), converged
    (array([[0.25, 0.75, 0.  ]]), True)
    """
    D = (
        support / support.sum(axis=1, keepdims=True)
        if start is None
        else np.where(support, start, 0.0)
    )
    B, Phi = D.copy(), np.zeros_like(D)
    # A row's terms are divided by its weight, and its penalty is tau times that: only the graph is
    # left to weigh.
    step = 2.0 if sample_weight is None else 2.0 / sample_weight[:, None]
    majoriser = 0.0 if laplacian is None else 2.0 * step * np.asarray(laplacian.diagonal())[:, None]
    q = np.broadcast_to(2.0 * beta + tau + majoriser, D.shape)
    # The derivative of d (ln d - ln p) is ln d - ln p + 1.
    L = np.where(support, log_prior, 0.0) - 1.0
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        r = L + Phi + tau * B + majoriser * D
        if laplacian is not None:
            r -= step * (laplacian @ D)
        # ln d + q d = r says t + ln t = r + ln q for t = q d, which defines the Wright omega
        # function. D is positive by itself; B makes it sum to one.
        previous, D = D, np.where(support, wrightomega(r + np.log(q)) / q, 0.0)
        B = project_simplex(D - Phi / tau, support)
        Phi += tau * (B - D)
        n_iter += 1
        converged = bool(max(np.abs(B - D).max(), np.abs(D - previous).max()) <= tol)
    # The certificate takes the logarithm of D: no degree of the support may underflow to 0.
    D = np.maximum(D, np.where(support, np.finfo(float).tiny, 0.0))
    return np.asarray(D / D.sum(axis=1, keepdims=True)), n_iter, converged


def solve_by_admm(
    log_prior: Array, support: Any, *, start: Any, tol: float, between_labels: None, **problem: Any
) -> SimplexSolution:
    """Replacement of `newton_simplex`, which is only used to compute objective and gap of the
    result."""
    mask = support.mask() if isinstance(support, Support) else support
    D, n_iter, converged = admm_simplex(log_prior, mask, start=start, **problem)
    certified = newton_simplex(log_prior, support, start=D, **problem, max_iter=0)
    return replace(certified, n_iter=n_iter, converged=converged)
