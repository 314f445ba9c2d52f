"""Bayesian signed-rank test: probabilities that a method is better, equivalent or worse."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ldlearn.core.simplex import Array
from ldlearn.evaluation.pairwise_tests import Control
from ldlearn.evaluation.ranking import Names, check_scores
from ldlearn.exceptions import InputError

__all__ = ["bayesian_signed_rank", "BayesianComparison"]


@dataclass(frozen=True)
class BayesianComparison:
    """Posterior probabilities of a pair of methods; they sum to 1.

    Attributes
    ----------
    first, second : str
        The two methods; with a control, ``first`` is the control.
    better, equivalent, worse : float
        Probabilities that the first is better, that both are practically equivalent, and that the
        first is worse.
    """

    first: str
    second: str
    better: float
    equivalent: float
    worse: float

    def __str__(self) -> str:
        return (
            f"{self.first} - {self.second}: better {self.better:.3f}, "
            f"equivalent {self.equivalent:.3f}, worse {self.worse:.3f}"
        )


def bayesian_signed_rank(
    scores: ArrayLike,
    control: Control = None,
    *,
    greater_is_better: bool,
    methods: Names = None,
    rope: float = 0.01,
    prior: float = 0.5,
    n_draws: int = 50_000,
    random_state: Any = 0,
) -> tuple[BayesianComparison, ...]:
    r"""Compare pairs of methods with a region of practical equivalence.

    Unlike a p-value, the result says how probable it is that a method is better, and can also show
    that two methods are practically equivalent. With differences :math:`z_1, \dots, z_N` in favour
    of the first method and a prior observation :math:`z_0 = 0` of weight `prior`, the posterior of
    the distribution of differences is a Dirichlet process:
    :math:`w \sim \mathrm{Dir}(\text{prior}, 1, \dots, 1)`. A draw of w gives

    .. math::

        \theta_\text{better} = \sum_{i, j} w_i w_j [z_i + z_j > 2r], \quad
        \theta_\text{worse} = \sum_{i, j} w_i w_j [z_i + z_j < -2r], \quad
        \theta_\text{equivalent} = 1 - \theta_\text{better} - \theta_\text{worse},

    and each probability is the fraction of draws in which its :math:`\theta` is the largest.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    control : str or int, optional
        Name or column of the method to compare with every other one; by default all pairs are
        compared.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.
    rope : float, default=0.01
        The region of practical equivalence: differences of the score up to this r do not matter.
    prior : float, default=0.5
        Weight of the prior observation, which says that the methods are equivalent; a data set has
        weight 1.
    n_draws : int, default=50_000
        Draws of w: the probabilities have a standard error of at most 0.0023.
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    tuple of BayesianComparison

    References
    ----------
    A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a Change: a Tutorial for Comparing
    Multiple Classifiers Through Bayesian Analysis", Journal of Machine Learning Research 18, 2017.

    Examples
    --------
    >>> from ldlearn.evaluation import bayesian_signed_rank
    >>> scores = [[0.85, 0.80], [0.71, 0.70], [0.64, 0.60], [0.90, 0.88], [0.55, 0.50]]
    >>> print(*bayesian_signed_rank(scores, greater_is_better=True, methods=["A", "B"]))
    A - B: better 0.974, equivalent 0.026, worse 0.000
    """
    if rope < 0 or prior <= 0 or n_draws < 1:
        raise InputError(
            "rope must not be negative, prior and n_draws positive, "
            f"got {rope}, {prior} and {n_draws}."
        )
    table = check_scores(scores, greater_is_better, methods)
    concentrations = np.append(np.ones(len(table.values)), prior)
    weights = check_random_state(random_state).dirichlet(concentrations, size=n_draws)
    found = []
    for i, j in table.pairs(control):
        z = np.append(table.costs[:, j] - table.costs[:, i], 0.0)
        largest = _fractions_largest(weights, z, rope)
        found.append(BayesianComparison(table.methods[i], table.methods[j], *largest))
    return tuple(found)


def _fractions_largest(weights: Array, z: Array, rope: float) -> list[float]:
    """Fraction of draws in which each of the three thetas is the largest; ties share a draw."""
    sums = np.add.outer(z, z)
    # equal up to rounding is inside the region
    width = 2 * rope + 1e-12
    better = ((weights @ (sums > width)) * weights).sum(axis=1)
    worse = ((weights @ (sums < -width)) * weights).sum(axis=1)
    theta = np.column_stack([better, 1.0 - better - worse, worse])
    first = theta == theta.max(axis=1, keepdims=True)
    return (first / first.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
