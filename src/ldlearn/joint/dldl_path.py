"""DLDL over a grid of weights, with the work that the fits share done once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.base import clone

from ldlearn.core.graph import laplacian
from ldlearn.joint.dldl import DLDL
from ldlearn.joint.dldl_defaults import default_gamma
from ldlearn.solvers.softmax_regression import Features, SoftmaxFit, softmax_regression


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

    The k-NN graph, the feature map and the factorisation of the features are made once, and the first W-step, which
    depends on gamma alone, once for each gamma. The models are those of separate fits up to the accuracy ``tol`` of
    their steps.

    Parameters
    ----------
    X : array-like of shape (n, m)
    y : array-like of shape (n, c)
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
    >>> for model in dldl_path(tweets.X[:200], binarize(tweets.D[:200]), beta=[0.1, 1.0], gamma=[1.0]):
    ...     print(model.beta_, model.gamma_, model.label_distributions_.shape)
    0.1 1.0 (200, 9)
    1.0 1.0 (200, 9)
    """
    alphas, betas = list(alpha), list(beta)
    # The graph is made if any point of the grid needs it.
    shared = DLDL(alpha=max(alphas, default=0.0), **params)
    shared._validate_params()
    features_in, Y = shared._validate_training(X, y)
    shared._fit_graph(features_in)
    G = None if shared.graph_ is None else laplacian(shared.graph_)
    features = Features(shared._fit_feature_map(features_in), shared.fit_intercept)
    D = shared._initial_distributions(features_in, Y)
    for g in gamma:
        first: SoftmaxFit | None = None
        for a in alphas:
            for b in betas:
                model = clone(shared).set_params(alpha=a, beta=b, gamma=g)
                model._validate_params()
                _share(model, shared)
                if first is None:
                    l2 = default_gamma(features) if g is None else g
                    first = softmax_regression(features, D, l2=l2, tol=model.tol)
                model._solve(features_in, Y, G if a > 0 else None, features, first)
                model._finish(features_in)
                yield model


def _share(model: DLDL, shared: DLDL) -> None:
    """Give the model what was learned for all: names, feature map and (if alpha > 0) the graph."""
    for name in ("n_features_in_", "feature_names_in_", "label_names_", "feature_map_"):
        if hasattr(shared, name):
            setattr(model, name, getattr(shared, name))
    with_graph = model.alpha > 0
    model.graph_ = shared.graph_ if with_graph else None
    model.sigma_ = shared.sigma_ if with_graph else None
    model._index = shared._index if with_graph else None
