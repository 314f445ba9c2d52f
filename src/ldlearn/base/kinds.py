"""The three kinds of estimator: enhancers, learners, and joint models that are both."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ldlearn.base.estimator import LabelEstimator, RowData, drop_zero_weight_rows, raise_input_errors
from ldlearn.base.frames import wrap_output
from ldlearn.core.simplex import Array
from ldlearn.core.targets import check_distributions, check_labels_seen, check_logical, check_matrix, split_observed
from ldlearn.core.votes import label_counts, log_likelihood, profile_log_rate
from ldlearn.metrics import per_row

RATE_ROWS = 2000  # training rows that the number of votes is learned on
_RATE_ENTRIES = 2 * 10**6  # labels of them, where there are very many
ENHANCER, LEARNER, JOINT = KINDS = ("enhancer", "learner", "joint")


class _TakesLogicalLabels(LabelEstimator):
    """fit gets 0/1 labels, and the degrees of the training rows come back."""

    label_distributions_: Array
    keeps_support: ClassVar[bool] = False  # negative labels get degree 0

    def _check_targets(self, y: Any) -> NDArray[Any]:
        refusal = f"{type(self).__name__} needs every label to be 0 or 1: fill it, or use DLDL, which does not."
        return check_logical(y, nan="allow" if self.supports_unknown_labels else refusal)

    def _fit_validated(self, X: Any, T: NDArray[Any], row_data: RowData) -> None:
        T, known = split_observed(T)
        if known is not None:
            row_data = row_data | {"known": known}
            check_labels_seen(self.label_names_, known.sum(axis=0))
        self._recover(X, T, row_data)

    def _recover(self, X: Any, Y: NDArray[np.bool_], row_data: RowData) -> None:
        """Every row gets degrees, so none is left out: a method sees weights of 0 unless it `SetsRowsAside`."""
        self._fit(X, Y, **row_data)
        self._finish(X, Y, **row_data)

    def _finish(self, X: Any, T: Any, **row_data: Any) -> None:
        self.label_distributions_ = self.label_distributions_.astype(X.dtype, copy=False)

    @wrap_output
    def fit_enhance(self, X: Any, y: Any, **row_data: Any) -> Array:
        """Fit, and return the recovered label distributions of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like of shape (n, c)
            Logical labels, 0 or 1.
        **row_data
            What else ``fit`` takes, such as ``sample_weight``.

        Returns
        -------
        D : ndarray of shape (n, c), or the data frame that `set_output` asks for
            ``label_distributions_``.
        """
        return self.fit(X, y, **row_data).label_distributions_


class _Predicts(LabelEstimator):
    """Predicts distributions for new rows."""

    @wrap_output
    def predict(self, X: Any) -> Array:
        """Label distributions of new rows.

        Parameters
        ----------
        X : array-like of shape (n, m)

        Returns
        -------
        D : ndarray of shape (n, c), or the data frame that `set_output` asks for
            Rows are non-negative and sum to one.
        """
        check_is_fitted(self)
        features = self._validate_features(X)
        return np.asarray(self._predict(features), dtype=features.dtype)

    def _predict(self, X: Any) -> Array:
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean intersection of ``predict(X)`` with ``y``: 1 is perfect, 0 the worst.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like or data frame of shape (n, c)
            True distributions; the columns of a data frame are matched by name.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts in the mean.
        """
        check_is_fitted(self)
        truth = self._match_labels(y, check_distributions)
        return self._mean_over_rows(per_row("intersection", truth, self.predict(X)), sample_weight)

    def _mean_over_rows(self, values: NDArray[np.float64], sample_weight: Any) -> float:
        """Over rows, each as often as it counts."""
        weights = None if sample_weight is None else self._check_row_data("sample_weight", sample_weight, values)
        return float(np.average(values, weights=weights))


class SetsRowsAside(_TakesLogicalLabels):
    """Rows of weight 0 take no part in the fit, not even as neighbours.

    Their degrees come from ``_enhance(X, Y)``, which a method writes, as those of any new row with known labels would.
    """

    _rows_kept: NDArray[np.intp] | None = None  # training rows whose weight was not 0; None if all

    def _recover(self, X: Any, Y: NDArray[np.bool_], row_data: RowData) -> None:
        fitted_X, fitted_Y, fitted_data, kept = drop_zero_weight_rows(X, Y, row_data)
        self.__dict__.pop("_rows_kept", None)
        super()._recover(fitted_X, fitted_Y, fitted_data)
        if kept is not None:
            rest = {name: value[~kept] for name, value in row_data.items() if name != "sample_weight"}
            D = np.empty(Y.shape, dtype=self.label_distributions_.dtype)
            D[kept], D[~kept] = self.label_distributions_, self._enhance(X[~kept], Y[~kept], **rest)
            self.label_distributions_, self._rows_kept = D, np.flatnonzero(kept)

    def _enhance(self, *rows: Any, **row_data: Any) -> Array:
        raise NotImplementedError


class EnhancesNewRows(SetsRowsAside):
    """Also recovers the degrees of new rows whose 0/1 labels are known; a method writes ``_enhance(X, Y)``."""

    can_enhance = True

    def enhance(self, X: Any, y: Any) -> Array:
        """Degrees of new rows whose logical labels are known.

        New rows do not influence each other.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like or data frame of shape (n, c)
            Logical labels of these rows; the columns of a data frame are matched by name.

        Returns
        -------
        D : ndarray of shape (n, c), or the data frame that `set_output` asks for
        """
        return self._enhance_rows(X, y)

    @wrap_output
    def _enhance_rows(self, X: Any, y: Any, **row_data: Any) -> Array:
        features, Y, known = self._validate_new_rows(X, y)
        given = row_data if known is None else row_data | {"known": known}
        return np.asarray(self._enhance(features, Y, **given), dtype=features.dtype)

    def _validate_new_rows(self, X: Any, y: Any) -> tuple[Any, NDArray[np.bool_], NDArray[np.bool_] | None]:
        """Features, labels, and where labels are known, of rows to enhance."""
        check_is_fitted(self)
        features = self._validate_features(X)
        Y, known = split_observed(self._match_labels(y, self._check_targets))
        with raise_input_errors():
            check_consistent_length(features, Y)
        return features, Y, known


class Enhancer(_TakesLogicalLabels):
    """Recovers the label distributions of its training rows from logical labels."""

    kind = ENHANCER


class Learner(_Predicts):
    """Learns from label distributions to predict those of new rows."""

    kind = LEARNER

    def _check_targets(self, y: Any) -> NDArray[np.float64]:
        return check_distributions(y)


class Joint(_TakesLogicalLabels, _Predicts):
    """Does both at once: recovers the training rows' distributions and predicts new ones.

    After ``fit``, ``votes_per_row_`` is the number of votes under which the training labels are likeliest if a label
    is ticked when it gets any and ``predict`` gives the shares.
    """

    kind = JOINT
    votes_per_row_: float

    def _finish(self, X: Any, T: Any, **row_data: Any) -> None:
        super()._finish(X, T, **row_data)
        weights, known = row_data.get("sample_weight"), row_data.get("known")
        counts = label_counts(weights, known)
        rows = min(RATE_ROWS, max(1, _RATE_ENTRIES // T.shape[1]))
        some = slice(None, None, -(-X.shape[0] // rows))
        logP = _log(self._predict(X[some]))
        log_rate = profile_log_rate(logP, T[some], counts=None if counts is None else counts[some])
        self.votes_per_row_ = float(np.exp(log_rate))
        self._n_seen = X.shape[0] if weights is None else float(weights.sum())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How well ``predict(X)`` fits ``y``: degrees by the intersection, 0/1 labels by their likelihood.

        0/1 labels have no degrees to compare with, and equal shares of them would be the wrong answer. Their score
        is the mean log-likelihood of a row if label j gets ``votes_per_row_`` times its predicted degree votes on
        average and is ticked when it gets any. Greater is better; at most 0. Penalties and feature maps can be chosen
        by it; how even degrees should be (DLDL's beta) cannot, since it prefers degrees that are too even.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like or data frame of shape (n, c)
            Logical labels, or true distributions; the columns of a data frame are matched by name. A matrix of zeros
            and ones holds logical labels even if each row has a single one, since that is what the model was fitted to.
            Labels that are unknown (NaN) do not count, whatever the method was fitted to.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts in the mean.
        """
        check_is_fitted(self)
        truth = self._match_labels(y, lambda y: check_matrix(y, "0/1 labels or label distributions", nan="allow"))
        predicted = self.predict(X)
        with raise_input_errors():
            check_consistent_length(predicted, truth)
        if not (np.isin(truth, (0.0, 1.0)) | np.isnan(truth)).all():
            return self._mean_over_rows(per_row("intersection", check_distributions(truth), predicted), sample_weight)
        return self._mean_over_rows(self._label_likelihoods(predicted, *split_observed(truth)), sample_weight)

    def _label_likelihoods(
        self, P: Array, Y: NDArray[np.bool_], known: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Log-likelihood of the 0/1 labels of each row under the predictions P."""
        logP = _log(P)
        if hasattr(self, "votes_per_row_"):
            rate = float(np.log(self.votes_per_row_))
        else:  # models saved by version 0.1.0 do not know their number of votes
            rate = profile_log_rate(logP, Y, counts=label_counts(None, known))
        return log_likelihood(logP + rate, Y, n_seen=getattr(self, "_n_seen", len(Y)), known=known)


def _log(P: Array) -> Array:
    return np.asarray(np.log(np.maximum(np.asarray(P, dtype=np.float64), np.finfo(np.float64).tiny)))
