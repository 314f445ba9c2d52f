"""Distributions from scores of pairs of labels: Platt's sigmoid and pairwise coupling."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from ldlearn.core.simplex import Array, normalize_rows


def platt_sigmoid(decisions: Array, positive: Array, negative: Array) -> tuple[float, float]:
    r"""Slope A and offset B of ``P(+ | f) = 1 / (1 + exp(A f + B))``.

    They maximise a regularised likelihood: the targets are :math:`(N_+ + 1) / (N_+ + 2)` for
    positive and :math:`1 / (N_- + 2)` for negative examples, so that separable scores do not make A
    infinite.

    Parameters
    ----------
    decisions : ndarray of shape (k,)
        Scores f.
    positive, negative : ndarray of shape (k,)
        Numbers of positive and of negative examples with that score.

    References
    ----------
    H.-T. Lin, C.-J. Lin, R. C. Weng, "A note on Platt's probabilistic outputs for support vector
    machines", 2007.

    Examples
    --------
    >>> import numpy as np
    >>> A, B = platt_sigmoid(np.array([-1.0, 1.0]), np.array([0, 8]), np.array([8, 0]))
    >>> print(round(1 / (1 + np.exp(A + B)), 6))  # the target 9 / 10
    0.9
    """
    n_positive = positive.sum()
    n_negative = negative.sum()
    mass_of_positive = positive * (n_positive + 1.0) / (n_positive + 2.0)
    mass = mass_of_positive + negative / (n_negative + 2.0)
    # An example with a target between 0 and 1 is a positive and a negative one with fractional
    # weights.
    scores = np.tile(decisions, 2)[:, None]
    sides = np.repeat([True, False], len(decisions))
    weights = np.append(mass, positive + negative - mass)
    fit = LogisticRegression(C=np.inf, tol=1e-8)
    fit.fit(scores, sides, sample_weight=weights)
    return -float(fit.coef_.item()), -float(fit.intercept_.item())


def couple_pairs(R: Array) -> Array:
    r"""Distributions that best fit pairwise probabilities (Wu, Lin and Weng's second method).

    .. math:: \min_p \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2, \qquad \sum_i p_i = 1

    The minimiser is non-negative by itself: ``[[Q, 1], [1', 0]] [p; b] = [0; 1]`` with
    :math:`Q_{tt} = \sum_{j \ne t} r_{jt}^2` and :math:`Q_{tj} = -r_{jt} r_{tj}`.

    Parameters
    ----------
    R : ndarray of shape (n, c, c)
        ``R[:, i, j]`` is the probability of label i given that it is i or j, strictly between 0 and
        1; ``R[:, j, i] = 1 - R[:, i, j]``. The diagonal is ignored.

    Returns
    -------
    P : ndarray of shape (n, c)

    References
    ----------
    T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification by
    pairwise coupling", JMLR 5, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> couple_pairs((p[:, None] / (p[:, None] + p))[None])
    array([[0.5, 0.3, 0.2]])
    """
    n, c, _ = R.shape
    diagonal = np.arange(c)
    R = R.copy()
    R[:, diagonal, diagonal] = 0.0
    Q = -R * R.transpose(0, 2, 1)
    Q[:, diagonal, diagonal] = np.square(R).sum(axis=1)
    # With 1'p = 1 the system reads (Q + 11') p = (1 - b) 1: positive definite, and its scale drops
    # out.
    ones = np.ones((n, c, 1))
    P = np.linalg.solve(Q + 1.0, ones)[:, :, 0]
    return normalize_rows(np.maximum(P, 0.0))
