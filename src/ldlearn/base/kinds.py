"""The three kinds of estimator: enhancers, learners, and joint models that are both."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ldlearn.base.validation import check_distributions, check_logical, label_names
from ldlearn.core.simplex import Array, normalize_rows
from ldlearn.metrics import intersection

ENHANCER, LEARNER, JOINT = KINDS = ("enhancer", "learner", "joint")


class LabelEstimator(BaseEstimator):
    """What all kinds share: one way to validate, fit and name things.

    A method subclasses `Enhancer`, `Learner` or `Joint` and writes ``_fit(X, T)``, where X is a validated feature
    matrix (float64 or float32; CSR if the class accepts sparse input) and T the validated targets: a boolean array
    of logical labels or a float array of distributions. ``_fit`` sets the learned attributes.
    """

    kind: ClassVar[str]
    _accepts_sparse: ClassVar[bool] = False
    # Parameters under which the method is small and quick; every check is run with each of them.
    _test_params: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    # What the method promises; the contract checks hold it to that.
    order_invariant: ClassVar[bool] = True  # permuting the samples permutes the result
    label_invariant: ClassVar[bool] = True  # permuting the labels permutes the result
    float32_tolerance: ClassVar[float] = 1e-3  # how far float32 input may move the result

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or (where supported) sparse matrix of shape (n, m)
            Features.
        y : array-like or data frame of shape (n, c)
            Targets: logical labels in {0, 1} for enhancers and joint models, label distributions for learners.
            Column names of a data frame are kept in ``label_names_``.

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        try:
            self._validate_params()
            features, targets = self._validate_training(X, y)
            self._fit(features, targets)
            self._finish(features)
        except BaseException:
            # A failed fit leaves the object as it was: never half fitted.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: Any, T: Any) -> None:
        raise NotImplementedError

    def _check_targets(self, y: Any) -> NDArray[Any]:
        raise NotImplementedError

    def _finish(self, X: Any) -> None:
        """Hook after ``_fit``."""

    def _validate_training(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        features = self._validate_features(X, reset=True)
        targets = self._check_targets(y)
        check_consistent_length(features, targets)
        self.label_names_ = label_names(y, targets.shape[1])
        return features, targets

    def _validate_features(self, X: Any, reset: bool = False) -> Any:
        return validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            accept_sparse="csr" if self._accepts_sparse else False,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.sparse = self._accepts_sparse
        return tags


class _TakesLogicalLabels(LabelEstimator):
    """fit gets 0/1 labels, and the degrees of the training rows come back."""

    label_distributions_: Array
    keeps_support: ClassVar[bool] = False  # negative labels get degree 0

    def _check_targets(self, y: Any) -> NDArray[np.bool_]:
        return check_logical(y, getattr(self, "empty_rows", None))

    def _finish(self, X: Any) -> None:
        self.label_distributions_ = self.label_distributions_.astype(X.dtype, copy=False)

    def fit_enhance(self, X: Any, y: Any) -> Array:
        """Fit, and return the recovered label distributions of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like of shape (n, c)
            Logical labels, 0 or 1.

        Returns
        -------
        D : ndarray of shape (n, c)
            ``label_distributions_``.
        """
        return self.fit(X, y).label_distributions_


class _Predicts(LabelEstimator):
    """Predicts distributions for new rows."""

    def predict(self, X: Any) -> Array:
        """Label distributions of new rows.

        Parameters
        ----------
        X : array-like of shape (n, m)

        Returns
        -------
        D : ndarray of shape (n, c)
            Rows are non-negative and sum to one.
        """
        check_is_fitted(self)
        features = self._validate_features(X)
        return np.asarray(self._predict(features), dtype=features.dtype)

    def _predict(self, X: Any) -> Array:
        raise NotImplementedError

    def score(self, X: Any, y: Any) -> float:
        """Mean intersection of ``predict(X)`` with ``y``: 1 is perfect, 0 the worst.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like of shape (n, c)
            True distributions. Logical labels are accepted too and stand for equal shares of the positives.
        """
        return intersection(normalize_rows(np.asarray(y, dtype=float)), self.predict(X))


class Enhancer(_TakesLogicalLabels):
    """Recovers the label distributions of its training rows from logical labels."""

    kind = ENHANCER


class Learner(_Predicts):
    """Learns from label distributions to predict those of new rows."""

    kind = LEARNER

    def _check_targets(self, y: Any) -> NDArray[np.float64]:
        return check_distributions(y)


class Joint(_TakesLogicalLabels, _Predicts):
    """Does both at once: recovers the training rows' distributions and predicts new ones."""

    kind = JOINT
