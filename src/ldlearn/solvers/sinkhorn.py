"""Entropy-regularised optimal transport between many pairs of distributions that share one cost."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ldlearn.core.scaling import CACHED_ENTRIES, row_batches
from ldlearn.core.simplex import TINY, Array, row_weights

# Shapes: H, D, log_u, log_v (n, c), one pair of distributions a row; cost M and E = lam M (c, c);
# plans (n, c, c).
_MAX_STEPS = 100  # of Newton's method


@dataclass(frozen=True)
class Transport:
    """The plans ``diag(u_i) exp(-lam M) diag(v_i)``, kept as the logarithms of u and v."""

    log_u: Array
    log_v: Array  # -inf where D is zero
    error: float  # largest L1 error of the marginal h of a row; the marginal d is exact


def sinkhorn(
    H: Array,
    D: Array,
    M: Array,
    lam: float,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
) -> Transport:
    r"""Transport every row of H to the same row of D.

    .. math::

        \min_{P \ge 0}\; \langle P, M \rangle
        + \frac{1}{\lambda} \sum_{ab} P_{ab} (\ln P_{ab} - 1)
        \qquad P 1 = h, \quad P^T 1 = d

    Sinkhorn's sweeps may take thousands of iterations if ``lam * max(M)`` is large. So this is
    Newton's method on the dual, in logarithms, with a sweep wherever a Newton step does not
    increase the dual.

    Parameters
    ----------
    H : ndarray of shape (n_samples, n_labels)
        Positive, rows sum to one.
    D : ndarray of shape (n_samples, n_labels)
        Non-negative, rows sum to one.
    M : ndarray of shape (n_labels, n_labels)
        Cost of moving from label a to label b, non-negative.
    lam : float
        Inverse temperature.
    start : ndarray of shape (n_samples, n_labels), default=None
        Warm start: logarithms of u, such as those of a similar problem.
    tol : float, default=1e-8
        Stop when the L1 error of the marginal h is at most this in every row.

    Returns
    -------
    Transport

    Examples
    --------
    >>> import numpy as np
    >>> H, D = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    >>> M = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> total_plan(sinkhorn(H, D, M, lam=5.0), M, lam=5.0).round(6)
    array([[0.5, 0. ],
           [0.5, 0. ]])
    """
    E = lam * M
    log_u = np.zeros(H.shape) if start is None else start - start.max(axis=1, keepdims=True)
    error = np.empty(len(H))
    with np.errstate(divide="ignore"):
        log_v = np.log(D)
    for rows in row_batches(len(H), M.size, CACHED_ENTRIES):
        log_u[rows], error[rows] = _maximise_dual(H[rows], D[rows], E, log_u[rows], tol)
        log_v[rows] -= logsumexp(log_u[rows, :, None] - E, axis=1)  # meets d exactly
    return Transport(log_u, log_v, float(error.max()))


def _maximise_dual(
    H: Array,
    D: Array,
    E: Array,
    x: Array,
    tol: float,
) -> tuple[Array, Array]:
    """Maximise the dual ``<x, h> - <d, log sum_a exp(x_a - E_ab)>`` of every row over x = log u."""
    found = np.array(x)
    error = np.empty(len(x))
    active = np.arange(len(x))
    shares, dual = _transport_fractions(H, D, E, x)
    for left in range(_MAX_STEPS, -1, -1):
        reached = np.maximum(np.einsum("iab,ib->ia", shares, D), TINY)
        found[active] = x
        error[active] = np.abs(reached - H).sum(axis=1)
        go_on = error[active] > tol
        if left == 0 or not go_on.any():
            break
        if not go_on.all():
            active = active[go_on]
            state = (H, D, x, shares, reached, dual)
            H, D, x, shares, reached, dual = (array[go_on] for array in state)
        stepped = x + _dual_newton_step(H, D, shares, reached)
        shares, new_dual = _transport_fractions(H, D, E, stepped)
        fails = ~(new_dual >= dual)
        if fails.any():  # a sweep never decreases the dual
            sweep = x + np.log(H) - np.log(reached)
            stepped[fails] = sweep[fails]
            again = _transport_fractions(H[fails], D[fails], E, stepped[fails])
            shares[fails], new_dual[fails] = again
        x = stepped
        dual = new_dual
    return found, error


def _transport_fractions(
    H: Array,
    D: Array,
    E: Array,
    x: Array,
) -> tuple[Array, Array]:
    """Fractions of the mass of each label b that come from labels a, and the dual of each row.

    The fractions have shape (n, a, b).
    """
    shares = x[:, :, None] - E
    peak = shares.max(axis=1)
    shares -= peak[:, None, :]
    np.exp(shares, out=shares)
    total = shares.sum(axis=1)
    shares /= total[:, None, :]
    dual = np.einsum("ia,ia->i", x, H) - np.einsum("ib,ib->i", D, np.log(total) + peak)
    return shares, dual


def _dual_newton_step(
    H: Array,
    D: Array,
    shares: Array,
    reached: Array,
) -> Array:
    """Solve ``(diag(r) - S diag(d) S') step = h - r``, scaled to a unit diagonal.

    Constants are in the null space of the matrix.
    """
    root = np.sqrt(reached)
    scaled = shares * np.sqrt(D)[:, None, :] / root[:, :, None]
    system = -scaled @ scaled.transpose(0, 2, 1)
    system += root[:, :, None] * root[:, None, :]
    diagonal = np.arange(H.shape[1])
    system[:, diagonal, diagonal] += 1.0 + 1e-13
    missing = (H - reached) / root
    step = np.linalg.solve(system, missing[:, :, None])[:, :, 0] / root
    length = np.ptp(step, axis=1, keepdims=True)
    # The curvature changes by exp(length) at most along the step, hence this damping; short steps
    # stay Newton's.
    return step * np.where(length > 1.0, np.log1p(length) / np.maximum(length, 1.0), 1.0)


def transport_cost(
    plan: Transport,
    H: Array,
    D: Array,
    lam: float,
) -> Array:
    """The minimum for each row, by duality: ``(<h, ln u> + <d, ln v> - 1) / lam``."""
    log_v = np.where(D > 0, plan.log_v, 0.0)
    dual = np.sum(H * plan.log_u, axis=1) + np.sum(D * log_v, axis=1)
    return (dual - 1.0) / lam


def total_plan(
    plan: Transport,
    M: Array,
    lam: float,
    weights: Array | None = None,
) -> Array:
    """The (weighted) sum of the plans of all rows, shape (n_labels, n_labels)."""
    total = np.zeros(M.shape)
    weights = row_weights(plan.log_u, weights)
    for rows in row_batches(len(weights), M.size, CACHED_ENTRIES):
        plans = np.exp(plan.log_u[rows, :, None] - lam * M + plan.log_v[rows, None, :])
        total += np.tensordot(weights[rows], plans, axes=1)
    return total
