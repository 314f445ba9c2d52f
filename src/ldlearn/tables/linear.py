"""The coefficients of models whose prediction is a softmax of linear scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import softmax

Matrix = NDArray[np.float64]


def linear_softmax(estimator: Any) -> tuple[Matrix, Matrix] | None:
    """Coefficients and intercepts of a fitted estimator, or None if its prediction is no softmax of linear scores.

    Whether it is one is found by trying, so that methods need not be listed.

    Returns
    -------
    coef, intercept : ndarrays of shape (n_labels, n_features) and (n_labels,), or None

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import MeanLDL, SABFGS
    >>> X, D = np.array([[0.0], [1.0], [2.0]]), np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> [array.shape for array in linear_softmax(SABFGS().fit(X, D))]
    [(2, 1), (2,)]
    >>> linear_softmax(MeanLDL().fit(X, D)) is None
    True
    """
    inner = estimator
    # The coefficients may lie within: of the learner of two steps, or of the best of several.
    while inner is not None and not hasattr(inner, "coef_"):
        steps = ("learner_", "estimator_", "best_estimator_")
        inner = next((getattr(inner, step) for step in steps if hasattr(inner, step)), None)
    if inner is None:
        return None
    coef, intercept = np.asarray(inner.coef_, dtype=np.float64), np.asarray(inner.intercept_, dtype=np.float64)
    m, c = int(estimator.n_features_in_), len(estimator.label_names_)
    if coef.shape != (c, m) or intercept.shape != (c,):
        return None
    X = np.random.default_rng(0).normal(size=(8, m))
    same = np.allclose(softmax(X @ coef.T + intercept), estimator.predict(X), rtol=1e-9, atol=1e-12)
    return (coef, intercept) if same else None
