"""Intervals of degrees, and detection of rows far from training, for linear joint models."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ldlearn.base.output import wrap_output
from ldlearn.core.row_groups import hash_rows
from ldlearn.core.simplex import Array, Indices, Mask
from ldlearn.core.targets import RowTargets
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.uncertainty.leverage import LeverageModel
from ldlearn.uncertainty.vote_intervals import Bounds, VotePosterior, beta_bounds
from ldlearn.uncertainty.vote_posterior import vote_posterior

# The scores of a row have a covariance of n_labels x n_labels: with more labels it would cost far
# more than the fit.
_MAX_LABELS = 200


@dataclass(frozen=True)
class _TrainingRows:
    """The rows of a fit, kept in memory until the posterior is computed from them.

    X and the sample weights may be the caller's own arrays: the checksum of some rows is kept, to
    detect later changes.
    """

    X: Any
    labels: RowTargets
    # Kept only if made by `reduce_to_row_space`: small, and slow to make.
    reduced: CentredMatrix | None
    offset: float | Array  # known part of ln(lambda) of each row
    groups: Indices | None
    checksum: NDArray[np.uint64]

    def is_unchanged(self) -> bool:
        """Whether the arrays are those of the fit, judged by some of their rows."""
        return np.array_equal(_checksum(self.X, self.labels), self.checksum)


def _checksum(X: Any, labels: RowTargets) -> NDArray[np.uint64]:
    """Keys of about 200 rows and of their sample weights."""
    rows = np.arange(0, X.shape[0], -(-X.shape[0] // 200))
    weights = labels.take(rows).row_weights()
    return np.concatenate([hash_rows(X[rows]), hash_rows(weights[:, None])])


@dataclass(frozen=True)
class PosteriorState:
    """What intervals and `far_from_training` need.

    It has about n_features^2 numbers, whatever the number of rows.
    """

    learned = {
        "posterior": "VotePosterior | None",
        "leverage": "LeverageModel",
    }

    posterior: VotePosterior | None  # None if there are too many labels
    leverage: LeverageModel


class IntervalMixin:
    """Adds credible intervals and `far_from_training` to a linear joint model.

    The posterior is computed for the first interval; until then the rows of the fit are kept in
    memory. Pickles and model files never hold the rows: only the posterior, if it was computed
    before (`compute_posterior`), which takes several times as long as the fit.

    ``_fit`` sets ``kappa_`` and ``n_votes_``, and calls ``_keep_training_rows``.
    """

    learned: ClassVar = {
        "kappa_": "float",
        "n_votes_": "float",
        "_posterior_state": "PosteriorState | None",
    }

    feature_map_: Any
    fit_intercept: bool
    kappa_: float
    n_votes_: float
    label_names_: Array
    _apply_feature_map: Callable[[Any], Any]
    _validate_features: Callable[..., Any]
    _validate_new_rows: Callable[..., Any]
    _predict: Callable[..., Array]
    _enhance: Callable[..., Array]
    _training_rows: _TrainingRows | None = None  # None once the posterior is computed
    _posterior_state: PosteriorState | None = None

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training_rows"}

    def _keep_training_rows(
        self,
        X: Any,
        labels: RowTargets,
        features: CentredMatrix,
        offset: float | Array = 0.0,
        groups: Indices | None = None,
    ) -> None:
        reduced = None if features.original_matrix is features else features
        checksum = _checksum(X, labels)
        self._training_rows = _TrainingRows(X, labels, reduced, offset, groups, checksum)
        self._posterior_state = None

    @wrap_output
    def predict_interval(self, X: Any, coverage: float = 0.9, n_raters: Any = None) -> Bounds:
        """Intervals for the degrees that ``predict`` gives.

        They have the nominal coverage if 0/1 labels are votes (see `VoteLDL`), the linear model
        holds, rows have about equally many raters and are independent, or dependent only within
        ``groups`` of `fit`. Tests of these assumptions warn where one is clearly wrong. Without
        ``n_raters`` intervals are for p(x), the mean degrees of rows with these features. How much
        a single row differs from this mean cannot be estimated from 0/1 labels alone, but with the
        number of raters: if the raters of a row agree, the same p(x) gives fewer positive labels.
        So with ``n_raters`` intervals are for the degrees of the individual row, and are wider.
        `ConformalIntervals` are for these too, if some true degrees are known. With
        ``zeros="less"`` they are always for the individual row. Without numbers of raters its
        degrees are assumed to be Dirichlet distributed around the prediction with concentration
        ``kappa_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Nominal coverage; above 0 and below 1.
        n_raters : float, default=None
            Number of raters who voted on a typical training row, if known.

        Returns
        -------
        lower, upper : ndarrays of shape (n_samples, n_labels)
            ``0 <= lower <= predict(X) <= upper <= 1``; data frames if `set_output` asks for them.
        """
        check_is_fitted(self)
        check_fraction("coverage", coverage)
        features = self._validate_features(X)
        concentration = None
        if self.kappa_ or n_raters is not None:
            concentration = self._find_concentration(n_raters)
        P = self._predict(features)
        if self.kappa_ and concentration is None:
            bounds = beta_bounds(P, self.kappa_, coverage)
        else:
            posterior = self._find_posterior()
            bounds = posterior.degree_intervals(
                self._apply_feature_map(features), coverage, concentration
            )
            reasons = posterior.misfit.reasons()
            if reasons and concentration is None:
                message = f"Intervals of predictions may be too narrow: {'; '.join(reasons)}."
                warnings.warn(message, UserWarning, stacklevel=3)
        return _extend_to_point(P, bounds, features.dtype)

    @wrap_output
    def enhance_interval(
        self, X: Any, y: Any, coverage: float = 0.9, n_raters: Any = None
    ) -> Bounds:
        """Intervals for the degrees that ``enhance`` gives.

        They are for the shares of the votes that the rows did get, given their 0/1 labels: a
        negative label has the interval [0, 0], the only positive label of a row [1, 1]. The more
        overdispersed votes are, the more these shares vary. Overdispersion cannot be estimated from
        0/1 labels alone, but with the number of raters; without it, votes are assumed to be
        slightly overdispersed. With ``zeros="less"`` intervals are for the degrees of the row.
        Without numbers of raters these are assumed to be Dirichlet distributed around
        ``enhance(X, y)`` with concentration ``kappa_ + n_votes_``; with them, intervals are those
        of ``predict_interval``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like or data frame of shape (n_samples, n_labels)
            Logical labels of these rows; the columns of a data frame are matched by name.
        coverage : float, default=0.9
            Nominal coverage of the degrees of positive labels; above 0 and below 1.
        n_raters : float, default=None
            Number of raters who voted on a typical training row, if known.

        Returns
        -------
        lower, upper : ndarrays of shape (n_samples, n_labels)
            ``0 <= lower <= enhance(X, y) <= upper <= 1``; data frames if `set_output` asks for
            them.
        """
        return self._vote_intervals(X, y, coverage, self._find_concentration(n_raters))

    def far_from_training(self, X: Any, level: float = 0.99) -> Mask:
        """Whether rows are so far from the training rows that predictions are extrapolations.

        A row is far if its leverage (its squared Mahalanobis distance from the mean of the training
        rows) exceeds the quantile ``level`` of the leverages of the training rows. A row in a gap
        between training rows is not detected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float, default=0.99
            About the fraction ``1 - level`` of new rows from the same distribution is flagged.

        Returns
        -------
        far : boolean ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        check_fraction("level", level)
        features = self._validate_features(X)
        return self.compute_posterior().leverage.is_far(features, level)

    def _find_concentration(self, n_raters: Any) -> float | None:
        """Concentration of the votes of a row with this number of raters, or None."""
        check_is_fitted(self)
        if n_raters is None:
            return None
        if not (isinstance(n_raters, Real) and 0.0 < float(n_raters) < np.inf):
            wanted = "a positive number, that of the raters of a row"
            raise InputError(f"n_raters must be {wanted}, got {n_raters!r}.")
        return self._find_posterior().concentration(float(n_raters))

    def _vote_intervals(
        self,
        X: Any,
        y: Any,
        coverage: float,
        concentration: float | None,
        offset: Any = 0.0,
        **row_data: Any,
    ) -> Bounds:
        check_fraction("coverage", coverage)
        features, Y, labels = self._validate_new_rows(X, y)
        D = self._enhance(features, Y, **labels, **row_data)
        if self.kappa_ and concentration is None:
            bounds = beta_bounds(D, self.kappa_ + self.n_votes_, coverage)
            return _extend_to_point(D, bounds, features.dtype)
        posterior = self._find_posterior()
        mapped = self._apply_feature_map(features)
        if self.kappa_:
            bounds = posterior.degree_intervals(mapped, coverage, concentration)
        else:
            observed = labels.get("observed")
            bounds = posterior.vote_intervals(mapped, Y, coverage, offset, observed, concentration)
        return _extend_to_point(D, bounds, features.dtype)

    def _find_posterior(self) -> VotePosterior:
        posterior = self.compute_posterior().posterior
        if posterior is None:
            limit = f"at most {_MAX_LABELS} labels, and this model has {len(self.label_names_)}"
            advice = "ConformalIntervals has no such limit, if some true degrees are known"
            raise InputError(f"Intervals are given for {limit}; {advice}.")
        return posterior

    def compute_posterior(self) -> PosteriorState:
        """Compute what intervals and `far_from_training` need, once; then forget the rows."""
        rows = self._training_rows
        if rows is not None:
            if rows.is_unchanged():
                self._posterior_state = self._posterior_of(rows)
            self._training_rows = None
        if self._posterior_state is None:
            raise InputError(
                f"This {type(self).__name__} does not hold what intervals and far_from_training "
                "need; fit it again: for a model file with --intervals (intervals=True), for a "
                "pickle with compute_posterior() before it, in memory instead of on Dask "
                "collections, and without changing the training arrays afterwards."
            )
        return self._posterior_state

    def _posterior_of(self, rows: _TrainingRows) -> PosteriorState:
        Y, observed, sample_weight = rows.labels
        features = rows.reduced
        if features is None:
            mapped = self._apply_feature_map(rows.X)
            features = reduce_to_row_space(CentredMatrix(mapped, self.fit_intercept, sample_weight))
        # A kernel maps all distant rows to the same point: leverages are those of the features.
        plain = features.original_matrix
        if self.feature_map_ is not None:
            plain = CentredMatrix(rows.X, sample_weight=sample_weight)
        posterior = None
        if Y.shape[1] <= _MAX_LABELS:
            posterior = vote_posterior(
                features,
                Y,
                l2=3.0 * default_gamma(features) or 1.0,  # the search starts here
                observed=observed,
                offset=rows.offset,
                groups=rows.groups,
                unmapped=plain,
            )
        return PosteriorState(posterior, LeverageModel.from_features(plain))


def check_fraction(name: str, value: Any) -> None:
    """Raise an error unless the value is a number above 0 and below 1."""
    if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise ParameterError(f"{name} must be above 0 and below 1, got {value!r}.")


def _extend_to_point(point: Array, bounds: Bounds, dtype: Any) -> Bounds:
    """Extend intervals to the point estimate, which may be that of another model."""
    lower, upper = bounds
    return np.minimum(lower, point).astype(dtype), np.maximum(upper, point).astype(dtype)
