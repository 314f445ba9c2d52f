"""Problem transformation: single-label examples drawn from label distributions, and their smallest degree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import Array


def draw_labels(D: Array, n_draws: int, rng: Any) -> NDArray[np.int64]:
    """How often each example (row i, label j) is drawn in ``n_draws`` draws with probabilities ``d_ij / n``.

    Drawing a row uniformly and then one of its labels, n_draws times over, gives these counts; a multinomial draw
    gives them at once.

    Parameters
    ----------
    D : ndarray of shape (n, c)
        Rows sum to one.
    n_draws : int
    rng : numpy.random.RandomState or numpy.random.Generator

    Returns
    -------
    counts : ndarray of shape (n, c)

    Examples
    --------
    >>> import numpy as np
    >>> draw_labels(np.array([[1.0, 0.0], [0.5, 0.5]]), 100, np.random.default_rng(0))
    array([[51,  0],
           [28, 21]])
    """
    shares = np.asarray(D, dtype=np.float64).ravel()
    return np.asarray(rng.multinomial(n_draws, shares / shares.sum()).reshape(D.shape))


def clipped(P: Array, baseline: float = 1e-9) -> Array:
    """Distributions whose degrees are raised to at least ``baseline``, then divided by their sums.

    Examples
    --------
    >>> import numpy as np
    >>> clipped(np.array([[1.0, 0.0]]), baseline=0.25)
    array([[0.8, 0.2]])
    """
    raised = np.maximum(P, baseline)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
