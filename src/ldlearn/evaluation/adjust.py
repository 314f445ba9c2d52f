"""p-values adjusted for the number of comparisons."""

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ldlearn.evaluation.score_matrix import FloatArray
from ldlearn.exceptions import InputError

Adjustment: TypeAlias = Literal["bonferroni", "holm", "hochberg"]


def adjust_p_values(p_values: ArrayLike, method: Adjustment = "holm") -> FloatArray:
    """Adjust p-values so that each can be compared with the level of the whole family.

    Parameters
    ----------
    p_values : array-like of shape (m,)
        Raw p-values.
    method : {"bonferroni", "holm", "hochberg"}
        Bonferroni multiplies by m; Holm (step-down, always valid and never weaker) and Hochberg (step-up,
        for independent or positively dependent tests) multiply the i-th smallest by m - i + 1.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> from ldlearn.evaluation import adjust_p_values
    >>> adjust_p_values([0.01, 0.04, 0.03], "holm")
    array([0.03, 0.06, 0.06])
    >>> adjust_p_values([0.01, 0.04, 0.03], "hochberg")
    array([0.03, 0.04, 0.04])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError(f"p_values must be a list of numbers between 0 and 1, got {p_values!r}.")
    if method == "bonferroni":
        return np.minimum(1.0, p.size * p)
    if method not in get_args(Adjustment):
        raise InputError(f"method must be one of {', '.join(get_args(Adjustment))}, got {method!r}.")
    order = np.argsort(p)
    steps = p[order] * np.arange(p.size, 0, -1)
    # An adjusted p-value must not fall below that of a smaller raw one (step-down), nor exceed that of a larger one
    # (step-up), or the order of the tests would change.
    step_up = np.minimum.accumulate(steps[::-1])[::-1]
    step_down = np.maximum.accumulate(steps)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, step_down if method == "holm" else step_up)
    return adjusted
