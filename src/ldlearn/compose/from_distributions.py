"""FromDistributions: the experiment on known distributions, without a leak."""

from numbers import Real
from typing import Annotated, Any, Literal

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import Capabilities, Learner
from ldlearn.base.kinds import weighted_mean
from ldlearn.base.output import wrap_output
from ldlearn.base.parameters import estimator_dataclass
from ldlearn.base.sklearn_private import HasMethods, Interval
from ldlearn.compose.enhance_then_learn import find_capabilities
from ldlearn.core.logical import binarize
from ldlearn.core.simplex import Array
from ldlearn.core.targets import check_distributions, check_matrix
from ldlearn.joint import DLDL
from ldlearn.metrics import per_row


def _can_enhance(estimator: Any) -> bool:
    return hasattr(estimator._inner_estimator, "enhance")


@estimator_dataclass
class FromDistributions(Learner):
    """Fit an estimator on binarised distributions, and score it on the true ones.

    ``fit(X, D)`` turns D into logical labels and fits the inner estimator on those; ``score(X, D)``
    compares with D itself. So scikit-learn's ``GridSearchCV`` and ``cross_validate`` run the
    paper's protocol as they are: nothing but 0/1 labels reaches the model.

    Parameters
    ----------
    estimator : joint model, default=None
        Takes logical labels and predicts distributions. None means `DLDL`.
    threshold : float, default=0.01
        A label is positive iff its degree exceeds this.
    scoring : {"prediction", "recovery"}, default="prediction"
        What ``score`` measures: the intersection of D with ``predict(X)``, or with
        ``enhance(X, binarised D)`` for estimators that have it.

    Attributes
    ----------
    estimator_ : the fitted inner estimator
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        What it recovered for the training rows.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None; this is its protocol.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, cross_validate
    >>> from ldlearn import DLDL, FromDistributions
    >>> from ldlearn.datasets import load_vader_tweets
    >>> tweets = load_vader_tweets()
    >>> result = cross_validate(
    ...     FromDistributions(estimator=DLDL()), tweets.X[:600], tweets.D[:600], cv=3
    ... )
    >>> bool(result["test_score"].mean() > 0.5)
    True

    Hyperparameters selected by true degrees:

    >>> grid = {"estimator__beta": [0.3, 100.0]}
    >>> search = GridSearchCV(FromDistributions(estimator=DLDL(gamma=10.0)), grid, cv=3).fit(
    ...     tweets.X[:300], tweets.D[:300]
    ... )
    >>> search.best_params_
    {'estimator__beta': 0.3}
    """

    learned = {
        "estimator_": "any",
        "label_distributions_": "float (n_samples, n_labels)",
    }

    # The inner estimator recovers the degrees of all rows, also of those that do not count.
    _omits_zero_weights = False
    _test_params = ({"estimator": DLDL(beta=10.0, gamma=1.0)},)

    estimator: Annotated[Any, HasMethods(["fit", "predict"])] | None = None
    threshold: Annotated[float, Interval(Real, 0, 1, closed="left")] = 0.01
    scoring: Literal["prediction", "recovery"] = "prediction"

    @property
    def _inner_estimator(self) -> Any:
        return DLDL() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Capabilities:
        # Those of the inner estimator, but for labels, which are distributions here.
        tags = find_capabilities(self._inner_estimator)
        tags.unknown_labels = False
        tags.counts = False
        tags.keeps_zeros = False
        return tags

    def _fit(self, X: Any, D: Array, **row_data: Any) -> None:
        Y = binarize(D, delta=self.threshold)
        self.estimator_ = clone(self._inner_estimator).fit(X, Y, **row_data)
        if hasattr(self.estimator_, "label_distributions_"):
            self.label_distributions_ = self.estimator_.label_distributions_

    def _predict(self, X: Any) -> Array:
        return self.estimator_.predict(X)

    @available_if(_can_enhance)  # type: ignore[untyped-decorator]
    @wrap_output
    def enhance(self, X: Any, y: Any) -> Array:
        """Degrees of new rows from the logical labels of their distributions ``y``."""
        check_is_fitted(self)
        D = self._match_labels(y, lambda y: check_matrix(y, "label distributions"))
        Y = binarize(D, delta=self.threshold)
        return self.estimator_.enhance(self._validate_features(X), Y)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean intersection of the true distributions ``y`` with those predicted or recovered."""
        if self.scoring == "prediction":
            return super().score(X, y, sample_weight)
        truth = self._match_labels(y, check_distributions)
        return weighted_mean(per_row("intersection", truth, self.enhance(X, y)), sample_weight)
