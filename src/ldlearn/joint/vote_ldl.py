"""VoteLDL: label distributions from 0/1 labels that say which labels got any vote."""

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import Capabilities, JointModel
from ldlearn.base.output import wrap_output
from ldlearn.base.parameters import (
    NonNegative,
    Positive,
    PositiveInt,
    Transformer,
    estimator_dataclass,
)
from ldlearn.base.row_data import log_raters
from ldlearn.core.negative_labels import concentration, mean_positives, mix_with_prediction
from ldlearn.core.simplex import Array, Indices, Mask, SampleWeight, normalize_rows, softmax
from ldlearn.core.targets import RowTargets, count_positives
from ldlearn.core.votes import competing_votes, expected_votes
from ldlearn.exceptions import InputError
from ldlearn.joint.label_model import validate_vote_model, validation_splits
from ldlearn.joint.linear_joint import LinearPredictorMixin
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.vote_regression import VoteFit, vote_regression
from ldlearn.uncertainty.intervals import IntervalMixin
from ldlearn.uncertainty.vote_intervals import Bounds, find_concentration


@estimator_dataclass
class VoteLDL(LinearPredictorMixin, IntervalMixin, JointModel):
    r"""Label distributions from 0/1 labels, a label being positive if it got at least one vote.

    Assumes that the labels of a row compete for about :math:`\lambda` votes, of which label j gets
    :math:`\lambda p_j` on average. 0/1 labels then have a likelihood, so that coefficients and
    hyperparameters are estimated without true degrees. Use it if 0/1 labels were derived from
    votes, ratings or counts.

    .. math::

        \max_{W, b, \lambda}\; \sum_{ij} \ln P(y_{ij} | x_i) - \gamma |W|_F^2, \qquad
        P(y_j = 1 | x) = 1 - e^{-\lambda p_j(x)}, \quad p = softmax(x W + b)

    The prediction is p, the recovery the expected share of the votes given the 0/1 labels,

    .. math:: D_j \propto y_j\, p_j / (1 - e^{-\lambda p_j}).

    An unobserved label (NaN in y) does not contribute to the likelihood; its expected votes are
    :math:`\lambda p_j`.

    Parameters
    ----------
    gamma : float, default=None
        Penalty on ``|W|^2``. None selects it among 0.1 to 300 times DLDL's default by the
        likelihood of held-out labels, on at most 2,000 rows; which rows are held out depends on
        their features alone.
    zeros : {"none", "less"} or float, default="none"
        What a 0 means: that the label got no vote and has degree 0, or that it got none of few
        votes and is not among the main ones. With "less" the recovered degrees are
        ``(1 - w) D + w p``, ``w = kappa / (kappa + n_votes_)`` (see `ldlearn.DLDL`). kappa, the
        concentration of the degrees of a row around p, is estimated from the number of raters;
        without it w is 1/2. A number instead of "less" is kappa itself. The prediction is the same
        for all values.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised; otherwise it is 0.
    feature_map : None, "rbf" or transformer, default=None
        Features of the predictor: X itself; 500 Nystroem features of the kernel
        ``exp(-|x - z|^2 / w^2)``, w the mean distance between rows; or the output of the
        transformer, for example ``Nystroem(n_components=200)``. The rows of "rbf" are drawn with a
        fixed seed; those of `Nystroem` by its ``random_state``.
    max_iter : int, default=100
        Newton iterations.
    tol : float, default=1e-8
        Stop when half of the squared Newton decrement, an estimate of the distance to the minimum,
        is at most this per row.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        The recovered degrees.
    lambda_ : float
        Mean number of votes of a row; of a rater if ``n_raters`` was given.
    coef_ : ndarray of shape (n_labels, n_features)
        W; features are mapped features if there is a feature map.
    intercept_ : ndarray of shape (n_labels,)
        b.
    gamma_ : float
        The penalty used.
    kappa_ : float
        The concentration used; 0 if ``zeros="none"``.
    n_votes_ : float
        Votes of a row: the geometric mean of the numbers of raters if given, else the mean number
        of positive labels.
    feature_map_ : transformer or None
    objective_ : float
        Negative log-likelihood plus penalty at the solution.
    objective_path_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after every iteration; never increases.
    converged_ : bool
    n_iter_ : int
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Ours, not the paper's. Departures from the paper: not applicable.

    Overdispersed votes have the same likelihood: if they are gamma-Poisson (their shares
    Dirichlet-multinomial), the probability of no vote is still ``exp(-lambda p_j)``, and the
    expected shares given y are the same. See docs/research/without_truth.md for the proof. The
    assumption fails for labels that mark mere presence.

    The likelihood is not concave. Newton's method starts at the best model without features and
    ends at a stationary point if ``converged_``. One row is added to the data, with the mean
    features and all labels half positive: without it a label that is always positive would get all
    the votes.

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

    learned = {
        "_fitted_with_raters": "bool",
        "_typical_offset": "float",
        "gamma_": "float",
        "lambda_": "float",
    }

    _convergence_advice = "raise max_iter, loosen tol, or raise gamma."
    _test_params = (
        {},
        {"gamma": 0.5, "fit_intercept": False},
        {"gamma": 0.5, "feature_map": "rbf"},
        {"gamma": 0.5, "zeros": "less"},
    )

    gamma: NonNegative | None = None
    zeros: Literal["none", "less"] | Positive = "none"
    fit_intercept: bool = True
    feature_map: Literal["rbf"] | Transformer | None = None
    max_iter: PositiveInt = 100
    tol: Positive = 1e-8

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.keeps_zeros = self.zeros == "none"
        # A feature map may draw rows at random.
        tags.order_invariant = self.feature_map is None
        tags.weight_equals_repetition = self.feature_map is None
        return tags

    def enhance(self, X: Any, y: Any, n_raters: Any = None) -> Array:
        """Recover the degrees of new rows from their logical labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples, n_labels)
            Logical labels of these rows.
        n_raters : array-like of shape (n_samples,), default=None
            Number of raters who voted on each row; only if given to ``fit`` too. None: the
            geometric mean of the numbers of the training rows.

        Returns
        -------
        D : ndarray of shape (n_samples, n_labels)
        """
        if n_raters is None:
            return self._enhance_rows(X, y)
        return self._enhance_rows(X, y, n_raters=self._check_raters(n_raters, y))

    def _check_raters(self, n_raters: Any, y: Any) -> Array:
        check_is_fitted(self)
        if not self._fitted_with_raters:
            problem = "n_raters were not given to fit, so that the votes per rater are unknown"
            raise InputError(f"{problem}; fit with n_raters too.")
        return log_raters(n_raters, np.shape(y)[0])

    @wrap_output
    def enhance_interval(
        self, X: Any, y: Any, coverage: float = 0.9, n_raters: Any = None
    ) -> Bounds:
        """Intervals for the degrees that ``enhance`` gives.

        Parameters
        ----------
        X, y
            As for ``enhance``.
        coverage : float, default=0.9
            Nominal coverage of the degrees of positive labels; above 0 and below 1.
        n_raters : array-like of shape (n_samples,) or float, default=None
            If the numbers of raters were given to ``fit``, those of these rows, as for ``enhance``.
            Otherwise the number on a typical row, as for `DLDL.enhance_interval`.

        Returns
        -------
        lower, upper : ndarrays of shape (n_samples, n_labels)
            For the shares of the votes that the rows did get: see `DLDL.enhance_interval`.
        """
        concentration = self._find_concentration(n_raters)
        if n_raters is None or not self._fitted_with_raters:
            return self._vote_intervals(X, y, coverage, concentration, self._typical_offset)
        offset = self._check_raters(n_raters, y)
        return self._vote_intervals(X, y, coverage, concentration, offset, n_raters=offset)

    def _find_concentration(self, n_raters: Any) -> float | None:
        """Of the typical row, if the numbers of raters were given to the fit."""
        check_is_fitted(self)
        if not self._fitted_with_raters:
            return super()._find_concentration(n_raters)
        if n_raters is not None:
            log_raters(n_raters, np.size(n_raters))
        typical_raters = float(np.exp(self._typical_offset))
        return self._find_posterior().concentration(typical_raters, self._typical_offset)

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
        n_raters: Array | None = None,
        groups: Indices | None = None,
    ) -> None:
        self.feature_map_, mapped = self._fit_feature_map(X)
        features = reduce_to_row_space(CentredMatrix(mapped, self.fit_intercept, sample_weight))
        labels = RowTargets(Y, observed, sample_weight)
        # If the numbers of raters are given, lambda is that of one rater and the offset makes it
        # that of the row. New rows without a number get the geometric mean of the training rows.
        self._fitted_with_raters = n_raters is not None
        offset: float | Array = 0.0
        self._typical_offset = 0.0
        if n_raters is not None:
            offset = n_raters
            self._typical_offset = float(np.average(offset, weights=sample_weight))
        self.gamma_ = self._select_gamma(features, labels, groups)
        fit = vote_regression(
            features,
            Y,
            observed=observed,
            offset=offset,
            l2=self.gamma_,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._set_fit(features, fit)
        n_positives = mean_positives(*count_positives(Y, observed, sample_weight), features.total)
        self.n_votes_ = n_positives if n_raters is None else float(np.exp(self._typical_offset))
        self.kappa_ = concentration(self.zeros, self.n_votes_)
        if n_raters is not None and self.zeros == "less":
            P = softmax(fit.scores).astype(np.float64)
            self.kappa_ = min(find_concentration(P, n_positives / Y.shape[1], self.n_votes_), 1e4)
        self.label_distributions_ = self._degrees(fit.scores, Y, offset, observed)
        self._keep_training_rows(X, labels, features, offset, groups)

    def _set_fit(self, features: CentredMatrix, fit: VoteFit) -> None:
        coef, self.intercept_ = features.to_original(fit.coef, fit.intercept)
        self.coef_ = coef.T
        self.lambda_ = float(np.exp(fit.log_rate))
        self.objective_ = fit.loss
        self.objective_path_ = fit.path
        self.converged_ = fit.converged
        self.n_iter_ = fit.n_iter

    def _select_gamma(
        self, features: CentredMatrix, labels: RowTargets, groups: Indices | None = None
    ) -> float:
        if self.gamma is not None:
            return float(self.gamma)
        splits = validation_splits(features, labels, groups)
        return validate_vote_model(splits).penalty_ratio * default_gamma(features, warn=True)

    def _degrees(self, Z: Array, Y: Mask, offset: Array | float, observed: Mask | None) -> Array:
        """Expected shares of votes, mixed with the prediction if zeros mean less."""
        theta = competing_votes(Z, np.log(self.lambda_) + offset)
        D = normalize_rows(expected_votes(theta, Y, observed))
        return mix_with_prediction(D, softmax(Z), self.kappa_, self.n_votes_)

    def _enhance(
        self, X: Any, Y: Mask, observed: Mask | None = None, n_raters: Array | None = None
    ) -> Array:
        offset = self._typical_offset if n_raters is None else n_raters
        return self._degrees(self._scores(X), Y, offset, observed)
