"""How large the differences are, apart from whether they are significant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ldlearn.evaluation.score_matrix import check_scores
from ldlearn.evaluation.wilcoxon import paired_differences, signed_rank_test


@dataclass(frozen=True)
class Effect:
    """Size of the difference between two methods.

    Attributes
    ----------
    first, second : str
        The two methods; with a control, ``first`` is the control.
    wins, ties, losses : int
        Data sets on which the first is better, equal, worse.
    rank_biserial : float
        Matched-pairs rank-biserial correlation: 1 if the first wins everywhere, 0 if even, -1 if it loses
        everywhere; large differences weigh more than small ones.
    median_advantage : float
        Median over the data sets of the first's advantage, in units of the score; positive if better.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    rank_biserial: float
    median_advantage: float

    def __str__(self) -> str:
        return (
            f"{self.first} - {self.second}: wins {self.wins}, ties {self.ties}, losses {self.losses}, "
            f"rank-biserial {self.rank_biserial:+.3f}, median advantage {self.median_advantage:+.4g}"
        )


def effect_sizes(
    scores: ArrayLike,
    control: str | int | None = None,
    *,
    greater_is_better: bool,
    methods: Sequence[str] | None = None,
) -> tuple[Effect, ...]:
    """Return wins, ties, losses and effect sizes of pairs of methods.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    control : str or int, optional
        Name or column of the method to compare with every other one; by default all pairs are compared.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.

    Returns
    -------
    tuple of Effect

    Examples
    --------
    >>> from ldlearn.evaluation import effect_sizes
    >>> scores = [[0.1, 0.4], [0.3, 0.2], [0.2, 0.2], [0.1, 0.3]]
    >>> print(*effect_sizes(scores, greater_is_better=False, methods=["A", "B"]))
    A - B: wins 2, ties 1, losses 1, rank-biserial +0.667, median advantage +0.1
    """
    table = check_scores(scores, methods)
    sign = 1.0 if greater_is_better else -1.0
    effects = []
    for i, j in table.pairs(control):
        first, second = sign * table.values[:, i], sign * table.values[:, j]
        # Rounded as in the test, so that a tie is the same thing in both.
        advantage = paired_differences(first, second)
        effects.append(
            Effect(
                first=table.methods[i],
                second=table.methods[j],
                wins=int((advantage > 0).sum()),
                ties=int((advantage == 0).sum()),
                losses=int((advantage < 0).sum()),
                rank_biserial=rank_biserial(first, second, greater_is_better=True),
                median_advantage=float(np.median(advantage)),
            )
        )
    return tuple(effects)


def rank_biserial(first: ArrayLike, second: ArrayLike, *, greater_is_better: bool) -> float:
    """Return the matched-pairs rank-biserial correlation of two methods' scores.

    Parameters
    ----------
    first, second : array-like of shape (n_datasets,)
        Scores of the two methods on the same data sets.
    greater_is_better : bool
        Direction of the score.

    Returns
    -------
    float
        (favourable - unfavourable rank sum) / (their sum), equal scores left out; 0 if all are equal.

    Examples
    --------
    >>> from ldlearn.evaluation import rank_biserial
    >>> rank_biserial([0.1, 0.2, 0.3], [0.2, 0.5, 0.25], greater_is_better=False)
    0.6666...
    """
    greater, smaller, _ = signed_rank_test(first, second, zeros="wilcox")
    if greater + smaller == 0:
        return 0.0
    advantage = (greater - smaller) / (greater + smaller)
    return advantage if greater_is_better else -advantage
