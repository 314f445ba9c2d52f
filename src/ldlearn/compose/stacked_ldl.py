"""StackedLDL: a mixture of linear and non-linear predictors, learned from 0/1 labels."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np
from scipy import optimize
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ldlearn.base import Capabilities, JointModel, LabelEstimator
from ldlearn.base.parameters import Positive, estimator_dataclass
from ldlearn.base.row_data import RowData, given_row_data
from ldlearn.base.sklearn_private import Interval
from ldlearn.compose.enhance_then_learn import find_capabilities
from ldlearn.core.kernels import make_feature_map
from ldlearn.core.negative_labels import concentration, mix_with_prediction
from ldlearn.core.simplex import (
    Array,
    Indices,
    Mask,
    SampleWeight,
    clip_degrees,
    normalize_rows,
    row_weights,
)
from ldlearn.core.targets import join_observed, possible_labels
from ldlearn.core.votes import (
    expected_votes,
    label_weights,
    profile_log_rate,
    vote_losses,
    vote_slopes,
)
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.joint import DLDL, VoteLDL
from ldlearn.learning import MLPLDL, SABFGS, BoostedLDL
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.folds import Fold, validation_folds
from ldlearn.solvers.newton_simplex import newton_simplex

_Members = list[tuple[str, Any]]
_Loss = Callable[[Array], tuple[float, Array]]
# Log-likelihood by which other members have to be better before they outweigh the first one
_PRIOR = 8.0


@estimator_dataclass
class StackedLDL(JointModel):
    r"""A mixture of several predictors, linear and not, learned from 0/1 labels.

    Assumes what `DLDL` assumes of the degrees, but not that a softmax of linear scores predicts
    them. Use it if prediction matters more than a model that is easy to explain; it takes up to ten
    times as long as `DLDL`.

    1. A teacher, ``DLDL()``, recovers degrees from the 0/1 labels. What it selects is not selected
       again.
    2. Each member is trained in folds: a learner, a regressor or `DLDL` on the teacher's degrees,
       other joint models and ``BoostedLDL(target="votes")`` on the 0/1 labels. :math:`P_k` are its
       out-of-fold predictions of the training rows; for new rows the models of the folds are
       averaged.
    3. Neutral degrees N are the average of the D-step of DLDL with the teacher's beta and of the
       expected votes (`VoteLDL`), both given the mean of the members' out-of-fold predictions.
    4. The weights w of the members are the average of two solutions on the simplex,

       .. math::

          \max_w\; \ln P(Y | \lambda \sum_k w_k P_k) + 8 \ln w_1, \qquad
          \min_w\; KL(N, \sum_k w_k P_k),

       the first being the likelihood of `VoteLDL`; the first member is the reference that others
       have to outdo.
    5. The prediction is :math:`\sum_k w_k P_k`; recovered degrees are the D-step given this
       mixture, out of fold for the training rows.

    Parameters
    ----------
    members : list of (str, estimator), default=None
        Names and members: learners or joint models of this library, or regressors with several
        outputs. None means "linear" (`SABFGS` with the teacher's gamma), "kernel" (`DLDL` with 200
        Nystroem features), "networks" (`MLPLDL`), "votes" (`VoteLDL`) and, if LightGBM is
        installed, "boosted votes" (``BoostedLDL(target="votes", n_estimators=60)``). A member that
        fails is dropped with a warning.
    zeros : {"none", "less"} or float, default="none"
        What a 0 means, as for `DLDL`: with "less" the recovered degrees are mixed with the
        prediction, which is the same for all values.
    teacher : DLDL, default=None
        None means ``DLDL()``. Its own `zeros` is not used.
    max_rows : int, default=4000
        Members are trained on at most this number of rows, drawn by their features; the teacher on
        all rows.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        The recovered degrees.
    members_ : dict of str to list of estimators
        The models of the folds of each member that did not fail.
    member_weights_ : ndarray of shape (n_members,)
        w, in the order of ``members_``; `describe_members` puts them into words.
    beta_, kappa_, n_votes_ : float
        Parameters of the D-step, as selected by the teacher (see `DLDL`).
    selection_summary_ : str
        What the teacher selected, and the members with their weights.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Ours, not the paper's. Departures from the paper: not applicable. There are five folds, or three
    to four if there are more than 1,000 rows; rows with the same features, or of the same group,
    are in the same fold. The model stores the features of the 200 training rows of each fold that
    the kernel compares new rows with. There is no posterior of the mixture, so that it gives no
    credible intervals: `ConformalIntervals` does, if some true degrees are known.

    Examples
    --------
    >>> from ldlearn import DLDL, StackedLDL
    >>> from ldlearn.datasets import make_label_distributions
    >>> from ldlearn.learning import MLPLDL, SABFGS
    >>> data = make_label_distributions(200, labels="votes", n_raters=20)
    >>> members = [("linear", SABFGS()), ("networks", MLPLDL(hidden_layer_sizes=8))]
    >>> model = StackedLDL(members=members, teacher=DLDL(beta=1.0, gamma=0.1)).fit(data.X, data.Y)
    >>> model.predict(data.X[:3]).shape
    (3, 5)
    >>> list(model.members_)
    ['linear', 'networks']
    """

    learned = {
        "members_": "any",
        "member_weights_": "float (n_members)",
        "beta_": "float",
        "kappa_": "float",
        "n_votes_": "float",
        "selection_summary_": "str",
    }

    _test_params = (
        {
            "members": [
                ("linear", SABFGS()),
                ("networks", MLPLDL(hidden_layer_sizes=3, n_networks=1, max_iter=5)),
            ],
            "teacher": DLDL(beta=1.0, gamma=1.0, max_iter=2),
        },
    )
    float32_tolerance = 1e-2

    members: Annotated[_Members, list] | None = None
    zeros: Literal["none", "less"] | Positive = "none"
    teacher: DLDL | None = None
    max_rows: Annotated[int, Interval(Integral, 10, None, closed="left")] = 4000

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        members = [member for _, member in self._given_members()]
        tags.input_tags.sparse = all(find_capabilities(each).input_tags.sparse for each in members)
        tags.sample_weight = all(_uses(each, "sample_weight") for each in members)
        tags.keeps_zeros = self.zeros == "none"
        # Folds and networks depend on rounding errors.
        tags.order_invariant = False
        tags.label_invariant = False
        tags.weight_equals_repetition = False
        return tags

    def describe_members(self) -> str:
        """The members and their weights in words, the largest weight first."""
        check_is_fitted(self)
        names = list(self.members_)
        order = np.argsort(-self.member_weights_, kind="stable")
        parts = [f"{self.member_weights_[k]:.0%} {names[k]}" for k in order]
        return f"prediction: {', '.join(parts)}"

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
        groups: Indices | None = None,
    ) -> None:
        labels = join_observed(Y, observed)
        row_data = given_row_data(sample_weight=sample_weight, groups=groups)
        teacher = clone(self.teacher or DLDL()).set_params(zeros="none").fit(X, labels, **row_data)
        self.beta_ = teacher.beta_
        self.n_votes_ = teacher.n_votes_
        self.kappa_ = concentration(self.zeros, self.n_votes_)
        features = CentredMatrix(X, sample_weight=sample_weight)
        folds = validation_folds(features, groups, max_rows=self.max_rows, min_folds=3)
        if not folds:  # too few rows to leave some out
            folds = [Fold(np.arange(len(Y)), np.arange(len(Y)))]
        members = self._given_members()
        if self.members is None:
            votes = VoteLDL().fit(X, labels, **row_data)
            fewest = min((fold.train for fold in folds), key=len)
            members = _default_members(teacher, votes, X[fewest])
        P = self._fit_members(members, folds, X, labels, teacher.label_distributions_, row_data)
        weights = label_weights(sample_weight, observed)
        mean = np.log(P.mean(axis=0))
        log_rate = profile_log_rate(mean, Y, weights=weights)
        by_votes = normalize_rows(expected_votes(mean + log_rate, Y, observed))
        neutral = (self._update_degrees(np.exp(mean), Y, observed) + by_votes) / 2.0
        likeliest = _minimize_on_simplex(_vote_loss(P, Y, log_rate, weights), len(P))
        nearest = _minimize_on_simplex(_degree_loss(P, neutral, sample_weight), len(P))
        self.member_weights_ = (likeliest + nearest) / 2.0
        mixture = np.tensordot(self.member_weights_, P, axes=1)
        self.label_distributions_ = self._enhance_given(mixture, Y, observed)
        summaries = [teacher.selection_summary_, self.describe_members()]
        self.selection_summary_ = "; ".join(filter(None, summaries))

    def _given_members(self) -> _Members:
        if self.members is None:
            return []
        names = set()
        for entry in self.members:
            match entry:
                case (str(name), _) if isinstance(entry, tuple):
                    names.add(name)
        if not self.members or len(names) < len(self.members):
            raise ParameterError(
                "members must be a list of pairs (name, estimator) with different names."
            )
        return self.members

    def _fit_members(
        self,
        members: _Members,
        folds: list[Fold],
        X: Any,
        labels: Array,
        D: Array,
        row_data: RowData,
    ) -> Array:
        """Fit all members in folds, and return their out-of-fold predictions.

        Their shape is (n_members, n_samples, n_labels).
        """
        unused = np.setdiff1d(np.arange(len(D)), np.concatenate([fold.test for fold in folds]))
        self.members_ = {}
        predictions = []
        for name, member in members:
            try:
                P = np.empty(D.shape)
                models = []
                for k, fold in enumerate(folds):
                    models.append(_fit_member(member, X, labels, D, fold, row_data))
                    rows = np.concatenate([fold.test, unused[k :: len(folds)]])
                    P[rows] = _predict_member(models[k], X[rows], D.shape[1])
            except Exception as error:
                message = f"StackedLDL drops the member {name!r}, which failed: {error}"
                warnings.warn(message, stacklevel=5)
            else:
                self.members_[name] = models
                predictions.append(P)
        if not predictions:
            raise InputError("All members of StackedLDL failed; fit them on their own to see why.")
        return np.stack(predictions)

    def _enhance_given(self, P: Array, Y: Mask, observed: Mask | None = None) -> Array:
        """The degrees recovered given predictions P."""
        D = self._update_degrees(P, Y, observed)
        return mix_with_prediction(D, P, self.kappa_, self.n_votes_)

    def _update_degrees(self, P: Array, Y: Mask, observed: Mask | None) -> Array:
        """The D-step given predictions P."""
        support = possible_labels(Y, observed)
        return np.ascontiguousarray(newton_simplex(np.log(P), support, beta=self.beta_).D)

    def _predict(self, X: Any) -> Array:
        P = np.zeros((X.shape[0], len(self.label_names_)))
        for weight, models in zip(self.member_weights_, self.members_.values(), strict=True):
            if weight > 0.0:
                total = sum(_predict_member(model, X, P.shape[1]) for model in models)
                P += weight / len(models) * total
        return P

    def _enhance(self, X: Any, Y: Mask, observed: Mask | None = None) -> Array:
        return self._enhance_given(self._predict(X), Y, observed)


def _default_members(teacher: DLDL, votes: VoteLDL, X: Any) -> _Members:
    """The members of `StackedLDL`.

    The rows X determine the width, the features and the penalty of the kernel.
    """
    # Distances have no mean, and sparse features stay sparse.
    scaler = StandardScaler(with_mean=False)
    kernel = make_feature_map("rbf", scaler.fit_transform(X))
    feature_map = make_pipeline(scaler, kernel.set_params(n_components=min(200, X.shape[0])))
    gamma = default_gamma(CentredMatrix(feature_map.fit_transform(X)))
    members: _Members = [
        ("linear", SABFGS(l2=teacher.gamma_)),
        ("kernel", DLDL(beta=teacher.beta_, gamma=gamma, feature_map=feature_map)),
        ("networks", MLPLDL()),
        ("votes", VoteLDL(gamma=votes.gamma_)),
    ]
    if find_spec("lightgbm"):
        members.append(("boosted votes", BoostedLDL(target="votes", n_estimators=60)))
    return members


def _fit_member(member: Any, X: Any, labels: Array, D: Array, fold: Fold, row_data: RowData) -> Any:
    """A copy fitted on the training rows of a fold.

    A member that stops early does so on the validation rows.
    """
    learns_votes = isinstance(member, BoostedLDL) and member.target == "votes"
    targets = labels if learns_votes or isinstance(member, JointModel) else D
    rows = fold.train
    known: RowData = {}
    if _uses(member, "validation") and not np.array_equal(fold.train, fold.test):
        rows = np.concatenate([fold.train, fold.test])
        known["validation"] = np.arange(len(rows)) >= len(fold.train)
    for name, value in {**row_data, "degrees": D}.items():
        if _uses(member, name):
            known[name] = value[rows]
    model = clone(member).fit(X[rows], targets[rows], **known)
    vars(model).pop("_training_rows", None)  # for intervals, which members do not need
    return model


def _uses(member: Any, name: str) -> bool:
    """Whether the ``fit`` of a member can use a keyword."""
    if isinstance(member, LabelEstimator):
        return getattr(member.__sklearn_tags__(), name)
    return has_fit_parameter(member, name)


def _predict_member(model: Any, X: Any, n_labels: int) -> Array:
    """Predicted distributions without zeros, which would have no logarithm."""
    P = np.asarray(model.predict(X), dtype=np.float64)
    if P.shape != (X.shape[0], n_labels) or not np.isfinite(P).all():
        problem = f"does not predict {n_labels} finite numbers for each row"
        raise InputError(f"{type(model).__name__} {problem}.")
    if not isinstance(model, LabelEstimator):
        P = normalize_rows(P.clip(min=0.0))
    return clip_degrees(P)


def _vote_loss(P: Array, Y: Mask, log_rate: float, label_weights: Array | None) -> _Loss:
    """Negative log-posterior of mixture weights, from 0/1 labels and the predictions P.

    Parameters
    ----------
    P : ndarray of shape (n_members, n_samples, n_labels)
    Y : boolean ndarray of shape (n_samples, n_labels)
    log_rate : float
        Logarithm of the number of votes of a row.
    label_weights : ndarray broadcastable to Y, or None
        Sample weights of the labels, 0 where a label is unobserved.
    """
    weights = np.broadcast_to(1.0 if label_weights is None else label_weights, Y.shape)
    labels = Y.astype(np.float64)
    total = weights.sum()

    def loss(w: Array) -> tuple[float, Array]:
        mixture = np.tensordot(w, P, axes=1)
        first = max(w[0], 1e-12)
        theta = np.log(mixture) + log_rate
        value = np.sum(weights * vote_losses(theta, labels)) - _PRIOR * np.log(first)
        slopes, _ = vote_slopes(theta, labels)
        gradient = np.tensordot(P, weights * slopes / mixture, axes=2)
        gradient[0] -= _PRIOR / first
        return value / total, gradient / total

    return loss


def _degree_loss(P: Array, N: Array, sample_weight: SampleWeight | None) -> _Loss:
    """Mean cross-entropy of the degrees N and a mixture of the predictions P."""
    weights = row_weights(N, sample_weight)
    weighted = N * (weights / weights.sum())[:, None]

    def loss(w: Array) -> tuple[float, Array]:
        mixture = np.tensordot(w, P, axes=1)
        value = -np.sum(weighted * np.log(mixture))
        return value, -np.tensordot(P, weighted / mixture, axes=2)

    return loss


def _minimize_on_simplex(loss: _Loss, n: int) -> Array:
    """The weights with the least convex loss, by sequential quadratic programming.

    The start is equal weights.
    """
    # The line search may leave the simplex by rounding errors.
    found = optimize.minimize(
        lambda w: loss(w.clip(1e-12)),
        np.full(n, 1.0 / n),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(n)},
        options={"ftol": 1e-9},
    )
    return normalize_rows(found.x.clip(min=0.0)[None])[0]
