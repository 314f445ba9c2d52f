"""The floors of recovery: what 0/1 labels alone give, without looking at a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.base import Enhancer
from ldlearn.core.simplex import normalize_rows, project_simplex


class UniformLE(Enhancer):
    r"""Equal shares for the positive labels: ``d_i = y_i / |y_i|``.

    A floor: no feature is looked at. It beats several published methods, so it belongs in every table.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n, c)
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> UniformLE().fit_enhance([[0.0], [1.0]], [[1, 1, 0], [0, 0, 1]])
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    is_floor = True
    keeps_support = True
    _accepts_sparse = True

    def _fit(self, X: Any, Y: NDArray[np.bool_]) -> None:
        self.label_distributions_ = normalize_rows(Y.astype(float))


class PriorLE(Enhancer):
    r"""The class prior on the positive labels: ``d_i`` proportional to ``y_i * prior``.

    The prior is the column mean of ``Y / |Y|``. A floor: no feature is looked at. DLDL with an intercept,
    beta = 0 and gamma to infinity gives this after one iteration.

    Attributes
    ----------
    prior_ : ndarray of shape (c,)
    label_distributions_ : ndarray of shape (n, c)
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> PriorLE().fit_enhance([[0.0], [1.0], [2.0]], [[1, 1], [1, 0], [1, 0]]).round(3)
    array([[0.833, 0.167],
           [1.   , 0.   ],
           [1.   , 0.   ]])
    """

    is_floor = True
    keeps_support = True
    _accepts_sparse = True

    def _fit(self, X: Any, Y: NDArray[np.bool_]) -> None:
        self.prior_ = normalize_rows(Y.astype(float)).mean(axis=0)
        self.label_distributions_ = normalize_rows(Y * self.prior_)


class ProjectedPriorLE(Enhancer):
    r"""Label frequencies projected onto the simplex of each row's positive labels.

    ``d_i = argmin |d - frequencies|`` over distributions on the support of ``y_i``. A floor: no feature is
    looked at. It is what the released code of the DLDL paper computes to within its own noise.

    Attributes
    ----------
    frequencies_ : ndarray of shape (c,)
        Column means of Y.
    label_distributions_ : ndarray of shape (n, c)
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> ProjectedPriorLE().fit_enhance([[0.0], [1.0]], [[1, 1], [1, 0]])
    array([[0.75, 0.25],
           [1.  , 0.  ]])
    """

    is_floor = True
    keeps_support = True
    _accepts_sparse = True

    def _fit(self, X: Any, Y: NDArray[np.bool_]) -> None:
        self.frequencies_ = Y.mean(axis=0)
        self.label_distributions_ = project_simplex(np.broadcast_to(self.frequencies_, Y.shape), Y)
