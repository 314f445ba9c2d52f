"""Scikit-learn scorers made from the registry of metrics."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from sklearn.metrics import make_scorer

# Importing these modules fills the registry.
from ldlearn.metrics import against_labels, distributions, labels, ordinal, rankings  # noqa: F401
from ldlearn.metrics.registry import METRICS, get_metric

Scorer: TypeAlias = Any


def get_scorer(name: str, **options: Any) -> Scorer:
    """Return a scikit-learn scorer for estimators whose ``predict`` returns distributions.

    Parameters
    ----------
    name : str
        A key of ``METRICS``, or of ``LABEL_METRICS`` where ``y`` holds 0/1 labels.
    **options
        Keyword arguments of the metric, for example ``convention="pyldl"``.

    Returns
    -------
    callable
        ``scorer(estimator, X, D) -> float``, greater is better: metrics that are better when smaller
        are negated, as in scikit-learn's own ``neg_*`` scorers. It can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from ldlearn.metrics import get_scorer
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> D = np.hstack([X, 1 - X])
    >>> search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, scoring=get_scorer("euclidean"))
    >>> search.fit(X, D).best_params_
    {'alpha': 0.1}
    """
    metric = get_metric(name)
    return make_scorer(metric.function, greater_is_better=metric.greater_is_better, **options)


SCORERS: Mapping[str, Scorer] = MappingProxyType({name: get_scorer(name) for name in METRICS})
