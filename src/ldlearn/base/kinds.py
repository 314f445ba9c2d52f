"""The three kinds of estimator: enhancers, learners, and joint models that are both."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ldlearn.base.errors import raise_input_errors
from ldlearn.base.estimator import LabelEstimator
from ldlearn.base.output import wrap_output
from ldlearn.base.row_data import RowData, validate_sample_weight
from ldlearn.core.scaling import random_rows
from ldlearn.core.simplex import Array, Indices, Mask, SampleWeight, log_degrees, row_weights
from ldlearn.core.targets import (
    RowTargets,
    check_distributions,
    check_incomplete_distributions,
    check_logical,
    check_matrix,
    split_observed,
)
from ldlearn.core.votes import label_weights, log_likelihood, profile_log_rate
from ldlearn.exceptions import InputError
from ldlearn.metrics import per_row

KINDS = ("enhancer", "learner", "joint")


@wrap_output
def predict(self: LabelEstimator, X: Any) -> Array:
    """Label distributions of new rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    D : ndarray of shape (n_samples, n_labels), or the data frame that `set_output` asks for
        Rows are non-negative and sum to one.
    """
    check_is_fitted(self)
    features = self._validate_features(X)
    return np.asarray(self._predict(features), dtype=features.dtype)


class Learner(LabelEstimator):
    """Learns from label distributions to predict those of new rows.

    A method defines ``_fit`` and ``_predict``.
    """

    kind = "learner"
    _omits_zero_weights = True
    predict = predict

    def _check_targets(self, y: Any) -> Array:
        if self.__sklearn_tags__().incomplete_degrees:
            return check_incomplete_distributions(y)
        advice = "fill it, or use IncomLDL or WInLDL, which do not."
        return check_distributions(y, nan=f"{type(self).__name__} needs every degree: {advice}")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean intersection of ``predict(X)`` with ``y``: 1 is perfect, 0 the worst.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like or data frame of shape (n_samples, n_labels)
            True distributions; the columns of a data frame are matched by name.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts in the mean.
        """
        check_is_fitted(self)
        truth = self._match_labels(y, check_distributions)
        return weighted_mean(per_row("intersection", truth, self.predict(X)), sample_weight)


class Enhancer(LabelEstimator):
    """Recovers the label distributions of its training rows from logical labels.

    A method defines ``_fit``, which also gets rows of sample weight 0, since every row has its
    degrees recovered.
    """

    learned = {"label_distributions_": "float (n_samples, n_labels)"}

    kind = "enhancer"
    label_distributions_: Array

    def _finish_fit(self, X: Any, T: Mask, row_data: RowData) -> None:
        self.label_distributions_ = self.label_distributions_.astype(X.dtype, copy=False)

    def _check_targets(self, y: Any) -> Array:
        if self.__sklearn_tags__().unknown_labels:
            return check_logical(y, nan="allow")
        advice = "fill it, or use DLDL, which does not."
        needed = f"{type(self).__name__} needs every label to be 0 or 1"
        return check_logical(y, nan=f"{needed}: {advice}")

    @wrap_output
    def fit_enhance(self, X: Any, y: Any, **row_data: Any) -> Array:
        """Fit, and return the recovered label distributions of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples, n_labels)
            Logical labels, 0 or 1.
        **row_data
            What else ``fit`` takes, such as ``sample_weight``.

        Returns
        -------
        D : ndarray of shape (n_samples, n_labels), or the data frame that `set_output` asks for
            ``label_distributions_``.
        """
        return self.fit(X, y, **row_data).label_distributions_


class JointModel(Enhancer):
    """Recovers the training rows' distributions and predicts those of new rows.

    A method defines ``_fit``, ``_predict`` and, if it can, ``_enhance(X, Y)``: degrees of new rows
    whose 0/1 labels are known. Rows of sample weight 0 are then left out of the fit, and get their
    degrees from ``_enhance``.

    After ``fit``, ``votes_per_row_`` is the number of votes under which the training labels are
    likeliest if a label is positive when it gets any vote and ``predict`` gives the shares of the
    votes.
    """

    learned = {
        "votes_per_row_": "float",
        "_total_weight": "float",
        "_fitted_rows": "int (n_fitted) | None",  # of n_samples
    }

    kind = "joint"
    can_enhance = True
    predict = predict
    _enhance: Callable[..., Array]
    _fitted_rows: Indices | None = None  # training rows whose sample weight is not 0; None if all

    @property
    def _omits_zero_weights(self) -> bool:  # type: ignore[override]
        return hasattr(self, "_enhance")

    def _finish_fit(self, X: Any, T: Mask, row_data: RowData) -> None:
        """Give degrees to rows of weight 0, and keep what `votes_per_row_` is computed from."""
        weights = row_data.get("sample_weight")
        self._fitted_rows = None
        if weights is not None and self._omits_zero_weights and not weights.all():
            self._add_omitted_rows(X, T, row_data)
            self._fitted_rows = np.flatnonzero(weights)
        self.label_distributions_ = self.label_distributions_.astype(X.dtype, copy=False)
        self._total_weight = float(row_weights(T, weights).sum())
        rows = vote_rows(len(T), T.shape[1])
        if self._fitted_rows is not None:
            rows = self._fitted_rows[vote_rows(len(self._fitted_rows), T.shape[1])]
        labels = RowTargets(T, row_data.get("observed"), weights)
        self._keep_vote_sample(X[rows], *labels.take(rows))

    def _add_omitted_rows(self, X: Any, Y: Mask, row_data: RowData) -> None:
        omitted = row_data["sample_weight"] == 0
        known = {}
        for name in ("observed", "degrees", "n_raters"):
            if name in row_data:
                known[name] = row_data[name][omitted]
        D = np.empty(Y.shape, dtype=self.label_distributions_.dtype)
        D[~omitted] = self.label_distributions_
        D[omitted] = self._enhance(X[omitted], Y[omitted], **known)
        self.label_distributions_ = D

    def _keep_vote_sample(
        self, X: Any, Y: Mask, observed: Mask | None, sample_weight: SampleWeight | None
    ) -> None:
        """Keep predictions and labels of some rows, from which the number of votes follows."""
        self.__dict__.pop("votes_per_row_", None)
        weights = label_weights(sample_weight, observed)
        self._vote_sample = log_degrees(self._predict(X)), Y, weights

    @cached_property
    def votes_per_row_(self) -> float:
        """Votes of a row under which the training labels are likeliest."""
        check_is_fitted(self)
        log_P, Y, weights = self._vote_sample
        return float(np.exp(profile_log_rate(log_P, Y, weights=weights)))

    def __getstate__(self) -> dict[str, Any]:
        state = {**super().__getstate__()}
        if state.pop("_vote_sample", None) is not None:
            state["votes_per_row_"] = self.votes_per_row_
        return state

    @available_if(lambda self: self.can_enhance)  # type: ignore[untyped-decorator]
    def enhance(self, X: Any, y: Any) -> Array:
        """Degrees of new rows whose logical labels are known.

        New rows do not influence each other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like or data frame of shape (n_samples, n_labels)
            Logical labels of these rows; the columns of a data frame are matched by name.

        Returns
        -------
        D : ndarray of shape (n_samples, n_labels), or the data frame that `set_output` asks for
        """
        return self._enhance_rows(X, y)

    @wrap_output
    def _enhance_rows(self, X: Any, y: Any, **row_data: Any) -> Array:
        features, Y, labels = self._validate_new_rows(X, y)
        return np.asarray(self._enhance(features, Y, **labels, **row_data), dtype=features.dtype)

    def _validate_new_rows(self, X: Any, y: Any) -> tuple[Any, Mask, RowData]:
        """Features, labels and mask of observed labels of rows to enhance, as for ``_enhance``."""
        check_is_fitted(self)
        features = self._validate_features(X)
        Y, observed = split_observed(self._match_labels(y, self._check_targets))
        with raise_input_errors():
            check_consistent_length(features, Y)
        return features, Y, {} if observed is None else {"observed": observed}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the 0/1 labels ``y`` of a row under ``predict(X)``.

        Greater is better; it is at most 0. Label j gets ``votes_per_row_`` times its predicted
        degree votes on average, and is positive when it gets any. Penalties and feature maps can be
        selected by this score; how even degrees should be (DLDL's beta) cannot, since it prefers
        degrees that are too even. For true degrees use `ldlearn.metrics.intersection`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like or data frame of shape (n_samples, n_labels)
            Logical labels; the columns of a data frame are matched by name. Labels that are unknown
            (NaN) do not count, whatever the method was fitted to.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts in the mean.
        """
        check_is_fitted(self)
        Y, observed = split_observed(self._match_labels(y, _check_scored_labels))
        predicted = self.predict(X)
        with raise_input_errors():
            check_consistent_length(predicted, Y)
        log_votes = log_degrees(predicted) + np.log(self.votes_per_row_)
        values = log_likelihood(log_votes, Y, n_seen=self._total_weight, observed=observed)
        return weighted_mean(values, sample_weight)


def vote_rows(n_samples: int, n_labels: int) -> Indices:
    """The training rows on which the number of votes is learned.

    Some of them, if they or their labels are very many.
    """
    return random_rows(n_samples, min(2000, max(1, 2 * 10**6 // n_labels)))


def weighted_mean(values: Array, sample_weight: Any) -> float:
    """Mean over rows, each counted as often as its sample weight says."""
    if sample_weight is not None:
        sample_weight = validate_sample_weight(sample_weight, values)
    return float(np.average(values, weights=sample_weight))


def _check_scored_labels(y: Any) -> Array:
    Y = check_matrix(y, "0/1 labels", nan="allow")
    if not (np.isin(Y, (0.0, 1.0)) | np.isnan(Y)).all():
        advice = "for true degrees D use ldlearn.metrics.intersection(D, model.predict(X))."
        problem = "The score of a joint model compares with 0/1 labels, and y holds other numbers"
        raise InputError(f"{problem}; {advice}")
    return Y
