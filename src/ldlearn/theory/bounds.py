"""Generalisation bounds of the DLDL paper: as printed, and one that holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class PaperBound:
    """Theorems 1 and 2 as printed. Diagnostic only: they are not valid, and their terms overflow."""

    log10_complexity: float  # of the claimed Rademacher complexity
    theta: float  # the claimed bound of the loss
    confidence_term: float  # 3 theta sqrt(ln(2 / delta) / (2 n)); grows like sqrt(n)


@dataclass(frozen=True)
class CorrectedBound:
    """A bound for fixed targets: with probability 1 - delta the risk is at most ``empirical + slack``."""

    complexity: float
    theta: float
    confidence_term: float
    radius: float  # the weights' norm, rounded up to a power of two

    @property
    def slack(self) -> float:
        """What is added to the empirical risk."""
        return 2.0 * self.complexity + self.confidence_term


def paper_bound(W: Any, X: Any, D: Any, delta: float = 0.05) -> PaperBound:
    """The quantities of Theorems 1 and 2 as printed, the first on a log10 scale because it overflows.

    Theorem 1 is false: D is a free variable of each row, so that already ``W = 0`` and rows of D in {e_1, uniform} keep
    the complexity at ``ln(c) / 2`` for every n, while the printed bound goes to 0 (see `free_rows_complexity`). Theorem
    2 bounds the loss of one row by a sum over all rows, so its last term grows like ``sqrt(n)``.
    """
    W, X, D = np.asarray(W, dtype=float), np.asarray(X, dtype=float), np.asarray(D, dtype=float)
    (n, m), c = X.shape, D.shape[1]
    norm, rank = float(np.linalg.norm(W)), int(np.linalg.matrix_rank(D))
    spread = (abs(float(X.max())) + abs(float(X.min()))) * norm * m
    log_complexity = np.log(rank) + 0.5 * (np.log(c * m) + spread) - 0.5 * np.log(n)
    theta = n * c * (np.log(m) + spread)
    return PaperBound(float(log_complexity / _LN10), float(theta), float(_confidence(theta, delta, n)))


def free_rows_complexity(n_labels: int) -> float:
    """A lower bound, for every n, of the complexity that Theorem 1 claims to vanish: ``ln(c) / 2``."""
    return 0.5 * float(np.log(n_labels))


def corrected_bound(W: Any, X: Any, n_labels: int, delta: float = 0.05) -> CorrectedBound:
    r"""A bound on ``KL(d, softmax(x W))`` for targets that do not depend on the sample (supervised learning).

    The loss is sqrt(2)-Lipschitz in the logits, so Maurer's vector contraction gives
    ``R <= 2 r sqrt(c sum |x_i|^2) / n`` for ``|W|_F <= r``; a row's loss is at most
    ``ln(1 + (c - 1) exp(sqrt(2) r max |x|))``. Because r is read off the fitted W, it is rounded up to a power of two,
    and delta is shared out among those powers as ``6 delta / (pi j)^2``, j counting them. With recovered distributions
    in place of the true ones it says nothing about the true risk. Usually vacuous; diagnostic only.

    Examples
    --------
    >>> import numpy as np
    >>> bound = corrected_bound(np.zeros((2, 3)) + 0.1, np.ones((10000, 2)), 3)
    >>> bound.radius, round(bound.slack, 2)
    (0.25, 0.11)
    """
    W, X = np.asarray(W, dtype=float), np.asarray(X, dtype=float)
    n = len(X)
    k = int(np.ceil(np.log2(max(float(np.linalg.norm(W)), np.finfo(float).tiny))))
    radius = float(2.0**k)
    position = 2 * abs(k) + (1 if k > 0 else 2)  # the integers, counted 1, 2, 3, ...
    share = delta * 6.0 / (np.pi * position) ** 2
    lengths = np.linalg.norm(X, axis=1)
    complexity = 2.0 * radius * np.sqrt(n_labels * np.sum(lengths**2)) / n
    theta = np.logaddexp(0.0, np.log(max(n_labels - 1, 1)) + np.sqrt(2.0) * radius * lengths.max(initial=0.0))
    return CorrectedBound(float(complexity), float(theta), float(_confidence(theta, share, n)), radius)


def _confidence(theta: float, delta: float, n: int) -> float:
    return float(3.0 * theta * np.sqrt(np.log(2.0 / delta) / (2.0 * n)))
