"""VoteLDL: label distributions from 0/1 labels that are votes in disguise."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import Capabilities, SampleWeightMixin
from ldlearn.base.estimator import wrap_output
from ldlearn.base.sklearn_private import HasMethods, Interval, StrOptions
from ldlearn.core.neighbors import common_offsets, subtract_offsets
from ldlearn.core.simplex import Array, Mask, SampleWeight, normalize_rows, softmax
from ldlearn.core.votes import competing_votes, expected_votes
from ldlearn.exceptions import InputError
from ldlearn.joint.feature_map import make_feature_map
from ldlearn.joint.label_model import validate_label_model
from ldlearn.joint.validation import validation_splits
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.features import Features
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.vote_regression import vote_regression
from ldlearn.uncertainty.intervals import Bounds, IntervalMixin, TrainingRows


class VoteLDL(SampleWeightMixin, IntervalMixin):
    r"""Label distributions from 0/1 labels that were ticked if they got any vote.

    Assumes that the labels of a row share about :math:`\lambda` votes, label j getting :math:`\lambda p_j` of them on
    average, and that a label is positive if it got at least one. That gives 0/1 labels a likelihood, so that everything
    can be learned and chosen without any true degree. The method to use when 0/1 labels are what is left of votes,
    ratings or counts.

    .. math::

        \max_{W, b, \lambda}\; \sum_{ij} \ln P(y_{ij} | x_i) - \gamma |W|_F^2, \qquad
        P(y_j = 1 | x) = 1 - e^{-\lambda p_j(x)}, \quad p = softmax(x W + b)

    Predicted is p; recovered is the expected share of the votes given which labels got any,

    .. math:: D_j \propto y_j\, p_j / (1 - e^{-\lambda p_j}).

    A label that is unknown (NaN in y) is no part of the likelihood, and its expected share is that of :math:`p_j`.

    Parameters
    ----------
    gamma : float, default=None
        Weight of ``|W|^2``. None chooses among 0.1 to 300 times DLDL's default by the likelihood of held-out labels, on
        at most 2,000 rows; which rows are held out depends on their features alone.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0.
    feature_map : None, "rbf" or transformer, default=None
        What the predictor works on: X itself; 500 Nystroem features of the kernel ``exp(-|x - z|^2 / w^2)``, w the
        mean distance between rows; or the output of the transformer, for example ``Nystroem(n_components=200)``.
    max_iter : int, default=100
        Newton iterations.
    tol : float, default=1e-8
        Stop when half of the squared Newton decrement, an estimate of the distance to the minimum, is at most this per
        row.
    random_state : int, RandomState or None, default=None
        Seed of the RBF feature map; nothing else is random.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n, c)
        The recovered degrees.
    lambda_ : float
        Votes of a row; votes of a rater if ``n_raters`` was given.
    coef_ : ndarray of shape (n_labels, n_features)
        W; m counts mapped features if there is a feature map.
    intercept_ : ndarray of shape (c,)
        b.
    gamma_ : float
        The weight used.
    feature_map_ : transformer or None
    objective_ : float
        Negative log-likelihood plus penalty at the solution.
    objective_path_ : ndarray of shape (n_iter_ + 1,)
        The same after every iteration, the start's first; never increases.
    converged_ : bool
    n_iter_ : int
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Ours, not the paper's. Departures from the paper: not applicable.

    Over-dispersed votes change nothing: if they are gamma-Poisson (their shares Dirichlet-multinomial), the probability
    of no vote is still ``exp(-lambda p_j)`` and the expected share given y the same. docs/without_truth.md has the
    proof, and where the assumption fails: labels that mark mere presence, for which `competition_test` looks.

    The likelihood is not concave. Newton's method starts at the best model without features and ends in a stationary
    point; ``converged_`` says so. One row is added to the data: it has the mean features, and each label is half
    ticked. Without it a label that is always ticked would get all the votes.

    Examples
    --------
    >>> from ldlearn import UniformLE, VoteLDL
    >>> from ldlearn.datasets import make_label_distributions
    >>> from ldlearn.metrics import intersection
    >>> data = make_label_distributions(1000, snr=100.0, labels="votes", n_raters=20)
    >>> model = VoteLDL().fit(data.X, data.Y)
    >>> bool(15 < model.lambda_ < 25)
    True
    >>> equal = UniformLE().fit_enhance(data.X, data.Y)
    >>> bool(intersection(data.D, model.label_distributions_) > intersection(data.D, equal) + 0.1)
    True
    """

    _convergence_advice = "raise max_iter, loosen tol, or raise gamma."
    _test_params: ClassVar[tuple[dict[str, Any], ...]] = (
        {},
        {"gamma": 0.5, "fit_intercept": False},
        {"gamma": 0.5, "feature_map": "rbf", "random_state": 0},
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "feature_map": [StrOptions({"rbf"}), HasMethods(["fit_transform", "transform"]), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        gamma: float | None = None,
        *,
        fit_intercept: bool = True,
        feature_map: Any = None,
        max_iter: int = 100,
        tol: float = 1e-8,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.feature_map = feature_map
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def capabilities(self) -> Capabilities:
        """A feature map may draw rows at random."""
        return (
            super()
            .capabilities()
            ._replace(
                sparse=True,
                unknown_labels=True,
                keeps_zeros=True,
                order_invariant=self.feature_map is None,
                weight_equals_repetition=self.feature_map is None,
            )
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, n_raters: Any = None, **row_data: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, m)
            Features.
        y : array-like or data frame of shape (n, c)
            Logical labels: 1, 0, or NaN where it is unknown.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts: 2 is the row twice, 0 no row at all.
        n_raters : array-like of shape (n,) or float, default=None
            How many raters voted on each row, if that is known: the votes of a row are then ``lambda_`` times this.
        **row_data
            Nothing else is used.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, n_raters=n_raters, **row_data)

    def _check_row_data(self, name: str, value: Any, X: Any) -> Any:
        return log_raters(value, X.shape[0]) if name == "n_raters" else super()._check_row_data(name, value, X)

    def enhance(self, X: Any, y: Any, n_raters: Any = None) -> Array:
        """Degrees of new rows whose logical labels are known.

        Parameters
        ----------
        X : array-like of shape (n, m)
        y : array-like of shape (n, c)
            Logical labels of these rows.
        n_raters : array-like of shape (n,), default=None
            How many raters voted on each row. None: as many as on a typical row of the training data. Only if ``fit``
            knew them too.

        Returns
        -------
        D : ndarray of shape (n, c)
        """
        return self._enhance_rows(X, y, **({} if n_raters is None else {"n_raters": self._log_raters(n_raters, y)}))

    def _log_raters(self, n_raters: Any, y: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if not self._knows_raters:
            raise InputError("n_raters were not given to fit: the votes of a rater are not known; fit with them too.")
        return log_raters(n_raters, np.shape(y)[0])

    @wrap_output
    def enhance_interval(self, X: Any, y: Any, coverage: float = 0.9, n_raters: Any = None) -> Bounds:
        """Intervals for the degrees that ``enhance`` gives.

        Parameters
        ----------
        X, y
            As for ``enhance``.
        coverage : float, default=0.9
            Share of the degrees of positive labels that the intervals are to hold; above 0 and below 1.
        n_raters : array-like of shape (n,) or float, default=None
            If ``fit`` knew the numbers of raters, those of these rows, as for ``enhance``. Otherwise the number on a
            typical row, as for `DLDL.enhance_interval`.

        Returns
        -------
        lower, upper : ndarrays of shape (n, c)
            For the shares of the votes that the rows did get: see `DLDL.enhance_interval`.
        """
        agreement = self._find_concentration(n_raters)
        if n_raters is None or not self._knows_raters:
            return self._vote_intervals(X, y, coverage, agreement, self._typical_offset)
        offset = self._log_raters(n_raters, y)
        return self._vote_intervals(X, y, coverage, agreement, offset, n_raters=offset)

    def _find_concentration(self, n_raters: Any) -> float | None:
        """Known, if the numbers of raters were known to the fit."""
        check_is_fitted(self)
        if not self._knows_raters:
            return super()._find_concentration(n_raters)
        if n_raters is not None:
            log_raters(n_raters, np.size(n_raters))
        return self._find_posterior().concentration(float(np.exp(self._typical_offset)), self._typical_offset)

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
        n_raters: Array | None = None,
    ) -> None:
        self._knows_raters = n_raters is not None
        offset = np.zeros(1) if n_raters is None else n_raters
        # New rows whose number of raters nobody says are taken for rows with the geometric mean of those in training.
        self._typical_offset = float(np.average(offset, weights=None if n_raters is None else sample_weight))
        self._offsets = common_offsets(X) if isinstance(self.feature_map, str) else None
        self.feature_map_ = make_feature_map(self.feature_map, self._map_input(X), self.random_state)
        mapped = X if self.feature_map_ is None else self.feature_map_.fit_transform(self._map_input(X))
        features = reduce_to_row_space(Features(mapped, self.fit_intercept, sample_weight))
        self.gamma_ = self._choose_gamma(features, Y, observed) if self.gamma is None else float(self.gamma)
        given: dict[str, Any] = {"observed": observed, "offset": 0.0 if n_raters is None else offset}
        fit = vote_regression(features, Y, l2=self.gamma_, **given, tol=self.tol, max_iter=self.max_iter)
        coef, self.intercept_ = features.to_original(fit.coef, fit.intercept)
        self.coef_ = coef.T
        self.lambda_ = float(np.exp(fit.log_rate))
        self.objective_, self.objective_path_ = fit.loss, fit.path
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        # lambda is that of one rater if their numbers are known: each row's offset makes it that of the row.
        self.label_distributions_ = self._degrees(fit.scores, Y, offset, observed)
        self._training = TrainingRows(X, Y, sample_weight, **given, features=features)

    def _map_input(self, X: Any) -> Any:
        """What the feature map is given; that of a kernel of distances, rows without their common offsets."""
        return X if self._offsets is None else subtract_offsets(X, self._offsets)

    def _choose_gamma(self, features: Features, Y: Mask, observed: Mask | None) -> float:
        splits = validation_splits(features, Y, observed)
        return validate_label_model(splits, competing=True).penalty_ratio * default_gamma(features)

    def _degrees(self, Z: Array, Y: Mask, offset: Array | float, observed: Mask | None) -> Array:
        """Expected shares of the votes, given which labels got any."""
        return normalize_rows(expected_votes(competing_votes(Z, np.log(self.lambda_) + offset), Y, observed))

    def _mapped(self, X: Any) -> Any:
        return X if self.feature_map_ is None else self.feature_map_.transform(self._map_input(X))

    def _scores(self, X: Any) -> Array:
        return np.asarray(self._mapped(X) @ self.coef_.T + self.intercept_, dtype=np.float64)

    def _predict(self, X: Any) -> Array:
        return softmax(self._scores(X))

    def _enhance(self, X: Any, Y: Mask, observed: Mask | None = None, n_raters: Array | None = None) -> Array:
        offset = self._typical_offset if n_raters is None else n_raters
        return self._degrees(self._scores(X), Y, offset, observed)


def log_raters(n_raters: Any, n: int) -> NDArray[np.float64]:
    """The log of each row's number of raters."""
    try:
        counts = np.asarray(n_raters, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"n_raters must hold numbers, got {n_raters!r:.60}.") from None
    counts = np.full(n, counts) if counts.ndim == 0 else counts
    if counts.shape != (n,):
        raise InputError(f"n_raters must hold one number for each of the {n} rows, got shape {counts.shape}.")
    if not (np.isfinite(counts) & (counts > 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(counts) & (counts > 0)))[0])
        raise InputError(f"n_raters must be positive and finite, got {counts[row]:g} at row {row}.")
    return np.asarray(np.log(counts))
