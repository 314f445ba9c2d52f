"""BoostedLDL: gradient-boosted trees for label distributions, or votes behind 0/1 labels."""

from __future__ import annotations

from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ldlearn._optional_imports import import_optional
from ldlearn.base import (
    AtLeastTwo,
    Capabilities,
    Learner,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.base.sklearn_private import Interval
from ldlearn.core.resources import thread_count
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import (
    Array,
    Indices,
    Mask,
    SampleWeight,
    log_mean_distribution,
    log_softmax,
    row_weights,
    softmax,
)
from ldlearn.core.targets import check_logical
from ldlearn.core.trees import MAX_DEPTH, Trees
from ldlearn.core.votes import vote_losses, vote_slopes
from ldlearn.exceptions import InputError


@estimator_dataclass
class BoostedLDL(Learner):
    r"""Gradient-boosted trees with soft targets, by LightGBM (extra ``boost``).

    Assumes that scores are sums of small trees. Use it for features that are not linear in their
    effect, have missing values (NaN) or are categorical. With ``target="degrees"`` it learns from
    label distributions,

    .. math:: \min_Z\; KL(D, P), \qquad P = softmax(Z),

    with ``target="votes"`` from 0/1 labels, by the likelihood of `VoteLDL`:

    .. math::

        \max_{Z, \lambda}\; \sum_{ij} \ln P(y_{ij} | x_i), \qquad
        P(y_j = 1 | x) = 1 - e^{-\lambda p_j(x)}.

    Each round adds one tree per label to Z. The number of rounds is the one with the least loss on
    validation rows.

    Parameters
    ----------
    target : {"degrees", "votes"}, default="degrees"
        What y of ``fit`` is: label distributions, or 0/1 labels (NaN where unobserved).
    n_estimators : int, default=200
        Maximum number of rounds.
    learning_rate : float, default=0.15
    max_leaf_nodes : int, default=8
        Leaves of a tree.
    min_samples_leaf : int, default=20
    l2 : float, default=10.0
        Penalty on the values of the leaves.
    max_features : float, default=0.3
        Fraction of the features that is tried for a tree.
    n_iter_no_change : int, default=10
        Stop after this number of rounds without a smaller loss on the validation rows.
    categorical_features : list of int or of str, default=None
        Columns, by position or name, whose values are codes 0, 1, 2, ... of categories.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws of features and validation rows.

    Attributes
    ----------
    trees_ : Trees or None
        The trees of all rounds as arrays, the labels of a round in turn; None without a round.
        Predictions need no LightGBM.
    intercept_ : ndarray of shape (n_labels,)
        Scores before the first round.
    lambda_ : float
        Mean number of votes of a row; NaN if ``target="degrees"``.
    n_estimators_ : int
        Number of rounds that are used.
    data_min_ : ndarray of shape (n_features,)
        Smallest value of each feature, which is subtracted, because LightGBM gives 0 a bin of its
        own; 0 if a sparse matrix has no negative value of the feature. Sparse matrices with
        negative values are made dense.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Ours. Departures from the paper: not applicable. The derivatives of the loss with respect to Z
    are ``P - D`` and ``P (1 - P) c / (c - 1)`` for c labels, as in LightGBM's own multi-class
    objective; for votes the second is that of Gauss and Newton. lambda makes one Newton step per
    round.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import BoostedLDL
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> D = np.where(np.abs(X) < 0.5, [[0.9, 0.1]], [[0.2, 0.8]])
    >>> P = BoostedLDL().fit(X, D).predict([[0.0], [0.9]])
    >>> bool(np.abs(P - [[0.9, 0.1], [0.2, 0.8]]).max() < 0.05)
    True
    """

    learned = {
        "trees_": "Trees | None",
        "intercept_": "float (n_labels)",
        "lambda_": "float",
        "n_estimators_": "int",
        "data_min_": "float (n_features)",
    }

    float32_tolerance = 1e-2
    _test_params = (
        {
            "n_estimators": 3,
            "min_samples_leaf": 2,
            "l2": 0.1,
            "max_features": 1.0,
        },
    )

    target: Literal["degrees", "votes"] = "degrees"
    n_estimators: PositiveInt = 200
    learning_rate: Positive = 0.15
    max_leaf_nodes: AtLeastTwo = 8
    min_samples_leaf: PositiveInt = 20
    l2: NonNegative = 10.0
    max_features: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.3
    n_iter_no_change: PositiveInt = 10
    categorical_features: Annotated[Any, "array-like"] | None = None
    random_state: RandomState = 0

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        # Ties between splits are broken by the order of rows; leaves count rows, not weights.
        tags.order_invariant = False
        tags.label_invariant = False
        tags.weight_equals_repetition = False
        return tags

    def _check_targets(self, y: Any) -> Array:
        if self.target == "votes":
            return check_logical(y, nan="allow")
        return super()._check_targets(y)

    def _fit(
        self,
        X: Any,
        T: Array,
        sample_weight: SampleWeight | None = None,
        validation: Mask | None = None,
    ) -> None:
        lightgbm = import_optional("lightgbm", "boost", "Boosted trees")
        if validation is not None and (validation.all() or not validation.any()):
            raise InputError(
                "validation must be a boolean mask of some, but not all, of the "
                f"{len(T)} rows of positive sample weight."
            )
        rng = check_random_state(self.random_state)
        categorical = self._find_categorical(X)
        self.data_min_ = _column_minima(X)
        X = self._as_matrix(X)
        group = _group_equal_rows(X, rng)
        held_out = validation
        if held_out is None:
            held_out = (rng.permutation(group.max() + 1) % 5 == 0)[group]
        trained = held_out if held_out.all() else ~held_out
        weights = row_weights(T, sample_weight)
        make_loss = _DegreeLoss if self.target == "degrees" else _VoteLoss
        loss = make_loss(T[trained], weights[trained])
        self.n_estimators_ = 0
        self.intercept_ = loss.intercept
        self.trees_ = None
        # LightGBM needs a feature that varies.
        if T.shape[1] > 1 and len(np.unique(group[trained])) > 1:
            params = self._lightgbm_params(loss, rng.randint(2**31 - 1))

            def dataset(rows: Mask, reference: Any = None) -> Any:
                return lightgbm.Dataset(
                    X[rows],
                    label=np.zeros(rows.sum()),
                    init_score=np.tile(loss.intercept, (rows.sum(), 1)),
                    categorical_feature=categorical,
                    params=params,
                    reference=reference,
                )

            def held_out_loss(Z: Array, _: Any) -> tuple[str, float, bool]:
                return "loss", loss.mean_loss(Z, T[held_out], weights[held_out]), False

            train = dataset(trained)
            booster = lightgbm.train(
                params,
                train,
                self.n_estimators,
                valid_sets=[dataset(held_out, train)],
                feval=held_out_loss,
                callbacks=[lightgbm.early_stopping(self.n_iter_no_change, verbose=False)],
            )
            self.n_estimators_ = booster.best_iteration
            self.trees_ = Trees.from_lightgbm(booster)
        self.lambda_ = float(loss.rate)

    def _lightgbm_params(self, loss: _DegreeLoss | _VoteLoss, seed: int) -> dict[str, Any]:
        return {
            "objective": lambda Z, _: loss.derivatives(Z),
            "num_class": len(loss.intercept),
            "metric": "none",
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaf_nodes,
            "max_depth": MAX_DEPTH,
            "min_data_in_leaf": self.min_samples_leaf,
            "lambda_l2": self.l2,
            "feature_fraction": self.max_features,
            "feature_pre_filter": False,
            "max_bin": 63,
            "seed": seed,
            "num_threads": thread_count(),
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }

    def _find_categorical(self, X: Any) -> list[int]:
        """Positions of the categorical columns, which must hold codes."""
        if self.categorical_features is None:
            return []
        given = list(self.categorical_features)
        names = list(getattr(self, "feature_names_in_", []))
        try:
            positions = [
                names.index(name) if isinstance(name, str) else range(X.shape[1])[name]
                for name in given
            ]
        except (ValueError, IndexError, TypeError):
            raise InputError(
                f"categorical_features must be columns of X, got {given!r:.80}."
            ) from None
        columns = to_dense(X[:, positions])
        in_range = (columns >= 0) & (columns <= 2**31 - 2)
        is_code = in_range & (columns == np.floor(columns))
        bad = np.argwhere(~is_code & ~np.isnan(columns))
        if len(bad):
            row, k = bad[0]
            raise InputError(
                f"The categorical column {given[k]!r} has {columns[row, k]:g} at row {row}: "
                "encode its categories as 0, 1, 2, ... (NaN if missing)."
            )
        return positions

    def _as_matrix(self, X: Any) -> Any:
        """Features minus ``data_min_``; LightGBM takes scipy's matrices, not its sparse arrays."""
        if sparse.issparse(X) and not self.data_min_.any():
            return sparse.csr_matrix(X)
        return to_dense(X) - self.data_min_

    def _predict(self, X: Any) -> Array:
        Z = np.tile(self.intercept_, (X.shape[0], 1))
        if self.trees_ is not None:
            Z += self.trees_.sum_scores(X, self.data_min_, Z.shape[1])
        return softmax(Z)


class _DegreeLoss:
    """Cross-entropy of the degrees of the training rows and the softmax of their scores."""

    rate = np.nan

    def __init__(self, D: Array, weights: SampleWeight) -> None:
        self.D = D
        self.weights = weights[:, None]
        self.intercept = log_mean_distribution(D, weights)

    def derivatives(self, Z: Array) -> tuple[Array, Array]:
        """First derivatives and the diagonal of the second, scaled as by LightGBM."""
        P = softmax(Z)
        c = P.shape[1]
        gradient = self.weights * (P - self.D)
        return gradient, self.weights * P * (1.0 - P) * (c / (c - 1))

    def mean_loss(self, Z: Array, D: Array, weights: SampleWeight) -> float:
        """Mean loss of other rows."""
        losses = -np.sum(D * log_softmax(Z), axis=1)
        return np.average(losses, weights=weights)


class _VoteLoss:
    """Negative log-likelihood of 0/1 labels (NaN: unobserved) from ``rate`` votes, softmax(Z)."""

    def __init__(self, Y: Array, weights: SampleWeight) -> None:
        self.counts = ~np.isnan(Y) * weights[:, None]
        self.Y = np.nan_to_num(Y)
        positive = (self.counts * self.Y).sum(axis=0) + 0.5
        votes = -np.log1p(-positive / (self.counts.sum(axis=0) + 1.0))
        self.intercept = np.log(votes / votes.sum())
        self.log_rate = np.log(votes.sum())

    @property
    def rate(self) -> float:
        return np.exp(self.log_rate)

    def derivatives(self, Z: Array) -> tuple[Array, Array]:
        """First derivatives and the diagonal of Gauss and Newton's matrix.

        Then a Newton step updates the rate.
        """
        log_P = log_softmax(Z)
        P = np.exp(log_P)
        c = P.shape[1]
        slope, curvature = vote_slopes(log_P + self.log_rate, self.Y)
        slope = self.counts * slope
        curvature = self.counts * curvature
        gradient = slope - P * slope.sum(axis=1, keepdims=True)
        total = curvature.sum(axis=1, keepdims=True)
        diagonal = curvature * (1.0 - 2.0 * P) + P**2 * total
        step = slope.sum() / max(curvature.sum(), 1e-12)
        self.log_rate -= np.clip(step, -1.0, 1.0)
        return gradient, np.maximum(diagonal, 0.0) * (c / (c - 1))  # below 0 only by rounding

    def mean_loss(self, Z: Array, Y: Array, weights: SampleWeight) -> float:
        """Mean loss of other rows."""
        losses = vote_losses(log_softmax(Z) + self.log_rate, np.nan_to_num(Y))
        observed = np.sum(losses, axis=1, where=~np.isnan(Y))
        return np.average(observed, weights=weights)


def _column_minima(X: Any) -> Array:
    """Smallest value of each column; 0 if none is known, and at most 0 if X is sparse."""
    if sparse.issparse(X):
        smallest = np.minimum(to_dense(X.nanmin(axis=0)).ravel(), 0.0)
    else:
        smallest = np.fmin.reduce(X)
    return np.nan_to_num(smallest.astype(np.float64))


def _group_equal_rows(X: Any, rng: Any) -> Indices:
    """A number for each row, the same for rows with the same features."""
    direction = rng.normal(size=X.shape[1])
    if sparse.issparse(X):
        projected = X @ direction
    else:  # not by BLAS, in which the same row may give another number at another place
        projected = np.einsum("ij,j->i", np.nan_to_num(X), direction)
    return np.unique(projected, return_inverse=True)[1]
