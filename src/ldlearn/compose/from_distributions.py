"""FromDistributions: the experiment on known distributions, without a leak."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import Learner, SampleWeightMixin, check_distributions
from ldlearn.base.frames import wrap_output
from ldlearn.base.sklearn_private import HasMethods, Interval, StrOptions
from ldlearn.core.logical import binarize
from ldlearn.core.simplex import Array, SampleWeight
from ldlearn.core.targets import check_matrix
from ldlearn.joint import DLDL
from ldlearn.metrics import per_row


def _inner_can_enhance(self: Any) -> bool:
    return bool(self.can_enhance)


class FromDistributions(SampleWeightMixin, Learner):
    """Give an estimator only the binarised labels of true distributions, and let scoring see the truth.

    ``fit(X, D)`` turns D into logical labels and fits the inner estimator on those; ``score(X, D)`` compares with
    D itself. So scikit-learn's ``GridSearchCV`` and ``cross_validate`` run the paper's protocol as they are: nothing
    but 0/1 labels reaches the model.

    Parameters
    ----------
    estimator : joint model, default=None
        Takes logical labels and predicts distributions. None means `DLDL`.
    threshold : float, default=0.01
        A label is positive iff its degree exceeds this.
    scoring : {"prediction", "recovery"}, default="prediction"
        What ``score`` measures: the intersection of D with ``predict(X)``, or with ``enhance(X, binarised D)`` for
        estimators that have it.

    Attributes
    ----------
    estimator_ : the fitted inner estimator
    label_distributions_ : ndarray of shape (n, c)
        What it recovered for the training rows.
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: None; this is its protocol.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from ldlearn import DLDL, FromDistributions
    >>> from ldlearn.datasets import load_vader_tweets
    >>> tweets = load_vader_tweets()
    >>> result = cross_validate(FromDistributions(DLDL()), tweets.X[:600], tweets.D[:600], cv=3)
    >>> bool(result["test_score"].mean() > 0.5)
    True
    """

    _test_params: ClassVar[tuple[dict[str, Any], ...]] = ({"estimator": DLDL(beta=10.0, gamma=1.0)},)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "scoring": [StrOptions({"prediction", "recovery"})],
    }

    def __init__(self, estimator: Any = None, *, threshold: float = 0.01, scoring: str = "prediction") -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.scoring = scoring

    @property
    def _inner(self) -> Any:
        return DLDL() if self.estimator is None else self.estimator

    @property
    def can_enhance(self) -> bool:  # type: ignore[override]
        """As the inner estimator."""
        return hasattr(self._inner, "enhance")

    @property
    def order_invariant(self) -> bool:  # type: ignore[override]
        """As the inner estimator."""
        return bool(getattr(self._inner, "order_invariant", True))

    @property
    def label_invariant(self) -> bool:  # type: ignore[override]
        """As the inner estimator."""
        return bool(getattr(self._inner, "label_invariant", True))

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return bool(getattr(self._inner, "_accepts_sparse", False))

    @property
    def supports_sample_weight(self) -> bool:  # type: ignore[override]
        """As the inner estimator."""
        return bool(getattr(self._inner, "supports_sample_weight", False))

    @property
    def weights_repeat_rows(self) -> bool:  # type: ignore[override]
        """As the inner estimator."""
        return bool(getattr(self._inner, "weights_repeat_rows", True))

    def _fit_validated(self, X: Any, T: Any, row_data: dict[str, Any]) -> None:
        self._fit(X, T, **row_data)  # the inner estimator sees all rows, and says what it recovers of each

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        counts = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self._inner).fit(X, binarize(D, delta=self.threshold), **counts)
        if hasattr(self.estimator_, "label_distributions_"):
            self.label_distributions_ = self.estimator_.label_distributions_

    def _predict(self, X: Any) -> Array:
        return np.asarray(self.estimator_.predict(X))

    @available_if(_inner_can_enhance)  # type: ignore[untyped-decorator]
    @wrap_output
    def enhance(self, X: Any, y: Any) -> Array:
        """Degrees of new rows from the logical labels of their distributions ``y``."""
        check_is_fitted(self)
        D = self._match_labels(y, lambda y: check_matrix(y, "label distributions"))
        Y = binarize(D, delta=self.threshold)
        return np.asarray(self.estimator_.enhance(self._validate_features(X), Y))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean intersection of the true distributions ``y`` with what is predicted, or recovered, for X."""
        if self.scoring == "prediction":
            return super().score(X, y, sample_weight)
        truth = self._match_labels(y, check_distributions)
        return self._mean_over_rows(per_row("intersection", truth, self.enhance(X, y)), sample_weight)
