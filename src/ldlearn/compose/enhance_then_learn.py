"""EnhanceThenLearn: the two-step baseline as one estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from ldlearn.base import Joint, SampleWeightMixin
from ldlearn.base.sklearn_private import HasMethods
from ldlearn.core.simplex import Array, Mask, SampleWeight
from ldlearn.enhancement import UniformLE
from ldlearn.learning import SABFGS


class EnhanceThenLearn(SampleWeightMixin, Joint):
    """First recover the degrees of the training rows, then train a learner on them.

    The step-wise strategy that joint models compete with, as one estimator: so it can be cloned, searched and
    compared like any other. Weights of rows go to both steps, or to the learner alone if the enhancer takes none;
    labels may be unknown if the enhancer takes that.

    Parameters
    ----------
    enhancer : enhancer or joint model, default=None
        Anything with ``fit_enhance``. None means `UniformLE`.
    learner : learner, default=None
        Anything with ``fit`` on distributions and ``predict``. None means `SABFGS`.

    Attributes
    ----------
    enhancer_, learner_ : the fitted steps
    label_distributions_ : ndarray of shape (n, c)
        What the enhancer recovered.
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: None; the paper runs its enhancers this way, followed by SA-BFGS or LDLSF.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import EnhanceThenLearn, PriorLE, SABFGS
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[1, 0], [1, 1], [1, 1], [0, 1]])
    >>> EnhanceThenLearn(PriorLE(), SABFGS(l2=0.1)).fit(X, Y).predict([[1.5]]).round(3)
    array([[0.5, 0.5]])
    """

    _test_params: ClassVar[tuple[dict[str, Any], ...]] = ({"learner": SABFGS(max_iter=20)},)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "enhancer": [HasMethods("fit_enhance"), None],
        "learner": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(self, enhancer: Any = None, learner: Any = None) -> None:
        self.enhancer = enhancer
        self.learner = learner

    @property
    def _steps(self) -> tuple[Any, Any]:
        return (
            UniformLE() if self.enhancer is None else self.enhancer,
            SABFGS() if self.learner is None else self.learner,
        )

    @property
    def keeps_support(self) -> bool:  # type: ignore[override]
        """As the enhancer does."""
        return bool(getattr(self._steps[0], "keeps_support", False))

    @property
    def order_invariant(self) -> bool:  # type: ignore[override]
        """If both steps are."""
        return all(getattr(step, "order_invariant", True) for step in self._steps)

    @property
    def label_invariant(self) -> bool:  # type: ignore[override]
        """If both steps are."""
        return all(getattr(step, "label_invariant", True) for step in self._steps)

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return all(getattr(step, "_accepts_sparse", False) for step in self._steps)

    @property
    def supports_sample_weight(self) -> bool:  # type: ignore[override]
        """As the learner does."""
        return bool(getattr(self._steps[1], "supports_sample_weight", False))

    @property
    def supports_unknown_labels(self) -> bool:  # type: ignore[override]
        """As the enhancer does."""
        return bool(getattr(self._steps[0], "supports_unknown_labels", False))

    @property
    def weights_repeat_rows(self) -> bool:  # type: ignore[override]
        """If both steps take weights and say so."""
        return all(
            getattr(s, "supports_sample_weight", False) and getattr(s, "weights_repeat_rows", True) for s in self._steps
        )

    def _fit(self, X: Any, Y: Mask, sample_weight: SampleWeight | None = None, known: Mask | None = None) -> None:
        enhancer, learner = self._steps
        self.enhancer_, self.learner_ = clone(enhancer), clone(learner)
        counts = {} if sample_weight is None else {"sample_weight": sample_weight}
        first = counts if getattr(enhancer, "supports_sample_weight", False) else {}
        labels = Y.astype(int) if known is None else np.where(known, Y, np.nan)
        self.label_distributions_ = self.enhancer_.fit(X, labels, **first).label_distributions_
        self.learner_.fit(X, self.label_distributions_, **counts)

    def _predict(self, X: Any) -> Array:
        return np.asarray(self.learner_.predict(X))
