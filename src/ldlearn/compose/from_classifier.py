"""FromClassifier: degrees from the probabilities of any classifier of 0/1 labels, a baseline."""

from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import qr
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ldlearn.base import Capabilities, JointModel
from ldlearn.base.parameters import Positive, estimator_dataclass
from ldlearn.base.row_data import RowData, given_row_data
from ldlearn.base.sklearn_private import HasMethods
from ldlearn.core.graph import common_offsets, subtract_offsets
from ldlearn.core.negative_labels import concentration, mean_positives, mix_with_prediction
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import (
    Array,
    Indices,
    Mask,
    SampleWeight,
    normalize_rows,
    row_weights,
)
from ldlearn.core.targets import count_positives, positive_rates, possible_labels
from ldlearn.exceptions import InputError
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.folds import Fold, validation_folds


@estimator_dataclass
class FromClassifier(JointModel):
    r"""Degrees from the probabilities of a classifier of 0/1 labels.

    The usual baseline: classify every label, then normalise the probabilities. Any scikit-learn
    classifier with ``predict_proba`` can be used. A multi-label classifier is fitted to all labels,
    any other to each label separately. So is every classifier if some labels are unknown (NaN in
    y), to the rows where the label is observed; in the degrees of a row an unknown label counts as
    possible. ``sample_weight`` goes to the classifier if it takes any, or to the last step of a
    pipeline.

    .. math::

        p_j \propto P(y_j = 1 | x) \quad\text{or}\quad p_j \propto -\ln(1 - P(y_j = 1 | x)), \qquad
        D_j \propto y_j p_j

    Parameters
    ----------
    classifier : classifier, default=None
        Has ``fit`` and ``predict_proba``. None means a logistic regression for each label, its
        penalty selected by the likelihood of held-out labels.
    link : {"probability", "votes"}, default="probability"
        What is normalised: the probability itself, or the number of votes behind it, if a label is
        positive when it gets any (see `VoteLDL`). The second is nearer to the truth where the
        labels come from votes, ratings or counts.
    zeros : {"none", "less"} or float, default="none"
        What a 0 means: that the label has degree 0, or that it is not among the main ones. With
        "less" the recovered degrees are ``(D + p) / 2``, with a number kappa ``(1 - w) D + w p``,
        ``w = kappa / (kappa + n_votes_)``: see `ldlearn.DLDL`. The prediction is the same for all
        values.

    Attributes
    ----------
    classifier_ : fitted classifier, or list of one for each label in ``varied_``
    varied_ : ndarray of int
        Labels that are positive in some rows and negative in others. Only these are given to the
        classifier.
    shares_ : ndarray of shape (n_labels,)
        ``(k + 1/2) / (n + 1)`` for a label positive in k of n rows: the probability of the other
        labels.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        Degrees of the training rows: the predicted ones, restricted to the positive labels.
    kappa_ : float
        The concentration used; 0 if ``zeros="none"``.
    n_votes_ : float
        Mean number of positive labels of a row.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Ours, not the paper's. Departures from the paper: not applicable. No probability is taken to be
    nearer to 0 or 1 than n rows can tell, half a row in n + 1.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ldlearn import FromClassifier
    >>> from ldlearn.datasets import make_label_distributions
    >>> data = make_label_distributions(300, labels="votes")
    >>> model = FromClassifier(
    ...     classifier=RandomForestClassifier(20, random_state=0), link="votes"
    ... ).fit(data.X, data.Y)
    >>> model.predict(data.X[:3]).shape
    (3, 5)
    """

    learned = {
        "kappa_": "float",
        "n_votes_": "float",
        "varied_": "int (n_varied)",
        "shares_": "float (n_labels)",
        "_smallest_probability": "float",
        "_offsets": "float (n_features)",
        "classifier_": "list of ValidatedLogisticRegression | list of LogisticRegression",
    }

    is_baseline = True
    _test_params = (
        {},
        {"classifier": LogisticRegression(), "link": "votes"},
        {"classifier": LogisticRegression(), "zeros": "less"},
    )

    classifier: Annotated[Any, HasMethods(["fit", "predict_proba"])] | None = None
    link: Literal["probability", "votes"] = "probability"
    zeros: Literal["none", "less"] | Positive = "none"

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.keeps_zeros = self.zeros == "none"
        # Only the default classifier is known not to depend on the order of samples and labels.
        is_default = self.classifier is None
        tags.groups = is_default
        tags.order_invariant = is_default
        tags.label_invariant = is_default
        tags.weight_equals_repetition = is_default
        tags.input_tags.sparse = True
        if not is_default:
            tags.input_tags.sparse = _classifier_tags(self.classifier).input_tags.sparse
            tags.sample_weight = _weights_name(self.classifier) is not None
        return tags

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
        groups: Indices | None = None,
    ) -> None:
        total = row_weights(Y, sample_weight).sum()
        negative = ~Y if observed is None else observed & ~Y
        self.varied_ = np.flatnonzero(Y.any(axis=0) & negative.any(axis=0))
        positives, counts = count_positives(Y, observed, sample_weight)
        self.shares_ = positive_rates(positives, counts)
        self.n_votes_ = mean_positives(positives, counts, total)
        self.kappa_ = concentration(self.zeros, self.n_votes_)
        self._smallest_probability = float(0.5 / (total + 1.0))
        classifier = ValidatedLogisticRegression() if self.classifier is None else self.classifier
        row_data = given_row_data(groups=groups)
        if sample_weight is not None:
            row_data[str(_weights_name(classifier))] = sample_weight
        targets = Y[:, self.varied_].astype(np.int8)
        # No classifier knows more of a column that lies far from zero; many lose its digits there.
        self._offsets = common_offsets(X)
        near = subtract_offsets(X, self._offsets)
        if observed is None and len(self.varied_) > 1 and _takes_several_labels(classifier):
            self.classifier_ = _fit_classifier(classifier, near, targets, row_data, "the labels")
        else:
            self.classifier_ = []
            for j, column in zip(self.varied_, targets.T, strict=True):
                rows = slice(None) if observed is None else np.flatnonzero(observed[:, j])
                known = {name: value[rows] for name, value in row_data.items()}
                what = f"the label {self.label_names_[j]!r}"
                fitted = _fit_classifier(classifier, near[rows], column[rows], known, what)
                self.classifier_.append(fitted)
        self.label_distributions_ = self._enhance(X, Y, observed)

    def _predict(self, X: Any) -> Array:
        P = np.tile(self.shares_, (X.shape[0], 1))
        X = subtract_offsets(X, self._offsets)
        if isinstance(self.classifier_, list):
            for j, classifier in zip(self.varied_, self.classifier_, strict=True):
                P[:, j] = _single_label_probabilities(classifier, X)
        else:
            P[:, self.varied_] = _positive_probabilities(self.classifier_.predict_proba(X))
        P = np.clip(P, self._smallest_probability, 1.0 - self._smallest_probability)
        if self.link == "votes":
            P = -np.log1p(-P)
        return normalize_rows(P)

    def _enhance(self, X: Any, Y: Mask, observed: Mask | None = None) -> Array:
        P = self._predict(X)
        D = normalize_rows(P * possible_labels(Y, observed))
        return mix_with_prediction(D, P, self.kappa_, self.n_votes_)


def _fit_classifier(classifier: Any, X: Any, y: Any, row_data: RowData, what: str) -> Any:
    if y.ndim == 1 and not _takes_one_label(classifier):
        y = y[:, None]
    try:
        # Weights go to the last step by its name, which scikit-learn refuses while it routes
        # metadata.
        with config_context(enable_metadata_routing=False):
            return clone(classifier).fit(X, y, **row_data)
    except ValueError as error:
        name = type(classifier).__name__
        raise InputError(f"{name} cannot be fitted to {what}: {error}") from error


def _classifier_tags(classifier: Any) -> Any:
    if isinstance(classifier, type):
        name = classifier.__name__
        raise InputError(f"classifier must be an instance, {name}(), not the class itself.")
    return get_tags(classifier)


def _final_estimator(classifier: Any) -> tuple[Any, str]:
    """The last estimator of a pipeline or search, and the prefix of its ``fit`` parameters."""
    if isinstance(classifier, GridSearchCV | RandomizedSearchCV):
        return _final_estimator(classifier.estimator)
    if not isinstance(classifier, Pipeline):
        return classifier, ""
    name, last_step = classifier.steps[-1]
    final, prefix = _final_estimator(last_step)
    return final, f"{name}__{prefix}"


def _takes_one_label(classifier: Any) -> bool:
    final, _ = _final_estimator(classifier)
    return _classifier_tags(final).target_tags.single_output


def _takes_several_labels(classifier: Any) -> bool:
    tags = _classifier_tags(classifier)
    if tags.classifier_tags is not None and tags.classifier_tags.multi_label:
        return True
    return tags.target_tags.multi_output or not _takes_one_label(classifier)


def _weights_name(classifier: Any) -> str | None:
    """By which name ``fit`` takes sample weights, if it does."""
    final, prefix = _final_estimator(classifier)
    if not has_fit_parameter(final, "sample_weight"):
        return None
    return f"{prefix}sample_weight"


def _single_label_probabilities(classifier: Any, X: Any) -> NDArray[np.float64]:
    """Probabilities of the ones of a single label."""
    found = classifier.predict_proba(X)
    if not _takes_one_label(classifier):
        return _positive_probabilities(found)[:, 0]
    return np.asarray(found, dtype=np.float64)[:, list(classifier.classes_).index(1)]


def _positive_probabilities(probabilities: Any) -> NDArray[np.float64]:
    """Probabilities of positive labels.

    Some classifiers give a matrix, others a list with two columns for each label.
    """
    if isinstance(probabilities, list):
        return np.column_stack([np.asarray(part, dtype=np.float64)[:, 1] for part in probabilities])
    return np.asarray(probabilities, dtype=np.float64)


def plain_classifier(zeros: Literal["none", "less"]) -> FromClassifier:
    """The classifier that other methods are compared with.

    Its link is votes if 0 means none, and probabilities if it means less.
    """
    if zeros == "none":
        return FromClassifier(link="votes")
    return FromClassifier(zeros=zeros)


class ValidatedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression of one label, whose penalty is selected by held-out likelihood."""

    learned = {
        "coef_": "float (n_features)",
        "intercept_": "float",
        "C_": "float",
        "classes_": "int (n_classes)",
    }

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: SampleWeight | None = None,
        groups: Indices | None = None,
    ) -> Self:
        """Try penalties on folds that depend on the features alone, then fit with the best."""
        # In the unit of the penalty the scale of the features is near that of the intercept,
        # whatever it was. Constant columns become 0: the solver's tolerance would let them change
        # the fit.
        features = CentredMatrix(X, sample_weight=sample_weight)
        varying = features.spread > 0.0
        scale = varying / (np.sqrt(default_gamma(features)) or 1.0)
        X = X.astype(np.float64)  # in single precision the line search of scikit-learn 1.6 gives up
        X = X.multiply(scale).tocsr() if sparse.issparse(X) else X * scale
        basis = None
        if X.shape[0] < varying.sum():
            # Coefficients with a ridge penalty lie in the span of the rows, which has fewer
            # dimensions.
            basis, coordinates = qr(to_dense(X).T, mode="economic", check_finite=False)
            X = coordinates.T
        folds = validation_folds(features, groups)
        folds = [fold for fold in folds if len(np.unique(y[fold.train])) == 2]
        weights = row_weights(y, sample_weight)

        def held_out_loss(model: LogisticRegression) -> float:
            return sum(_validation_loss(model, X, y, weights, fold) for fold in folds)

        ratios = (300.0, 30.0, 3.0, 0.3)  # of the penalty to DLDL's default gamma
        models = [LogisticRegression(C=0.5 / ratio, solver="newton-cholesky") for ratio in ratios]
        # On few rows scikit-learn would check rows and parameters, which are ours, for longer than
        # it fits.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model = min(models, key=held_out_loss).fit(X, y, sample_weight)
        coef = model.coef_[0]
        if basis is not None:
            coef = basis @ coef
        self.coef_ = coef * scale
        self.intercept_ = float(model.intercept_[0])
        self.C_ = model.C
        self.classes_ = model.classes_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of 0 and 1."""
        positive = expit(X @ self.coef_ + self.intercept_)
        return np.column_stack([1.0 - positive, positive])


def _validation_loss(
    model: LogisticRegression, X: Any, y: NDArray[np.int8], weights: SampleWeight, fold: Fold
) -> float:
    model.fit(X[fold.train], y[fold.train], weights[fold.train])
    scores = X[fold.test] @ model.coef_[0] + model.intercept_
    signs = np.where(y[fold.test] > 0, 1.0, -1.0)
    return weights[fold.test] @ np.logaddexp(0.0, -signs * scores)
