"""The D-step of DLDL where the degrees of some rows are known: they stay, the others are solved around them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from ldlearn.core.simplex import Array, Mask
from ldlearn.solvers.newton_simplex import SimplexSolution, newton_simplex


def solve_around(
    held: Mask,
    logP: Array,
    support: Mask,
    D: Array,
    *,
    laplacian: Any,
    alpha: float,
    beta: float,
    sample_weight: Array | None,
    tol: float,
    between_labels: Array | None = None,
) -> SimplexSolution:
    """Minimise the objective of `newton_simplex` over the rows that are not held, the others staying as D has them.

    The graph ties both kinds of row: ``tr(D'GD)`` is quadratic in the free rows and linear in what G carries over from
    the held ones, which moves their prior.
    """
    free = ~held
    fixed = D[held]
    # What the held rows add to the objective does not change, but is part of what is reported.
    entropy = (xlogy(fixed, fixed) - fixed * logP[held] + beta * fixed**2).sum(axis=1)
    if between_labels is not None:
        entropy = entropy + ((fixed @ between_labels) * fixed).sum(axis=1)
    constant = float(entropy.sum() if sample_weight is None else sample_weight[held] @ entropy)
    prior = logP[free]
    among = None
    if alpha > 0:
        constant += alpha * float(np.vdot(fixed, laplacian[held][:, held] @ fixed))
        # G is symmetric: <D_f, G_fh D_h> occurs twice. A row's prior is multiplied by its weight, the graph is not.
        carried = 2.0 * alpha * (laplacian[free][:, held] @ fixed)
        prior = prior - (carried if sample_weight is None else carried / sample_weight[free, None])
        # Rows of this part may sum to more than 0, held neighbours having left it; it is positive semi-definite still.
        among = laplacian[free][:, free]
    if not free.any():
        return SimplexSolution(D, np.zeros(len(D)), constant, 0, 0, True)
    counts = None if sample_weight is None else sample_weight[free]
    problem: dict[str, Any] = {"laplacian": among, "alpha": alpha, "beta": beta, "sample_weight": counts, "tol": tol}
    if between_labels is not None:
        problem["between_labels"] = between_labels
    found = newton_simplex(prior, support[free], start=D[free], **problem)
    whole, gap = D.copy(), np.zeros(len(D))
    whole[free], gap[free] = found.D, found.gap
    return replace(found, D=whole, gap=gap, objective=found.objective + constant)
