"""The three kinds of estimator: enhancers, learners, and joint models that are both."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ldlearn.base.estimator import (
    LabelEstimator,
    RowData,
    raise_input_errors,
    validate_sample_weight,
    wrap_output,
)
from ldlearn.core.scaling import random_rows
from ldlearn.core.simplex import Array, Indices, Mask, SampleWeight, log_degrees
from ldlearn.core.targets import (
    check_distributions,
    check_incomplete_distributions,
    check_labels_seen,
    check_logical,
    check_matrix,
    split_observed,
)
from ldlearn.core.votes import label_weights, log_likelihood, profile_log_rate
from ldlearn.exceptions import InputError
from ldlearn.metrics import per_row

ENHANCER, LEARNER, JOINT = KINDS = ("enhancer", "learner", "joint")


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
    """Learns from label distributions to predict those of new rows; a method defines ``_fit`` and
    ``_predict``."""

    kind = LEARNER
    predict = predict

    def _check_targets(self, y: Any) -> Array:
        if self.capabilities().incomplete_degrees:
            return check_incomplete_distributions(y)
        refusal = f"{type(self).__name__} needs every degree: fill it, or use IncomLDL or WInLDL, which do not."
        return check_distributions(y, nan=refusal)

    def _validate_rows(self, X: Any, y: Any, row_data: RowData) -> tuple[Any, Any, RowData]:
        X, D, row_data = super()._validate_rows(X, y, row_data)
        check_labels_seen(self.label_names_, (~np.isnan(D)).sum(axis=0))
        return X, D, row_data

    def _fit_rows(self, X: Any, D: Array, row_data: RowData) -> None:
        super()._fit_rows(*drop_zero_weight_rows(X, D, row_data)[:3])

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
    """Recovers the label distributions of its training rows from logical labels; a method defines
    ``_fit``.

    ``_fit`` also gets rows of sample weight 0, since every row has its degrees recovered.
    """

    learned: ClassVar = {"label_distributions_": "float (n_samples, n_labels)"}

    kind = ENHANCER
    label_distributions_: Array

    def _fit_rows(self, X: Any, Y: Mask, row_data: RowData) -> None:
        super()._fit_rows(X, Y, row_data)
        self.label_distributions_ = self.label_distributions_.astype(X.dtype, copy=False)

    def _validate_rows(self, X: Any, y: Any, row_data: RowData) -> tuple[Any, Any, RowData]:
        X, targets, row_data = super()._validate_rows(X, y, row_data)
        Y, observed = split_observed(targets)
        if observed is not None:
            check_labels_seen(self.label_names_, observed.sum(axis=0))
            row_data["observed"] = observed
        return X, Y, row_data

    def _check_targets(self, y: Any) -> Array:
        refusal = f"{type(self).__name__} needs every label to be 0 or 1: fill it, or use DLDL, which does not."
        return check_logical(y, nan="allow" if self.capabilities().unknown_labels else refusal)

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

    learned: ClassVar = {
        "votes_per_row_": "float",
        "_total_weight": "float",
        "_fitted_rows": "int (n_fitted) | None",  # of n_samples
    }

    kind = JOINT
    can_enhance = True
    votes_per_row_: float
    predict = predict
    _enhance: Callable[..., Array]
    _fitted_rows: Indices | None = None  # training rows whose sample weight is not 0; None if all

    def _fit_rows(self, X: Any, Y: Mask, row_data: RowData) -> None:
        self._fitted_rows = None
        kept_X, kept_Y, kept_data, kept = X, Y, row_data, None
        if hasattr(self, "_enhance"):
            kept_X, kept_Y, kept_data, kept = drop_zero_weight_rows(X, Y, row_data)
        super()._fit_rows(kept_X, kept_Y, kept_data)
        self._fit_votes(kept_X, kept_Y, kept_data.get("observed"), kept_data.get("sample_weight"))
        if kept is not None:
            of_fit = ("sample_weight", "groups")
            others = {name: value[~kept] for name, value in row_data.items() if name not in of_fit}
            D = np.empty(Y.shape, dtype=self.label_distributions_.dtype)
            D[kept], D[~kept] = (
                self.label_distributions_,
                self._enhance(X[~kept], Y[~kept], **others),
            )
            self.label_distributions_, self._fitted_rows = D, np.flatnonzero(kept)

    def _fit_votes(
        self, X: Any, Y: Mask, observed: Mask | None, sample_weight: SampleWeight | None
    ) -> None:
        """Learn the number of votes per row, on some of the rows if they are many."""
        rows = vote_rows(*Y.shape)
        weights = label_weights(sample_weight, observed)
        weights = None if weights is None else weights[rows]
        log_rate = profile_log_rate(log_degrees(self._predict(X[rows])), Y[rows], weights=weights)
        self.votes_per_row_ = float(np.exp(log_rate))
        self._total_weight = float(len(Y) if sample_weight is None else sample_weight.sum())

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
        """Features and labels of rows to enhance, and the mask of observed labels as ``_enhance``
        takes it."""
        check_is_fitted(self)
        features = self._validate_features(X)
        Y, observed = split_observed(self._match_labels(y, self._check_targets))
        with raise_input_errors():
            check_consistent_length(features, Y)
        return features, Y, {} if observed is None else {"observed": observed}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the 0/1 labels ``y`` of a row under ``predict(X)``: greater is
        better, at most 0.

        Label j gets ``votes_per_row_`` times its predicted degree votes on average, and is positive
        when it gets any. Penalties and feature maps can be selected by this score; how even degrees
        should be (DLDL's beta) cannot, since it prefers degrees that are too even. For true degrees
        use `ldlearn.metrics.intersection`.

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


def drop_zero_weight_rows(
    X: Any, T: Any, row_data: RowData
) -> tuple[Any, Any, RowData, Mask | None]:
    """Everything without the rows of sample weight 0, and the mask of the others; None if all are
    kept."""
    sample_weight = row_data.get("sample_weight")
    if sample_weight is None or sample_weight.all():
        return X, T, row_data, None
    kept = sample_weight > 0
    return X[kept], T[kept], {name: value[kept] for name, value in row_data.items()}, kept


def vote_rows(n_samples: int, n_labels: int) -> Indices:
    """The training rows on which the number of votes is learned: some, if they or their labels are
    very many."""
    return random_rows(n_samples, min(2000, max(1, 2 * 10**6 // n_labels)))


def weighted_mean(values: Array, sample_weight: Any) -> float:
    """Mean over rows, each counted as often as its sample weight says."""
    weights = None if sample_weight is None else validate_sample_weight(sample_weight, values)
    return float(np.average(values, weights=weights))


def _check_scored_labels(y: Any) -> Array:
    Y = check_matrix(y, "0/1 labels", nan="allow")
    if not (np.isin(Y, (0.0, 1.0)) | np.isnan(Y)).all():
        advice = "for true degrees D use ldlearn.metrics.intersection(D, model.predict(X))."
        raise InputError(
            f"The score of a joint model compares with 0/1 labels, and y holds other numbers; {advice}"
        )
    return Y
