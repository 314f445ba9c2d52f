"""A grid of DLDL models that share work."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from ldlearn.joint.dldl import DLDL


def dldl_path(
    X: Any,
    y: Any,
    *,
    alpha: Iterable[float] = (0.0,),
    beta: Iterable[float | None] = (None,),
    gamma: Iterable[float | None] = (None,),
    **params: Any,
) -> Iterator[DLDL]:
    """Fitted models for every combination of alpha, beta and gamma.

    The grid as points for `DLDL.fit_path`, which says what is shared.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples, n_labels)
        Logical labels.
    alpha, beta, gamma : iterables of float
        The grid, gamma varying slowest and beta fastest.
    **params
        The other parameters of `DLDL`.

    Yields
    ------
    DLDL
        Fitted, one for each point of the grid.

    Examples
    --------
    >>> from ldlearn.core import binarize
    >>> from ldlearn.datasets import load_vader_tweets
    >>> from ldlearn.joint import dldl_path
    >>> tweets = load_vader_tweets()
    >>> for model in dldl_path(
    ...     tweets.X[:200], binarize(tweets.D[:200]), beta=[0.1, 1.0], gamma=[1.0]
    ... ):
    ...     print(model.beta_, model.gamma_, model.label_distributions_.shape)
    0.1 1.0 (200, 9)
    1.0 1.0 (200, 9)
    """
    points = ({"alpha": a, "beta": b, "gamma": g} for g, a, b in product(gamma, alpha, beta))
    yield from DLDL(**params).fit_path(X, y, points)
