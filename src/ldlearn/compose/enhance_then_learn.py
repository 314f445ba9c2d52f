"""EnhanceThenLearn: the two-step baseline as one estimator."""

from typing import Annotated, Any

from sklearn.base import clone
from sklearn.utils import TargetTags

from ldlearn.base import Capabilities, JointModel, LabelEstimator, VoteCountMixin
from ldlearn.base.parameters import estimator_dataclass
from ldlearn.base.row_data import given_row_data
from ldlearn.base.sklearn_private import HasMethods
from ldlearn.core.simplex import Array, Mask, SampleWeight
from ldlearn.core.targets import join_observed
from ldlearn.enhancement import UniformLE
from ldlearn.learning import SABFGS


@estimator_dataclass
class EnhanceThenLearn(VoteCountMixin, JointModel):
    """First recover the degrees of the training rows, then train a learner on them.

    The step-wise strategy that joint models compete with, as one estimator: so it can be cloned,
    searched and compared like any other. Weights of rows go to both steps, or to the learner alone
    if the enhancer takes none; labels may be unknown, or counts of votes, if the enhancer takes
    that.

    Parameters
    ----------
    enhancer : enhancer or joint model, default=None
        Anything with ``fit_enhance``. None means `UniformLE`.
    learner : learner, default=None
        Anything with ``fit`` on distributions and ``predict``. None means `SABFGS`.

    Attributes
    ----------
    enhancer_, learner_ : the fitted steps
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        What the enhancer recovered.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None; the paper runs its enhancers this way, followed by SA-BFGS or
    LDLSF.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import EnhanceThenLearn, PriorLE, SABFGS
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[1, 0], [1, 1], [1, 1], [0, 1]])
    >>> EnhanceThenLearn(enhancer=PriorLE(), learner=SABFGS(l2=0.1)).fit(X, Y).predict(
    ...     [[1.5]]
    ... ).round(3)
    array([[0.5, 0.5]])
    """

    learned = {
        "enhancer_": "any",
        "learner_": "any",
    }

    can_enhance = False
    _test_params = ({"learner": SABFGS(max_iter=20)},)

    enhancer: Annotated[Any, HasMethods("fit_enhance")] | None = None
    learner: Annotated[Any, HasMethods(["fit", "predict"])] | None = None

    @property
    def _steps(self) -> tuple[Any, Any]:
        enhancer = UniformLE() if self.enhancer is None else self.enhancer
        learner = SABFGS() if self.learner is None else self.learner
        return enhancer, learner

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        enhancer, learner = map(find_capabilities, self._steps)
        tags.input_tags.sparse = enhancer.input_tags.sparse and learner.input_tags.sparse
        tags.input_tags.allow_nan = enhancer.input_tags.allow_nan and learner.input_tags.allow_nan
        tags.order_invariant = enhancer.order_invariant and learner.order_invariant
        tags.label_invariant = enhancer.label_invariant and learner.label_invariant
        # Labels are the enhancer's concern, sample weights above all the learner's.
        tags.unknown_labels = enhancer.unknown_labels
        tags.counts = enhancer.counts
        tags.keeps_zeros = enhancer.keeps_zeros
        tags.sample_weight = learner.sample_weight
        tags.weight_equals_repetition = (
            enhancer.sample_weight
            and learner.sample_weight
            and enhancer.weight_equals_repetition
            and learner.weight_equals_repetition
        )
        return tags

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
    ) -> None:
        if self.__sklearn_tags__().counts:
            self._count_votes(Y, sample_weight)
        self.enhancer_, self.learner_ = map(clone, self._steps)
        weights = given_row_data(sample_weight=sample_weight)
        known = weights if find_capabilities(self.enhancer_).sample_weight else {}
        labels = join_observed(Y, observed)
        self.label_distributions_ = self.enhancer_.fit(X, labels, **known).label_distributions_
        self.learner_.fit(X, self.label_distributions_, **weights)

    def _predict(self, X: Any) -> Array:
        return self.learner_.predict(X)


def find_capabilities(estimator: Any) -> Capabilities:
    """Those of an estimator of this library; of any other nothing but the defaults is known."""
    if isinstance(estimator, LabelEstimator):
        return estimator.__sklearn_tags__()
    return Capabilities(estimator_type=None, target_tags=TargetTags(required=True))
