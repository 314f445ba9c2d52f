"""L-BFGS over several arrays at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from ldlearn.core.simplex import Array

LossAndGradient = Callable[..., tuple[float, Sequence[Array]]]


@dataclass(frozen=True)
class LbfgsFit:
    """The result of `minimize_lbfgs`."""

    arrays: list[Array]
    loss: float
    path: Array  # the loss after each iteration
    n_iter: int
    converged: bool


def minimize_lbfgs(
    loss_and_gradient: LossAndGradient,
    start: Sequence[Array],
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    memory: int = 10,
) -> LbfgsFit:
    """Minimise a smooth function of several arrays; the loss never increases.

    Parameters
    ----------
    loss_and_gradient : callable
        ``f(*arrays) -> (loss, gradients)``, the gradients in the order and shapes of the arrays.
    start : sequence of ndarrays
    max_iter : int, default=100
    tol : float, default=1e-8
        Stop when an iteration lowers the loss by less than this, relative to the loss (or to 1 if
        that is larger).
    memory : int, default=10
        Number of stored pairs of steps and gradient changes.

    Examples
    --------
    >>> import numpy as np
    >>> fit = minimize_lbfgs(
    ...     lambda a, b: (a @ a + (b - 3.0) @ (b - 3.0), [2 * a, 2 * (b - 3.0)]),
    ...     [np.ones(2), np.ones(1)],
    ... )
    >>> [array.round(4) + 0.0 for array in fit.arrays]
    [array([0., 0.]), array([3.])]
    """
    shapes = [array.shape for array in start]
    cuts = np.cumsum([array.size for array in start])[:-1]

    def unpack(flat: Array) -> list[Array]:
        return list(map(np.reshape, np.split(flat, cuts), shapes))

    def flat_loss(flat: Array) -> tuple[float, Array]:
        loss, gradients = loss_and_gradient(*unpack(flat))
        return loss, _flatten(gradients)

    path: list[float] = []

    def record_loss(intermediate_result: optimize.OptimizeResult) -> None:
        path.append(intermediate_result.fun)

    # Only the decrease of the loss is tested (gtol = 0), because a gradient has the units of the
    # variables. maxfun only stops endless line searches.
    found = optimize.minimize(
        flat_loss,
        _flatten(start),
        jac=True,
        method="L-BFGS-B",
        callback=record_loss,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "ftol": tol,
            "gtol": 0.0,
            "maxcor": memory,
        },
    )
    return LbfgsFit(
        arrays=unpack(found.x),
        loss=float(found.fun),
        path=np.array(path),
        n_iter=found.nit,
        converged=found.success,
    )


def _flatten(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(array) for array in arrays])
