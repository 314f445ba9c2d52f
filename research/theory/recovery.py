"""Theorem 3 of the DLDL paper: when a graph alone could recover distributions, and with what
error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RecoveryConditions:
    """What Theorem 3 assumes, measured on a graph. Diagnostic only: its premises rarely hold."""

    strong_share: float  # p1: rows with a single positive label
    small_ratio_share: float  # p2: weak rows whose weak/strong neighbour ratio is at most tau
    weight_to_strong: NDArray[np.float64]  # sum of k over the strong neighbours of each weak row
    ratio: NDArray[np.float64]  # epsilon of each weak row; inf without a strong neighbour
    penalty: float  # lambda = beta / alpha


def recovery_conditions(
    y: Any, graph: Any, *, alpha: float = 1.0, beta: float = 1.0, tau: float = 0.1
) -> RecoveryConditions:
    """Measure the premises of Theorem 3 for logical labels and a similarity graph.

    A row is strong if it has a single positive label. For a weak row, k_j is its total similarity
    to the strong rows of label j and epsilon the ratio of its similarity to weak rows over that to
    strong rows.

    Parameters
    ----------
    y : array-like of shape (n, c)
        Logical labels.
    graph : sparse array of shape (n, n)
        Similarities, e.g. ``DLDL.graph_``.
    alpha, beta : float
        Weights of the graph term and of ``|D|^2``.
    tau : float, default=0.1
        What counts as a small ratio.
    """
    Y = np.asarray(y, dtype=bool)
    strong = Y.sum(axis=1) == 1
    to_strong = np.asarray(graph @ strong.astype(float))[~strong]
    to_weak = np.asarray(graph @ (~strong).astype(float))[~strong]
    ratio = np.divide(to_weak, to_strong, out=np.full(len(to_weak), np.inf), where=to_strong > 0)
    small = float(np.mean(ratio <= tau)) if len(ratio) else 0.0
    penalty = beta / alpha if alpha > 0 else float("inf")
    return RecoveryConditions(float(strong.mean()), small, to_strong, ratio, penalty)


def row_minimiser(k: Any, penalty: float) -> NDArray[np.float64]:
    """The d on the simplex that minimises ``sum_j k_j |d - e_j|^2 + penalty |d|^2``.

    That is ``(k_j + penalty / s) / (sum k + penalty)`` for s labels: between the neighbours'
    average ``k / sum k`` and equal shares. The paper leaves the constraint out and gets rows that
    do not sum to one.

    Examples
    --------
    >>> row_minimiser([9.0, 1.0], penalty=10.0)
    array([0.7, 0.3])
    """
    k = np.asarray(k, dtype=float)
    return np.asarray((k + penalty / len(k)) / (k.sum() + penalty))


def row_error(k: Any, penalty: float) -> NDArray[np.float64]:
    """``|d_j - k_j / sum k|`` of `row_minimiser`: ``penalty / (sum k + penalty) |k_j / sum k - 1 /
    s|``.

    The printed bound decreases in the penalty and is 0 here; this error increases with it.

    Examples
    --------
    >>> row_error([9.0, 1.0], penalty=10.0)
    array([0.2, 0.2])
    """
    k = np.asarray(k, dtype=float)
    total = k.sum()
    return np.asarray(penalty / (total + penalty) * np.abs(k / total - 1.0 / len(k)))
