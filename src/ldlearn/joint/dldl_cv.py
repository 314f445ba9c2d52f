"""DLDLCV: DLDL whose weights and feature map are chosen by cross-validation, with or without any truth."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from ldlearn.base import WeighsRows
from ldlearn.base.sklearn_private import HasMethods, Interval, StrOptions
from ldlearn.core.simplex import Array, Mask, Weights
from ldlearn.core.targets import check_some_degrees
from ldlearn.errors import InputError
from ldlearn.joint.default_gamma import default_gamma
from ldlearn.joint.dldl import DLDL
from ldlearn.joint.dldl_choice import choose_weights
from ldlearn.joint.intervals import Doubt, GivesIntervals
from ldlearn.joint.label_model import Fold, make_folds, shuffled_by_features

_BETAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # tried where true degrees can judge them
_TINY = 1e-9  # instead of a beta of 0, which has no logarithm
_BEYOND_CHANCE = 1.645  # standard errors of a paired difference: a level of 5 %
_PARAMS = ("alpha", "beta", "gamma", "feature_map")
Point = dict[str, Any]


class DLDLCV(WeighsRows, GivesIntervals):
    """`DLDL` with weights and feature map chosen by cross-validation.

    By the 0/1 labels alone: gamma and alpha are those under whose predictions held-out labels are likeliest (the vote
    likelihood, as `score` has it), and a later feature map replaces an earlier one where it makes them likelier
    beyond chance. beta is that of DLDL's own rule, for each feature map, because the likelihood of labels prefers a
    beta that is too large. If the true degrees of some rows are known (``fit(X, y, degrees=...)``), they are kept in
    every fit and judge while they are held out: another setting replaces the choice of the labels where it is nearer
    to them beyond chance. Use it when time allows to ask whether features act linearly.

    Parameters
    ----------
    estimator : DLDL, default=None
        Everything that is not searched: neighbours, number of components, iterations. None means ``DLDL()``.
    alphas : sequence of float, default=(0.0,)
        Weights of the graph term to try.
    betas : sequence of float, default=None
        Weights of ``|D|^2`` to try. None is the one of DLDL's rule; besides it, where degrees are known, 0.1 to 100.
        Without known degrees the one nearest to the rule's is chosen.
    gamma_ratios : sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
        Weights of ``|W|^2`` to try, as multiples of 0.03 times the sum of the (mapped) features' variances.
    feature_maps : sequence of None, "rbf" or transformer, default=(None, "rbf")
        Feature maps to try, the one to keep in doubt first.
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
        Fitted on all rows with the weights chosen.
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
        What was chosen, and why.
    label_distributions_ : ndarray of shape (n, c)
        The recovered degrees.
    n_splits_ : int
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Ours, not the paper's. Departures from the paper: it tunes on the true degrees of validation rows.

    Fits of one fold and one feature map share their work (`DLDL.fit_path`).

    Examples
    --------
    >>> from ldlearn import DLDL, DLDLCV
    >>> from ldlearn.datasets import make_label_distributions
    >>> data = make_label_distributions(200, 4, 3, labels="votes", n_raters=20)
    >>> search = DLDLCV(DLDL(n_components=30), cv=2, random_state=0).fit(data.X, data.Y)
    >>> sorted(search.best_params_)
    ['alpha', 'beta', 'feature_map', 'gamma']
    >>> len(search.cv_results_["mean_test_score"])  # five gammas, two feature maps
    10
    >>> search.predict(data.X[:2]).shape
    (2, 3)
    """

    keeps_support = True
    takes_unknown = True
    weights_repeat_rows = False  # a row twice may be in two folds
    _accepts_sparse = True
    _test_params: ClassVar[tuple[dict[str, Any], ...]] = (
        {"cv": 2, "gamma_ratios": (0.3, 1.0), "feature_maps": (None,)},
        {
            "cv": 2,
            "gamma_ratios": (1.0,),
            "alphas": (0.0, 0.1),
            "betas": (10.0,),
            "feature_maps": (None, "rbf"),
            "estimator": DLDL(n_neighbors=1, n_components=4),
        },
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "fit_path"]), None],
        "alphas": ["array-like"],
        "betas": ["array-like", None],
        "gamma_ratios": ["array-like"],
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
        gamma_ratios: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
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

    @property
    def order_invariant(self) -> bool:  # type: ignore[override]
        """Only a feature map, which may draw rows at random, can depend on the order of samples."""
        return all(feature_map is None for feature_map in self.feature_maps)

    @property
    def empty_rows(self) -> str:
        """What happens to rows without a positive label: as the estimator has it."""
        return str(self._template().empty_rows)

    def _template(self, **params: Any) -> Any:
        """The estimator to fit."""
        template = DLDL() if self.estimator is None else clone(self.estimator)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = np.random.RandomState(0)
            seed.set_state(self.random_state.get_state())  # the same for every fit, and the user's own untouched
        return template.set_params(random_state=seed, **params)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, degrees: Any = None) -> Self:  # type: ignore[override]
        """Choose the weights and the feature map, then fit on all rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, m)
            Features.
        y : array-like or data frame of shape (n, c)
            Logical labels: 1, 0, or NaN where it is unknown.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts, in every fit and where it judges.
        degrees : array-like or data frame of shape (n, c), default=None
            True degrees where they are known, rows of NaN elsewhere. They are kept in every fit, and judge the
            settings while they are held out.

        Returns
        -------
        self
        """
        return self._fit_rows(X, y, sample_weight=sample_weight, degrees=degrees)

    def _check_row_data(self, name: str, value: Any, X: Any) -> Any:
        if name != "degrees":
            return super()._check_row_data(name, value, X)
        D = check_some_degrees(value, self.label_names_, X.shape[0])
        if np.isnan(D).all():
            raise InputError("degrees are unknown in every row; leave the argument out to choose by 0/1 labels alone.")
        return D

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: Weights | None = None,
        known: Mask | None = None,
        degrees: Array | None = None,
    ) -> None:
        rows = _Rows(X, Y, sample_weight, known, degrees)
        folds = self._folds(X, degrees)
        settings = [self._setting(feature_map, rows) for feature_map in self.feature_maps]
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_held_out)(setting, rows, fold, self.scoring) for setting in settings for fold in folds
        )
        table = _Table.of(settings, len(folds), found)
        self.n_splits_ = len(folds)
        self.best_index_, self.choice_ = table.choose()
        self.cv_results_ = table.results()
        self.best_params_ = dict(table.points[self.best_index_])
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_estimator_ = self._template(**self.best_params_).fit(*rows.targets(), **rows.given())
        self.label_distributions_ = self.best_estimator_.label_distributions_

    def _folds(self, X: Any, D: Array | None) -> list[Fold]:
        """Rows with known degrees are dealt out first, so that every fold has its share of them."""
        rows = shuffled_by_features(X)
        if D is not None:
            rows = rows[np.argsort(np.isnan(D[rows, 0]), kind="stable")]
        n_folds = min(self.cv, len(rows) // 2)
        return make_folds(rows, n_folds) if n_folds > 1 else []

    def _setting(self, feature_map: Any, rows: _Rows) -> _Setting:
        """The points to try with one feature map, and DLDL's own beta for it."""
        model = self._template(feature_map=feature_map)
        features = model.make_features(rows.X, rows.weights)
        unit = default_gamma(features)
        given = {"gamma": unit, "label_model": model.label_model, "max_iter": model.max_iter, "known": rows.known}
        rule = choose_weights(features.X, rows.Y, features, **given)
        if self.betas is not None:
            betas = [float(beta) for beta in self.betas]
        else:
            betas = [rule.beta, *(() if rows.degrees is None else _BETAS)]
        # gamma slowest, then alpha: so that `fit_path` shares most
        grid = product(self.gamma_ratios, self.alphas, betas)
        points = [{"alpha": float(a), "beta": b, "gamma": float(ratio * unit)} for ratio, a, b in grid]
        nearest = min(betas, key=lambda beta: abs(np.log(max(beta, _TINY) / max(rule.beta, _TINY))))
        return _Setting(model, points, nearest, rule.words)

    def _find_doubt(self) -> Doubt:
        doubt: Doubt = self.best_estimator_._find_doubt()
        return doubt

    def _mapped(self, X: Any) -> Any:
        return self.best_estimator_._mapped(X)

    def _predict(self, X: Any) -> Array:
        return np.asarray(self.best_estimator_._predict(X))

    def _enhance(self, X: Any, Y: Mask, **row_data: Any) -> Array:
        return np.asarray(self.best_estimator_._enhance(X, Y, **row_data))


@dataclass(frozen=True)
class _Setting:
    """What is tried with one feature map."""

    model: DLDL
    points: list[Point]
    beta: float  # of those tried, the one that the labels choose
    words: str


@dataclass(frozen=True)
class _Rows:
    """Everything that is known of the training rows."""

    X: Any
    Y: Mask
    weights: Weights | None
    known: Mask | None
    degrees: Array | None

    def targets(self, part: Any = slice(None)) -> tuple[Any, Array]:
        """Features and labels of some rows, as `fit` takes them."""
        Y = self.Y[part].astype(np.float64)
        return self.X[part], Y if self.known is None else np.where(self.known[part], Y, np.nan)

    def given(self, part: Any = slice(None)) -> dict[str, Any]:
        """What else `fit` takes of these rows."""
        data = {"sample_weight": self.weights, "degrees": self.degrees}
        return {name: value[part] for name, value in data.items() if value is not None}


@dataclass(frozen=True)
class _Judged:
    """What rows held out say of a point: one number for each, and how often it counts."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: list[_Judged]) -> _Judged:
        """Those of all folds."""
        return cls(np.concatenate([part.values for part in parts]), np.concatenate([part.weights for part in parts]))

    @property
    def mean(self) -> float:
        """NaN without any row."""
        return float(np.average(self.values, weights=self.weights)) if len(self.values) else np.nan

    def is_beyond_chance(self, other: _Judged) -> bool:
        """Whether this is greater than what the same rows say of another point, by a paired test."""
        if len(self.values) < 2:
            return False
        gain = self.values - other.values
        mean = np.average(gain, weights=self.weights)
        error = np.sqrt(np.sum((self.weights * (gain - mean)) ** 2)) / self.weights.sum()
        return bool(mean > _BEYOND_CHANCE * error)


def _held_out(setting: _Setting, rows: _Rows, fold: Fold, scoring: str) -> tuple[list[_Judged], list[_Judged]]:
    """Of each point, the log-likelihoods of the labels held out, and the intersections with the degrees held out."""
    test = fold.test
    X, Y, known = rows.X[test], rows.Y[test], None if rows.known is None else rows.known[test]
    weights = np.ones(len(test)) if rows.weights is None else rows.weights[test]
    D = np.full(Y.shape, np.nan) if rows.degrees is None else rows.degrees[test]
    true = ~np.isnan(D[:, 0])
    likelihoods, nearness = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last fit, on all rows, says so if it matters
        for model in setting.model.fit_path(*rows.targets(fold.train), setting.points, **rows.given(fold.train)):
            P = model.predict(X)
            likelihoods.append(_Judged(model._label_likelihoods(P, Y, known), weights))
            found = P[true]
            if scoring == "recovery" and true.any():
                found = model.enhance(*rows.targets(test[true]))
            nearness.append(_Judged(np.minimum(found, D[true]).sum(axis=1), weights[true]))
    return likelihoods, nearness


@dataclass(frozen=True)
class _Table:
    """What the folds say of every point."""

    points: list[Point]
    by_labels: list[list[int]]  # for each feature map, the points with the beta of its rule
    likelihoods: list[list[_Judged]]  # for each point and fold
    nearness: list[list[_Judged]]  # the same, of the rows with known degrees
    words: list[str]  # of each point

    @classmethod
    def of(cls, settings: list[_Setting], n_folds: int, found: list[Any]) -> Self:
        """From one entry of ``found`` for each setting and, within it, each fold."""
        table = cls([], [], [], [], [])
        for k, setting in enumerate(settings):
            mine = found[k * n_folds : (k + 1) * n_folds]
            start = len(table.points)
            table.by_labels.append([start + i for i, p in enumerate(setting.points) if p["beta"] == setting.beta])
            for i, point in enumerate(setting.points):
                table.points.append({**point, "feature_map": setting.model.feature_map})
                table.words.append(setting.words)
                table.likelihoods.append([fold[0][i] for fold in mine])
                table.nearness.append([fold[1][i] for fold in mine])
        return table

    @property
    def judged(self) -> bool:
        """Whether any degree is known."""
        return any(len(rows.values) for rows in self.nearness[0])

    def choose(self) -> tuple[int, str]:
        """The place of the best point, and why it is that."""
        if not self.likelihoods[0]:
            chosen, why = self.by_labels[0][0], "too few rows to choose by, the first setting"
        else:
            chosen, why = self._by_likelihood()
        if self.judged:
            chosen, why = self._by_degrees(chosen, why)
        return chosen, f"{_described(self.points[chosen])}: {why}"

    def _by_likelihood(self) -> tuple[int, str]:
        rows = [_Judged.joined(parts) for parts in self.likelihoods]
        best = [max(group, key=lambda k: rows[k].mean) for group in self.by_labels]
        chosen = best[0]
        for later in best[1:]:
            chosen = later if rows[later].is_beyond_chance(rows[chosen]) else chosen
        why = f"held-out labels are likeliest (log-likelihood per row {rows[chosen].mean:.3f})"
        return chosen, f"{why}; {self.words[chosen]}"

    def _by_degrees(self, chosen: int, why: str) -> tuple[int, str]:
        """Another point than the labels chose, if it is nearer to known degrees beyond chance."""
        rows = [_Judged.joined(parts) for parts in self.nearness]
        nearest = max(range(len(rows)), key=lambda k: rows[k].mean)
        n = len(rows[0].values)
        if rows[nearest].is_beyond_chance(rows[chosen]):
            gain = rows[nearest].mean - rows[chosen].mean
            return nearest, f"nearest to the degrees held out, by {gain:.3f} in {n} rows"
        return chosen, f"known degrees ({n} rows) prefer nothing else beyond chance; {why}"

    def results(self) -> dict[str, Any]:
        """``cv_results_``."""
        splits = _means(self.nearness if self.judged else self.likelihoods)
        columns = {f"param_{name}": _objects([_plain(point[name]) for point in self.points]) for name in _PARAMS}
        columns |= {f"split{k}_test_score": column for k, column in enumerate(splits.T)}
        some = np.ma.masked_invalid(splits)  # a fold may hold no known row; of few rows there is no fold at all
        mean = some.mean(axis=1).filled(np.nan)
        columns |= {"mean_test_score": mean, "std_test_score": some.std(axis=1).filled(np.nan)}
        columns["rank_test_score"] = rankdata(-np.nan_to_num(mean), method="min").astype(np.int32)
        if self.judged:
            columns["mean_test_log_likelihood"] = _means(self.likelihoods).mean(axis=1)
        return {"params": self.points, **columns}


def _means(parts: list[list[_Judged]]) -> NDArray[np.float64]:
    """The mean of each part: shape (points, folds)."""
    return np.array([[rows.mean for rows in folds] for folds in parts]).reshape(len(parts), -1)


def _described(point: Point) -> str:
    weights = ", ".join(f"{name}={point[name]:.3g}" for name in _PARAMS if name != "feature_map")
    return f"{weights}, feature_map={_plain(point['feature_map'])!r:.40}"


def _plain(value: Any) -> Any:
    """A value of the grid as a table can hold it: a transformer by its name."""
    return value if value is None or isinstance(value, int | float | str) else repr(value)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
