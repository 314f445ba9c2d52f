"""Credible intervals of degrees, and detection of rows far from the training rows, for linear joint
models."""

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import JointModel
from ldlearn.base.output import wrap_output
from ldlearn.core.graph import common_offsets, subtract_offsets
from ldlearn.core.kernels import make_feature_map
from ldlearn.core.simplex import Array, Indices, Mask
from ldlearn.core.targets import RowTargets
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.linear_predictor import centred_blocks
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.spd import reciprocal
from ldlearn.uncertainty.vote_intervals import Bounds, VotePosterior, beta_bounds
from ldlearn.uncertainty.vote_posterior import vote_posterior

# The scores of a row have a covariance of n_labels x n_labels: with more labels it would cost far
# more than the fit.
_MAX_LABELS = 200


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit, kept until the posterior is computed from them.

    X and the sample weights may be the caller's own arrays: copies of some rows are kept, to detect
    later changes.
    """

    X: Any
    labels: RowTargets
    offset: float | Array = 0.0  # known part of ln(lambda) of each row
    features: CentredMatrix | None = (
        None  # of the fit; kept only if made by `reduce_to_row_space`: small, and slow to make
    )
    groups: Indices | None = None

    def __post_init__(self) -> None:
        if self.features is not None and self.features.original is self.features:
            object.__setattr__(self, "features", None)
        copies = tuple(None if rows is None else rows.copy() for rows in self._sampled_rows())
        object.__setattr__(self, "_copies", copies)

    def is_unchanged(self) -> bool:
        """Whether the arrays are the same as at the time of the fit, judged by some of their
        rows."""
        (X, weights), (old_X, old_weights) = self._sampled_rows(), vars(self)["_copies"]
        same_X = (old_X != X).nnz == 0 if sparse.issparse(X) else np.array_equal(X, old_X)
        return bool(same_X and np.array_equal(weights, old_weights))

    def _sampled_rows(self) -> tuple[Any, Any]:
        rows = slice(None, None, -(-self.X.shape[0] // 200))
        return self.X[rows], self.labels.take(rows).sample_weight


@dataclass(frozen=True)
class LeverageModel:
    """Mean and scatter of the training rows, and their leverages.

    The leverage of a row is ``(x - mean)' (scatter + ridge I)^-1 (x - mean)``: its squared
    Mahalanobis distance, up to a factor and a ridge. Training rows are treated as new rows, without
    their own contribution to the scatter: ``h / (1 - h)``.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> LeverageModel.from_features(CentredMatrix(rows)).is_far(
    ...     np.array([[0.0, 1.0, 0.0], [0.0, 9.0, 0.0]]), level=0.99
    ... )
    array([False,  True])
    """

    learned: ClassVar = {
        "mean": "float (n_features)",
        "scale": "float (n_features)",
        "basis": "float (n_features, n_features) | None",
        "inverse": "float (n_features)",
        "distances": "float (n_distances)",
    }

    mean: Array
    scale: Array  # of each column
    basis: Array | None  # of the scaled columns; None stands for the identity
    inverse: Array  # of the scatter in that basis
    distances: Array  # of at most 2,000 training rows, sorted

    @classmethod
    def from_features(cls, features: CentredMatrix) -> Self:
        """Compute the model of training rows."""
        # A direction without spread has the ridge instead: 1 % of the mean spread.
        ridge = max(0.01 * float(features.spread.mean()), np.finfo(float).tiny)
        scale, basis, scatter, identity = features.spectrum(ridge)
        narrow = None if basis is None else basis.astype(np.float32)
        model = cls(
            features.mean, scale, narrow, reciprocal(scatter + ridge * identity), np.empty(0)
        )
        leverage = np.minimum(model.distance(features.X[features.sample_rows(2000)]), 1.0 - 1e-9)
        return replace(model, distances=np.sort(leverage / (1.0 - leverage)))

    def distance(self, X: Any) -> Array:
        """Leverage of each row as a new row."""
        found = np.empty(X.shape[0])
        for rows, centred in centred_blocks(X, self.mean, len(self.mean)):
            parts: Array = centred * self.scale
            parts = parts if self.basis is None else parts @ self.basis
            found[rows] = parts**2 @ self.inverse
        return found

    def is_far(self, X: Any, level: float) -> Mask:
        """Whether the leverage of each row exceeds the quantile ``level`` of those of the training
        rows."""
        return np.asarray(self.distance(X) > np.quantile(self.distances, level))


@dataclass(frozen=True)
class PosteriorState:
    """What intervals and `far_from_training` need: about n_features^2 numbers, whatever the number
    of rows."""

    learned: ClassVar = {
        "posterior": "VotePosterior | None",
        "leverage": "LeverageModel",
    }

    posterior: VotePosterior | None  # None if there are too many labels
    leverage: LeverageModel


class IntervalMixin(JointModel):
    """Adds credible intervals and `far_from_training` to a joint model.

    The predictor has to be a softmax of linear scores of mapped features; ``_fit`` sets
    ``_posterior_state``. The posterior is computed for the first interval; until then the rows of
    the fit are kept, in memory and in pickles. Model files hold the posterior if it was computed,
    and never the rows.
    """

    learned: ClassVar = {
        "kappa_": "float",
        "n_votes_": "float",
        "_offsets": "float (n_features) | None",
        "feature_map_": "any",
        "coef_": "float (n_labels, n_inputs)",
        "intercept_": "float (n_labels)",
        "_posterior_state": "PosteriorState | None",
    }

    feature_map: Any
    feature_map_: Any
    fit_intercept: bool
    kappa_: float
    n_votes_: float
    _offsets: Array | None = None  # common to all rows, subtracted where distances are computed
    _posterior_state: (
        TrainingRows | PosteriorState | None
    )  # None if the rows were changed after the fit

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
        of_rows = self.kappa_ or n_raters is not None
        concentration = self._find_concentration(n_raters) if of_rows else None
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
        Without numbers of raters these are assumed to be Dirichlet distributed around ``enhance(X,
        y)`` with concentration ``kappa_ + n_votes_``; with them, intervals are those of
        ``predict_interval``.

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
        """Concentration of the votes of a row with this number of raters; None if the number is
        None."""
        check_is_fitted(self)
        if n_raters is None:
            return None
        if not (isinstance(n_raters, Real) and 0.0 < float(n_raters) < np.inf):
            raise InputError(
                f"n_raters must be a positive number, that of the raters of a row, got {n_raters!r}."
            )
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
        else:
            posterior, mapped = self._find_posterior(), self._apply_feature_map(features)
            if self.kappa_:
                bounds = posterior.degree_intervals(mapped, coverage, concentration)
            else:
                bounds = posterior.vote_intervals(
                    mapped, Y, coverage, offset, labels.get("observed"), concentration
                )
        return _extend_to_point(D, bounds, features.dtype)

    def _find_posterior(self) -> VotePosterior:
        posterior = self.compute_posterior().posterior
        if posterior is None:
            raise InputError(
                f"Intervals are given for at most {_MAX_LABELS} labels, and this model has {len(self.label_names_)}; "
                "ConformalIntervals has no such limit, if some true degrees are known."
            )
        return posterior

    def compute_posterior(self) -> PosteriorState:
        """Compute what intervals and `far_from_training` need, unless that was done before; then
        forget the rows."""
        state = vars(self).get("_posterior_state")
        if isinstance(state, TrainingRows):
            state = self._compute_posterior_state(state) if state.is_unchanged() else None
            self._posterior_state = state
        if state is None:
            raise InputError(
                f"This {type(self).__name__} does not hold what intervals and far_from_training need; fit it again: "
                "for a model file with --intervals (intervals=True), in memory instead of on Dask collections, and "
                "without changing the training arrays afterwards."
            )
        return state

    def _compute_posterior_state(self, rows: TrainingRows) -> PosteriorState:
        features, (Y, observed, sample_weight) = rows.features, rows.labels
        if features is None:  # the fit did not reduce its features
            features = reduce_to_row_space(
                CentredMatrix(self._apply_feature_map(rows.X), self.fit_intercept, sample_weight)
            )
        l2 = (
            3.0 * default_gamma(features) or 1.0
        )  # start of the search for the penalty; 1 for constant features
        # A kernel maps all distant rows to the same point, so leverages are those of the features
        # themselves.
        plain = (
            features.original
            if self.feature_map_ is None
            else CentredMatrix(rows.X, sample_weight=sample_weight)
        )
        posterior = None
        if Y.shape[1] <= _MAX_LABELS:
            posterior = vote_posterior(
                features,
                Y,
                l2=l2,
                observed=observed,
                offset=rows.offset,
                groups=rows.groups,
                unmapped=plain,
            )
        return PosteriorState(posterior, LeverageModel.from_features(plain))

    def _fit_feature_map(self, X: Any) -> tuple[Any, Any]:
        """The fitted feature map and the mapped features; None and X if there is no map."""
        if isinstance(self.feature_map, str):
            self._offsets = common_offsets(X)
        feature_map = make_feature_map(self.feature_map, self._map_input(X))
        return feature_map, X if feature_map is None else feature_map.fit_transform(
            self._map_input(X)
        )

    def _map_input(self, X: Any) -> Any:
        """Input of the feature map; without common offsets if the map is a kernel of distances."""
        if self._offsets is None or not isinstance(self.feature_map, str):
            return X
        return subtract_offsets(X, self._offsets)

    def _apply_feature_map(self, X: Any) -> Any:
        return X if self.feature_map_ is None else self.feature_map_.transform(self._map_input(X))


def check_fraction(name: str, value: Any) -> None:
    """Raise an error unless the value is a number above 0 and below 1."""
    if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise ParameterError(f"{name} must be above 0 and below 1, got {value!r}.")


def _extend_to_point(point: Array, bounds: Bounds, dtype: Any) -> Bounds:
    """Extend intervals to the point estimate, which may be that of another model than the vote
    model."""
    return np.minimum(bounds[0], point).astype(dtype), np.maximum(bounds[1], point).astype(dtype)
