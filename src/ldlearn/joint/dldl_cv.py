"""DLDLCV: DLDL whose hyperparameters and feature map are selected by cross-validation, with or without true degrees."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from ldlearn.base import Capabilities, SampleWeightMixin
from ldlearn.base.sklearn_private import Interval, StrOptions
from ldlearn.core.simplex import Array, Mask, SampleWeight
from ldlearn.core.targets import check_some_degrees
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.joint.dldl import DLDL, select_penalties
from ldlearn.joint.point_selection import Candidate, ValidationScores, make_cv_results, select_candidate
from ldlearn.joint.validation import Fold, make_folds, sort_by_features
from ldlearn.solvers.features import Features
from ldlearn.uncertainty.intervals import IntervalMixin, PosteriorState

_BETAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # tried if true degrees are known
_RATIOS = (0.1, 0.3, 3.0, 10.0)  # of gamma to that of the rule, likewise


class DLDLCV(SampleWeightMixin, IntervalMixin):
    """`DLDL` with hyperparameters and feature map selected by cross-validation.

    From the 0/1 labels alone: a later feature map or alpha replaces an earlier one if held-out labels are significantly
    likelier under its predictions (the vote likelihood, as in `score`). beta and gamma are those of DLDL's own rule for
    each feature map, because the likelihood of labels prefers values that are too large; so where nothing is
    significantly better, this is DLDL(). If the true degrees of some rows are known (``fit(X, y, degrees=...)``), they
    are kept in every fit and used for validation while they are held out: another setting replaces the one selected
    from the labels if it is significantly nearer to them. Use it to test whether features act linearly.

    The predictor of DLDL is a softmax of what is linear in the mapped features: so feature maps are the predictors to
    select from. Kernels, splines, polynomials or trees (`sklearn.ensemble.RandomTreesEmbedding`) will do.

    Parameters
    ----------
    estimator : DLDL, default=None
        Everything that is not searched: neighbours, number of components, iterations. Its beta and gamma, if it has
        any, stand for those of the rule. None means ``DLDL()``.
    alphas : sequence of float, default=(0.0,)
        Weights of the graph term to try, the default first.
    betas : sequence of float, default=None
        Weights of ``|D|^2`` to try. None is the one of DLDL's rule; besides it, where degrees are known, 0.1 to 100.
        Without known degrees the one nearest to the rule's is selected.
    gamma_ratios : sequence of float, default=None
        Weights of ``|W|^2`` to try, as multiples of the one of DLDL's rule. None is 1; besides it, where degrees are
        known, 0.1, 0.3, 3 and 10. Without known degrees the one nearest to 1 is selected.
    feature_maps : sequence of None, "rbf" or transformer, default=(None, "rbf")
        Feature maps to try, the default first.
    scoring : {"prediction", "recovery"}, default="prediction"
        What known degrees are compared with: ``predict(X)`` or ``enhance(X, y)``. Without effect if none are known.
    cv : int, default=3
        Number of folds. Which fold a row belongs to depends on its features alone.
    n_jobs : int, default=None
        Folds and feature maps fitted at the same time; -1 uses all processors.
    random_state : int, RandomState or None, default=None
        Seed of the RBF feature map.

    Attributes
    ----------
    best_estimator_ : DLDL
        Fitted on all rows with the selected hyperparameters.
    best_params_ : dict
        Its alpha, beta, gamma and feature_map.
    best_index_ : int
        Their place in ``cv_results_``.
    best_score_ : float
        Their ``mean_test_score``.
    cv_results_ : dict of arrays
        As scikit-learn's searches have it: ``params``, ``param_alpha``, ..., ``mean_test_score``, ``std_test_score``,
        ``split0_test_score``, ..., ``rank_test_score``. The score is the log-likelihood per row of held-out 0/1 labels;
        if degrees are known, the mean intersection with those held out, and the likelihood is
        ``mean_test_log_likelihood``.
    choice_ : str
        The selected hyperparameters, and the reason.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        The recovered degrees.
    n_splits_ : int
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Ours, not the paper's. Departures from the paper: it tunes on the true degrees of validation rows.

    Fits of one fold and one feature map share their work (`DLDL.fit_path`).

    Examples
    --------
    >>> from ldlearn import DLDL, DLDLCV
    >>> from ldlearn.datasets import make_label_distributions
    >>> data = make_label_distributions(200, 4, 3, labels="votes", n_raters=20)
    >>> search = DLDLCV(cv=2, random_state=0).fit(data.X, data.Y)
    >>> sorted(search.best_params_)
    ['alpha', 'beta', 'feature_map', 'gamma']
    >>> search.cv_results_["param_feature_map"]
    array([None, 'rbf'], dtype=object)
    >>> search.predict(data.X[:2]).shape
    (2, 3)
    """

    _test_params: ClassVar[tuple[dict[str, Any], ...]] = (
        # The rule for beta is DLDL's, which is checked by itself; here it would take most of the time.
        {
            "cv": 2,
            "gamma_ratios": (0.3, 1.0),
            "feature_maps": (None,),
            "estimator": DLDL(label_model="presence", max_iter=2),
        },
        {
            "cv": 2,
            "gamma_ratios": (1.0,),
            "alphas": (0.0, 0.1),
            "betas": (10.0,),
            "feature_maps": ("rbf",),
            "estimator": DLDL(beta=10.0, gamma=1.0, n_neighbors=1, max_iter=2),
            "random_state": 0,
        },
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [DLDL, None],
        "alphas": ["array-like"],
        "betas": ["array-like", None],
        "gamma_ratios": ["array-like", None],
        "feature_maps": [list, tuple],
        "scoring": [StrOptions({"prediction", "recovery"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        alphas: Sequence[float] = (0.0,),
        betas: Sequence[float] | None = None,
        gamma_ratios: Sequence[float] | None = None,
        feature_maps: Sequence[Any] = (None, "rbf"),
        scoring: str = "prediction",
        cv: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.betas = betas
        self.gamma_ratios = gamma_ratios
        self.feature_maps = feature_maps
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def capabilities(self) -> Capabilities:
        """A feature map may draw rows at random, and a row given twice may be in two folds."""
        return (
            super()
            .capabilities()
            ._replace(
                sparse=True,
                unknown_labels=True,
                keeps_zeros=True,
                order_invariant=all(feature_map is None for feature_map in self.feature_maps),
                weight_equals_repetition=False,
            )
        )

    def _template(self, **params: Any) -> Any:
        """The estimator to fit."""
        template = DLDL() if self.estimator is None else clone(self.estimator)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = np.random.RandomState(0)
            seed.set_state(self.random_state.get_state())  # the same for every fit, and the user's own untouched
        return template.set_params(random_state=seed, **params)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, degrees: Any = None, **row_data: Any) -> Self:
        """Select hyperparameters and feature map, then fit on all rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like or data frame of shape (n_samples, n_labels)
            Logical labels: 1, 0, or NaN where it is unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, in every fit and in the validation scores.
        degrees : array-like or data frame of shape (n_samples, n_labels), default=None
            True degrees where they are known, rows of NaN elsewhere. They are kept in every fit, and used for
            validation while they are held out.
        **row_data
            Nothing else is used.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, degrees=degrees, **row_data)

    def _check_row_data(self, name: str, value: Any, X: Any) -> Any:
        if name != "degrees":
            return super()._check_row_data(name, value, X)
        D = check_some_degrees(value, self.label_names_, X.shape[0])
        if np.isnan(D).all():
            raise InputError("degrees are unknown in every row; leave the argument out to select by 0/1 labels alone.")
        return D

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
        degrees: Array | None = None,
    ) -> None:
        for name in ("alphas", "betas", "gamma_ratios", "feature_maps"):
            values = getattr(self, name)
            if values is not None and len(values) == 0:
                raise ParameterError(f"{name} is empty; name at least one, or leave it out.")
            wrong = [] if values is None or name == "feature_maps" else [v for v in values if not isinstance(v, Real)]
            if wrong:
                raise ParameterError(f"{name} must hold numbers, got {wrong[0]!r}.")
        rows = _Rows(X, Y, sample_weight, observed, degrees)
        folds = self._folds(X, degrees)
        candidates, label_model = [], None
        for feature_map in self.feature_maps:  # what a 1 means is tested once, with the first map
            found, label_model = self._candidates(feature_map, rows, label_model)
            candidates.append(found)
        jobs = [(part, fold) for part in candidates for fold in folds]
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(_validate)(self._template(), part, rows, fold, self.scoring) for part, fold in jobs
        )
        scores = np.full((2, sum(map(len, candidates)), len(Y)), np.nan)
        starts = np.repeat(np.cumsum([0, *map(len, candidates)])[:-1], len(folds))
        for start, (part, fold), values in zip(starts, jobs, parts, strict=True):
            scores[:, start : start + len(part), fold.test] = values
        every = [candidate for part in candidates for candidate in part]
        weights = np.ones(len(Y)) if sample_weight is None else sample_weight
        validated = ValidationScores(folds, weights, *scores)
        self.n_splits_ = len(folds)
        self.best_index_, self.choice_ = select_candidate(every, validated)
        self.cv_results_ = make_cv_results(every, validated)
        self.best_params_ = dict(every[self.best_index_].params)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_estimator_ = self._template(**self.best_params_).fit(*rows.targets(), **rows.given())
        self.label_distributions_ = self.best_estimator_.label_distributions_

    def _folds(self, X: Any, D: Array | None) -> list[Fold]:
        """Rows with known degrees are assigned first, so that every fold gets equally many."""
        rows = sort_by_features(Features(X))[0][np.random.default_rng(1).permutation(X.shape[0])]
        if D is not None:
            rows = rows[np.argsort(np.isnan(D[rows, 0]), kind="stable")]
        n_folds = min(self.cv, len(rows) // 2)
        return make_folds([rows[k::n_folds] for k in range(n_folds)]) if n_folds > 1 else []

    def _candidates(self, feature_map: Any, rows: _Rows, label_model: str | None) -> tuple[list[Candidate], str]:
        """The settings to try with one feature map, those of DLDL's own rule among them; and the label model."""
        model = self._template(feature_map=feature_map)
        model.set_params(label_model=label_model or model.label_model)
        given: dict[str, Any] = {name: getattr(model, name) for name in ("beta", "gamma", "label_model", "max_iter")}
        features = model.make_features(rows.X, rows.weights)
        rule, _ = select_penalties(features, rows.Y, rows.observed, **given, ordered=False)
        have_degrees = rows.degrees is not None  # without true degrees, only the values of the rule could be selected
        default_betas, default_ratios = (
            (rule.beta, *(_BETAS if have_degrees else ())),
            (1.0, *(_RATIOS if have_degrees else ())),
        )
        betas = [float(beta) for beta in (default_betas if self.betas is None else self.betas)]
        ratios = default_ratios if self.gamma_ratios is None else self.gamma_ratios
        gammas = [float(ratio) * rule.gamma for ratio in ratios]
        nearest = _nearest(betas, rule.beta), _nearest(gammas, rule.gamma)
        # gamma slowest, then alpha: so that `fit_path` shares most
        points = [
            Candidate(
                {"alpha": float(a), "beta": b, "gamma": g, "feature_map": feature_map}, (b, g) == nearest, rule.message
            )
            for g, a, b in product(gammas, self.alphas, betas)
        ]
        return points, rule.label_model or model.label_model

    def _find_posterior_state(self) -> PosteriorState:
        state: PosteriorState = self.best_estimator_._find_posterior_state()
        return state

    def _mapped(self, X: Any) -> Any:
        return self.best_estimator_._mapped(X)

    def _predict(self, X: Any) -> Array:
        return np.asarray(self.best_estimator_._predict(X))

    def _enhance(self, X: Any, Y: Mask, **row_data: Any) -> Array:
        return np.asarray(self.best_estimator_._enhance(X, Y, **row_data))


def _nearest(values: list[float], wanted: float) -> float:
    """The value whose ratio to the wanted one is nearest to 1; 0 counts as a tiny number."""
    return min(values, key=lambda value: abs(np.log(max(value, 1e-9) / max(wanted, 1e-9))))


@dataclass(frozen=True)
class _Rows:
    """The training rows."""

    X: Any
    Y: Mask
    weights: SampleWeight | None
    observed: Mask | None
    degrees: Array | None

    def targets(self, part: Any = slice(None)) -> tuple[Any, Array]:
        """Features and labels of some rows, as `fit` takes them."""
        Y = self.Y[part].astype(np.float64)
        return self.X[part], Y if self.observed is None else np.where(self.observed[part], Y, np.nan)

    def given(self, part: Any = slice(None)) -> dict[str, Any]:
        """Other arguments of `fit` for these rows."""
        data = {"sample_weight": self.weights, "degrees": self.degrees}
        return {name: value[part] for name, value in data.items() if value is not None}


def _validate(
    model: DLDL, candidates: list[Candidate], rows: _Rows, fold: Fold, scoring: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each candidate and validation row: log-likelihood of the labels, intersection with the true degrees or NaN."""
    test = fold.test
    X, Y, observed = rows.X[test], rows.Y[test], None if rows.observed is None else rows.observed[test]
    D = np.full(Y.shape, np.nan) if rows.degrees is None else rows.degrees[test]
    true = ~np.isnan(D[:, 0])
    log_likelihoods = np.empty((len(candidates), len(test)))
    intersections = np.full_like(log_likelihoods, np.nan)
    model.set_params(feature_map=candidates[0].params["feature_map"])
    points = [{name: candidate.params[name] for name in DLDL.path_params} for candidate in candidates]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last fit, on all rows, warns if it matters
        for k, fitted in enumerate(model.fit_path(*rows.targets(fold.train), points, **rows.given(fold.train))):
            P = fitted._predict(X)  # rows that were checked when the search began
            log_likelihoods[k] = fitted._label_likelihoods(P, Y, observed)
            if scoring == "recovery" and true.any():
                P[true] = np.asarray(fitted.enhance(*rows.targets(test[true])))
            intersections[k, true] = np.minimum(P[true], D[true]).sum(axis=1)
    return log_likelihoods, intersections
