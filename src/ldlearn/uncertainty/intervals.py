"""How sure are the degrees? Intervals, and a flag for rows far from the training rows, for linear joint models."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import JointModel
from ldlearn.base.estimator import wrap_output
from ldlearn.core.simplex import Array, Mask
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.features import Features
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.uncertainty.leverage import LeverageModel
from ldlearn.uncertainty.vote_intervals import VotePosterior
from ldlearn.uncertainty.vote_posterior import vote_posterior

Bounds = tuple[Array, Array]
# A row's scores have a c x c covariance; with more labels than this, keeping a model would cost far more than its fit.
_MOST_LABELS = 200
_GLIMPSE = 200  # rows by which one sees whether the arrays of a fit are still what they were


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit, until somebody asks how sure it is.

    X and weights may be the caller's own arrays: copies of some rows are kept to notice a change by.
    """

    X: Any
    Y: Mask
    weights: NDArray[np.float64] | None = None
    observed: Mask | None = None
    offset: float | NDArray[np.float64] = 0.0
    features: Features | None = (
        None  # of the fit; only those of `reduce_to_row_space`, which are small and took time, are kept
    )
    checksum_rows: tuple[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        if self.features is not None and self.features.original is self.features:
            object.__setattr__(self, "features", None)
        X, weights = self._some_rows()
        object.__setattr__(self, "checksum_rows", (X.copy(), None if weights is None else weights.copy()))

    @property
    def are_unchanged(self) -> bool:
        """Whether nobody has written into the arrays since the fit, as far as some of their rows tell."""
        (X, weights), (seen_X, seen_weights) = self._some_rows(), self.checksum_rows
        same_X = (seen_X != X).nnz == 0 if sparse.issparse(X) else np.array_equal(X, seen_X)
        return bool(same_X and np.array_equal(weights, seen_weights))

    def _some_rows(self) -> tuple[Any, Any]:
        some = slice(None, None, -(-self.X.shape[0] // _GLIMPSE))
        return self.X[some], None if self.weights is None else self.weights[some]


@dataclass(frozen=True)
class PosteriorState:
    """What intervals and the flag need: about m^2 numbers for m features, whatever the number of rows."""

    posterior: VotePosterior | None  # None if labels are too many for it
    cloud: LeverageModel


class IntervalMixin(JointModel):
    """Also says how sure its degrees are.

    A method whose predictor is a softmax of linear scores sets ``_training`` in ``_fit``, and writes ``_mapped(X)``:
    what its predictor works on. The posterior is computed when an interval is first asked for; until then the
    rows of the fit are kept, in memory and in pickles and model files too.
    """

    coef_: Any
    intercept_: Any
    feature_map_: Any
    fit_intercept: bool
    _training: TrainingRows
    _doubt: PosteriorState

    @wrap_output
    def predict_interval(self, X: Any, coverage: float = 0.9, n_raters: Any = None) -> Bounds:
        """Intervals for the degrees that ``predict`` gives.

        They hold the share ``coverage`` of what they are meant for, if 0/1 labels are votes (see `VoteLDL`) and the
        predictor can express their mean. Without ``n_raters`` that is p(x), the degrees that rows with these features
        have on average. How much a single row differs from others like it cannot be seen in 0/1 labels alone. Their
        number of raters shows it: where raters of a row agree, the same p(x) leaves fewer ticks. So with ``n_raters``
        intervals are meant for the degrees of the very row, and are wider. `ConformalIntervals` is for these too, where
        some true degrees are known.

        Parameters
        ----------
        X : array-like of shape (n, m)
        coverage : float, default=0.9
            Share of degrees that the intervals are to hold; above 0 and below 1.
        n_raters : float, default=None
            How many raters voted on a typical row of the training data, if that is known.

        Returns
        -------
        lower, upper : ndarrays of shape (n, c)
            ``0 <= lower <= predict(X) <= upper <= 1``; data frames if `set_output` asks for them.
        """
        check_is_fitted(self)
        check_share("coverage", coverage)
        features = self._validate_features(X)
        concentration = None if n_raters is None else self._find_agreement(n_raters)
        bounds = self._find_posterior().share_intervals(self._mapped(features), coverage, concentration)
        return _around(self._predict(features), bounds, features.dtype)

    @wrap_output
    def enhance_interval(self, X: Any, y: Any, coverage: float = 0.9, n_raters: Any = None) -> Bounds:
        """Intervals for the degrees that ``enhance`` gives.

        They are meant for the shares of the votes that the rows did get, given which labels got any: a label that is 0
        has the interval [0, 0], the only label of a row [1, 1]. The more the raters of a row agree, the more these
        shares vary. 0/1 labels do not show how much they agree; their number of raters does. Without it a little
        agreement is assumed.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like or data frame of shape (n, c)
            Logical labels of these rows; the columns of a data frame are matched by name.
        coverage : float, default=0.9
            Share of the degrees of positive labels that the intervals are to hold; above 0 and below 1.
        n_raters : float, default=None
            How many raters voted on a typical row of the training data, if that is known.

        Returns
        -------
        lower, upper : ndarrays of shape (n, c)
            ``0 <= lower <= enhance(X, y) <= upper <= 1``; data frames if `set_output` asks for them.
        """
        return self._vote_intervals(X, y, coverage, self._find_agreement(n_raters))

    def far_from_training(self, X: Any, level: float = 0.99) -> NDArray[np.bool_]:
        """Whether rows lie so far from the training rows that what is said of them is a guess.

        A row is far if its leverage (its Mahalanobis distance from the mean of the training rows, squared) is larger
        than that of the share ``level`` of the training rows. Only directions and distances count: a row in a gap
        between training rows is not noticed.

        Parameters
        ----------
        X : array-like of shape (n, m)
        level : float, default=0.99
            Of new rows from the same source, about the share ``1 - level`` is flagged.

        Returns
        -------
        far : boolean ndarray of shape (n,)
        """
        check_is_fitted(self)
        check_share("level", level)
        features = self._validate_features(X)
        far: NDArray[np.bool_] = self._find_doubt().cloud.is_far(features, level)
        return far

    def _find_agreement(self, n_raters: Any) -> float | None:
        """The concentration of the raters of a row, if there are so many; None if their number is not known."""
        check_is_fitted(self)
        if n_raters is None:
            return None
        if not (isinstance(n_raters, Real) and 0.0 < float(n_raters) < np.inf):
            raise InputError(f"n_raters must be a positive number, that of the raters of a row, got {n_raters!r}.")
        return self._find_posterior().concentration(float(n_raters))

    def _vote_intervals(
        self, X: Any, y: Any, coverage: float, concentration: float | None, offset: Any = 0.0, **row_data: Any
    ) -> Bounds:
        check_share("coverage", coverage)
        features, Y, labels = self._validate_new_rows(X, y)
        posterior = self._find_posterior()
        bounds = posterior.vote_intervals(
            self._mapped(features), Y, coverage, offset, labels.get("observed"), concentration
        )
        return _around(self._enhance(features, Y, **labels, **row_data), bounds, features.dtype)

    def _find_posterior(self) -> VotePosterior:
        posterior = self._find_doubt().posterior
        if posterior is None:
            raise InputError(
                f"Intervals are given for at most {_MOST_LABELS} labels, and this model has {len(self.label_names_)}; "
                "ConformalIntervals has no such limit, if some true degrees are known."
            )
        return posterior

    def _find_doubt(self) -> PosteriorState:
        """Computed once; the rows of the fit are let go then, and not before: another thread may ask meanwhile."""
        rows = vars(self).get("_training")
        if rows is not None and rows.are_unchanged:
            self._doubt = self._learn_doubt(rows)
        elif rows is not None:
            self.__dict__.pop("_doubt", None)  # that of an earlier fit
        self.__dict__.pop("_training", None)
        if "_doubt" not in vars(self):
            raise InputError(
                f"This {type(self).__name__} does not hold what intervals need, because it was fitted on Dask "
                "collections, or its training arrays were changed after the fit; fit it again."
            )
        return self._doubt

    def _learn_doubt(self, rows: TrainingRows) -> PosteriorState:
        features = rows.features
        if features is None:  # the fit had no row space, or the rows come from a model file
            features = reduce_to_row_space(Features(self._mapped(rows.X), self.fit_intercept, rows.weights))
        # Only where the search for the likeliest penalty begins; of constant features there is no size to go by.
        l2 = 3.0 * default_gamma(features) or 1.0
        # A kernel takes all rows far away to the same place: how far they are shows in the features themselves.
        plain = features.original if self.feature_map_ is None else Features(rows.X, sample_weight=rows.weights)
        posterior = None
        if rows.Y.shape[1] <= _MOST_LABELS:
            given: dict[str, Any] = {"observed": rows.observed, "offset": rows.offset}
            posterior = vote_posterior(features, rows.Y, l2=l2, weights=(self.coef_.T, self.intercept_), **given)
        return PosteriorState(posterior, LeverageModel.of(plain))

    def __getstate__(self) -> Any:
        rows = vars(self).get("_training")
        # The rows are kept, because learning the posterior takes longer than the fit. They are let go where they were
        # changed, or where labels are too many for intervals.
        if rows is not None and (not rows.are_unchanged or rows.Y.shape[1] > _MOST_LABELS):
            with suppress(InputError):
                self._find_doubt()
        return super().__getstate__()

    def _mapped(self, X: Any) -> Any:
        raise NotImplementedError


def check_share(name: str, value: Any) -> None:
    """Refuse what is no share."""
    if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise ParameterError(f"{name} must be above 0 and below 1, got {value!r}.")


def _around(point: Array, bounds: Bounds, dtype: Any) -> Bounds:
    """Intervals that also hold the point itself: a method may believe otherwise than the votes say."""
    return np.minimum(bounds[0], point).astype(dtype), np.maximum(bounds[1], point).astype(dtype)
