"""From real scores to label distributions: the output maps of the literature."""

from __future__ import annotations

from ldlearn.core.simplex import Array, normalize_rows, softmax
from ldlearn.exceptions import InputError

OUTPUT_MAPS = ("softmax", "l1", "shift_l1")


def to_distributions(F: Array, normalize: str) -> Array:
    """Rows of scores as rows that sum to one.

    Parameters
    ----------
    F : ndarray of shape (n, c)
    normalize : {"softmax", "l1", "shift_l1"}
        * ``"softmax"``: exponentials over their sum. Scores in [0, 1] then differ by a factor of e at most.
        * ``"l1"``: positive parts over their sum.
        * ``"shift_l1"``: the smallest score of the row is moved to 0 first.

        A row without mass becomes uniform.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.array([[3.0, 1.0, -1.0]])
    >>> to_distributions(F, "l1")
    array([[0.75, 0.25, 0.  ]])
    >>> to_distributions(F, "shift_l1").round(3)
    array([[0.667, 0.333, 0.   ]])
    >>> to_distributions(F, "softmax").round(3)
    array([[0.867, 0.117, 0.016]])
    """
    if normalize == "softmax":
        return softmax(F)
    if normalize == "l1":
        return normalize_rows(F.clip(min=0.0))
    if normalize == "shift_l1":
        return normalize_rows(F, shift=True)
    raise InputError(f"normalize must be one of {', '.join(OUTPUT_MAPS)}, got {normalize!r}.")
