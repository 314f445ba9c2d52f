"""Generalisation bounds of the DLDL paper: as printed, and one that holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlearn.exceptions import InputError

_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class PaperBound:
    """Theorems 1 and 2 as printed. Diagnostic only: they are not valid, and their terms
    overflow."""

    log10_complexity: float  # of the claimed Rademacher complexity
    theta: float  # the claimed bound of the loss
    confidence_term: float  # 3 theta sqrt(ln(2 / delta) / (2 n)); grows like sqrt(n)


@dataclass(frozen=True)
class CorrectedBound:
    """With probability 1 - delta the risk is at most ``empirical + slack``, both of the loss cut at
    ``theta``."""

    complexity: float
    theta: float  # a row's loss counts as this at most
    confidence_term: float
    radius: float  # the weights' norm, rounded up to a power of two

    @property
    def slack(self) -> float:
        """What is added to the empirical risk."""
        return 2.0 * self.complexity + self.confidence_term


def paper_bound(W: Any, X: Any, D: Any, delta: float = 0.05) -> PaperBound:
    """The quantities of Theorems 1 and 2 as printed, the first on a log10 scale because it
    overflows.

    Theorem 1 is false: D is a free variable of each row, so that already ``W = 0`` and rows of D in
    {e_1, uniform} keep the complexity at ``ln(c) / 2`` for every n, while the printed bound goes to
    0 (see `free_rows_complexity`). Theorem 2 bounds the loss of one row by a sum over all rows, so
    its last term grows like ``sqrt(n)``.
    """
    W, X, D = np.asarray(W, dtype=float), np.asarray(X, dtype=float), np.asarray(D, dtype=float)
    (n, m), c = X.shape, D.shape[1]
    norm, rank = float(np.linalg.norm(W)), int(np.linalg.matrix_rank(D))
    spread = (abs(float(X.max())) + abs(float(X.min()))) * norm * m
    log_complexity = np.log(rank) + 0.5 * (np.log(c * m) + spread) - 0.5 * np.log(n)
    theta = n * c * (np.log(m) + spread)
    return PaperBound(
        float(log_complexity / _LN10), float(theta), float(_confidence(theta, delta, n))
    )


def free_rows_complexity(n_labels: int) -> float:
    """A lower bound, for every n, of the complexity that Theorem 1 claims to vanish: ``ln(c) /
    2``."""
    return 0.5 * float(np.log(n_labels))


def corrected_bound(
    W: Any,
    X: Any,
    n_labels: int,
    delta: float = 0.05,
    *,
    intercept: Any = None,
    x_bound: float | None = None,
) -> CorrectedBound:
    r"""A bound on ``KL(d, softmax(x W + b))`` for targets that do not depend on the sample
    (supervised learning).

    Rows (x, d) are drawn independently from one distribution. With probability ``1 - delta`` over
    the sample, for all weights at once, however they were found,

    .. math:: E \min(KL, \Theta) \le \frac{1}{n} \sum_i \min(KL_i, \Theta) + 2 R
        + 3 \Theta \sqrt{\ln(2/\delta_r) / (2n)}, \qquad R = \frac{2 r}{n} \sqrt{c \sum_i |x_i|^2}

    The loss is sqrt(2)-Lipschitz in the logits, also when it is cut, and Maurer's vector
    contraction does the rest. Because r is read off the fitted weights, it is rounded up to a power
    of two, and delta is shared out among those powers as ``6 delta / (pi j)^2``, j counting them.
    Usually vacuous; diagnostic only.

    It says nothing of targets learned from the same rows (those of `DLDL`), nor of features
    prepared with them (a mean that was subtracted): fix the preparation beforehand. Without a cut
    no bound can hold for every distribution: what a sample has not shown yet, a row far away, may
    cost any amount.

    Parameters
    ----------
    W : array-like of shape (m, c)
        Fitted weights.
    X : array-like of shape (n, m)
        The rows they were fitted to.
    n_labels : int
        c.
    delta : float, default=0.05
        Probability with which the bound may fail.
    intercept : array-like of shape (c,), default=None
        b: the weights of one more feature that is 1.
    x_bound : float, default=None
        A number that ``|x|`` is known, not only observed, never to exceed. Then no loss exceeds
        :math:`\Theta = \ln(1 + (c - 1) e^{\sqrt2 r |x|})` and nothing is cut. If None,
        :math:`\Theta = \ln c`: no row counts more than the most that equal shares can cost.

    Examples
    --------
    >>> import numpy as np
    >>> bound = corrected_bound(np.zeros((2, 3)) + 0.1, np.ones((10000, 2)), 3)
    >>> bound.radius, round(bound.slack, 2)
    (0.25, 0.09)
    """
    W, X = np.asarray(W, dtype=float), np.asarray(X, dtype=float)
    squares = np.sum(X**2, axis=1)
    if x_bound is not None and squares.max(initial=0.0) > x_bound**2:
        raise InputError(
            f"x_bound={x_bound:g} must hold for every row, but one has length "
            f"{np.sqrt(squares.max()):g}; give a bound "
            "that is known to hold, or none."
        )
    if intercept is not None:
        W, squares = np.vstack([W, np.reshape(intercept, (1, -1))]), squares + 1.0
    k = int(np.ceil(np.log2(max(float(np.linalg.norm(W)), np.finfo(float).tiny))))
    radius, n = float(2.0**k), len(X)
    position = 2 * k if k > 0 else 1 - 2 * k  # the integers, counted 1, 2, 3, ...
    share = delta * 6.0 / (np.pi * position) ** 2
    complexity = 2.0 * radius * np.sqrt(n_labels * squares.sum()) / n
    theta = np.log(n_labels)
    if x_bound is not None:
        reach = np.sqrt(x_bound**2 + (intercept is not None))
        theta = np.logaddexp(0.0, np.log(max(n_labels - 1, 1)) + np.sqrt(2.0) * radius * reach)
    return CorrectedBound(
        float(complexity), float(theta), float(_confidence(theta, share, n)), radius
    )


def _confidence(theta: float, delta: float, n: int) -> float:
    """Both risks and both complexities are close: McDiarmid's inequality once for the former, twice
    for the latter."""
    return float(3.0 * theta * np.sqrt(np.log(2.0 / delta) / (2.0 * n)))
