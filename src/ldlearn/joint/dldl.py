"""DLDL: label distributions and their predictor, learned together from logical labels."""

from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from ldlearn.base import Capabilities, JointModel
from ldlearn.base.errors import raise_input_errors
from ldlearn.base.parameters import (
    NonNegative,
    Positive,
    PositiveInt,
    Transformer,
    estimator_dataclass,
)
from ldlearn.core.graph import laplacian, neighbor_graph, similarity, subtract_offsets
from ldlearn.core.negative_labels import concentration, mean_positives, mix_with_prediction
from ldlearn.core.prototypes import pseudo_distributions
from ldlearn.core.simplex import Array, Indices, Mask, SampleWeight, log_softmax, normalize_rows
from ldlearn.core.targets import RowTargets, count_positives, fill_unknown, possible_labels
from ldlearn.joint.alternation import Steps, alternate
from ldlearn.joint.dldl_steps import DegreeRows, DegreeTerms, LocalSteps, SharedWork
from ldlearn.joint.hyperparameters import Hyperparameters, select_hyperparameters
from ldlearn.joint.linear_joint import LinearPredictorMixin
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.newton_simplex import Support, has_few_positives, newton_simplex
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.softmax_regression import SoftmaxFit
from ldlearn.uncertainty.intervals import IntervalMixin


@estimator_dataclass
class DLDL(LinearPredictorMixin, IntervalMixin, JointModel):
    r"""Label distribution learning directly from logical labels.

    Assumes that degrees are zero on negative labels, that a softmax of linear scores predicts them,
    and (if ``alpha > 0``) that neighbouring rows have similar degrees. Recovers the degrees D of
    the training rows and, in the same objective, the coefficients W, b of a predictor for new rows.
    The method to start with.

    .. math::

        \min_{D, W, b}\; KL(D, P) + \alpha\, tr(D^T G D) + \beta |D|_F^2 + \gamma |W|_F^2, \qquad
        P = softmax(X W + b), \quad 0 \le D \le Y, \quad D 1 = 1

    G is the Laplacian of the similarity graph A of the k nearest neighbours. The steps in W and in
    D are convex; each is solved exactly, in turn, ending with D.

    Unknown labels (NaN in y) have ``0 <= D <= 1`` and are ignored by model selection. Known degrees
    of rows (``degrees`` in ``fit``) stay fixed. ``sample_weight`` multiplies the divergence and
    ``|d|^2`` of each row, but not the graph term, because repeating a row would change the graph.

    Parameters
    ----------
    alpha : float, default=0.0
        Penalty of the graph term. 0 omits the graph; where it helped, it did so little, with 0.01
        to 0.1. With a graph the fitted model, its pickles and its model files hold the features of
        the training rows, because `enhance` looks for neighbours among them.
    beta : float, default=None
        Penalty of ``|D|^2``: large values make the degrees of the positive labels of a row more
        equal. None selects it from the 0/1 labels alone: the one whose degrees have the largest
        mean intersection with the target, the degrees of `VoteLDL` or equal degrees
        (`label_model`).
    gamma : float, default=None
        Penalty of ``|W|^2``. None selects from 0.1 to 316 times 0.03 times the sum of the features'
        variances (0.03 m for m standardised features): the one that predicts the target best on
        held-out rows.
    label_model : {"auto", "votes", "presence"}, default="auto"
        What a 1 means, for the selection of beta and gamma: a share of the row's votes, taken from
        the other labels, or mere presence, so that equal degrees are the target. "auto" takes
        labels as votes, unless nearly all rows have equally many positive labels: these show only
        which degrees are the largest, and are taken as presence.
    zeros : {"none", "less"} or float, default="none"
        What a 0 means: that the label has degree 0, or that it is not among the main ones. With
        "less" the recovered degrees are the mean of D and P: see Notes. A number means "less" too:
        it is the concentration kappa of the degrees of a row around P. The prediction is the same
        for all values.
    ordered : bool or float, default=False
        Whether the labels are ordered, as ratings and ages are. Adds
        ``ordered * |second differences of d|^2`` along the labels to each row, so that degrees
        change evenly from label to label; True selects the penalty by the likelihood of held-out
        labels, given beta and gamma.
    n_neighbors : int, default=20
        k of the graph.
    neighbors : None, transformer or sparse matrix of shape (n_samples, n_samples), default=None
        How the neighbours are found: exactly; by a transformer that yields a sparse graph of
        distances, as ``KNeighborsTransformer`` does and those of PyNNDescent and sklearn-ann, which
        are approximate and quick; or in such a graph itself. The ``n_neighbors`` nearest entries of
        a row are used.
    sigma : float, "median" or "mean", default="median"
        Width of the Gaussian similarity; the strings are statistics of the distances to the k
        nearest neighbours.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0.
    feature_map : None, "rbf" or transformer, default=None
        What the predictor works on: X itself; 500 Nystroem features of the kernel
        ``exp(-|x - z|^2 / w^2)``, w the mean distance between rows; or the output of the
        transformer, for example ``Nystroem(n_components=200)``. The rows of "rbf" are drawn with a
        fixed seed; those of `Nystroem` by its ``random_state``. The graph always uses X.
    max_iter : int, default=5
        Maximum number of outer iterations (a W-step and a D-step each). Stopping early is part of
        the method: with a small beta, many iterations sharpen the degrees towards one label per
        row.
    tol : float, default=1e-6
        Accuracy of each step, per row: certified gaps, ``gap_`` for D and ``coef_gap_`` for W (if
        gamma is 0 there is none for W, and an estimate takes its place). W-steps between the first
        and the last are only solved until ``1e4 * tol`` of what they gain is left, a tenth at most.
        The outer iterations end when one lowers the objective by at most ``tol`` per row and
        further ones are expected to change no degree by more than ``sqrt(tol)``.
    init : {"uniform", "pseudo"}, default="uniform"
        First D: equal degrees of the positive labels (an unknown label counts as its rate of
        positives), or the pseudo distributions of fast label enhancement, restricted to the
        positive labels.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        The recovered degrees: D, or its mixture with P.
    coef_ : ndarray of shape (n_labels, n_features)
        W; m counts mapped features if there is a feature map.
    intercept_ : ndarray of shape (n_labels,)
        b.
    graph_ : csr_array of shape (n_samples, n_samples) or None
        A, the similarity matrix used; None if alpha is 0.
    objective_path_ : ndarray of shape (2 * n_iter_,)
        Value after every half-step. No step raises it by more than rounding.
    objective_ : float
        The last of them.
    gap_ : ndarray of shape (n_samples,)
        Frank-Wolfe gap of each row after the last D-step (with a graph, a bound of it). Their sum
        bounds from above how far the objective is from its minimum over D.
    coef_gap_ : float
        Duality gap of the last W-step: a bound from above of how far the objective was from its
        minimum over W and b. Infinite if gamma is 0.
    steps_converged_ : bool
        Whether the last W-step and the last D-step were solved to ``tol``. If not, `fit` warns.
    converged_ : bool
        Whether the outer iteration has converged too: the last one lowered the objective by at most
        ``tol`` per row and degrees would change by at most ``sqrt(tol)`` in further ones, if their
        changes went on shrinking at the last rate. Usually False after ``max_iter=5`` iterations,
        without a warning: stopping early is part of the method.
    alpha_, beta_, gamma_ : float
        The penalties used.
    kappa_ : float
        The concentration used; 0 if ``zeros="none"``.
    n_votes_ : float
        Mean number of positive labels of a row.
    ordered_ : float
        The penalty of the second differences; 0 if labels are not ordered.
    selection_summary_ : str
        What was concluded from the labels to select beta and gamma, and why; empty if both were
        given.
    sigma_ : float or None
        The width used; None if alpha is 0.
    feature_map_ : transformer or None
    n_iter_ : int
        Outer iterations done.
    n_newton_ : list of int
        Iterations of each D-step.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    ``zeros="less"``: let the degrees of a row be Dirichlet distributed around P with concentration
    :math:`\kappa`, and D the shares of its :math:`\lambda` votes. Then their expectation, which is
    recovered, is

    .. math:: (1 - w) D + w P, \qquad w = \kappa / (\kappa + \lambda)

    Of the votes of a positive label only one is seen, so :math:`\lambda` is the mean number of
    positive labels of a row. 0/1 labels do not identify :math:`\kappa`, and their likelihood does
    not depend on it (docs/research/without_truth.md): P is that of ``zeros="none"``, and "less"
    means :math:`\kappa = \lambda`, w = 1/2.

    Departures from the paper: an unpenalised intercept (without one, centred features cannot even
    express the mean distribution); the graph is symmetrised, as the printed identity requires, and
    off by default; the D-step is solved by Newton's method to a certified gap instead of a few
    gradient steps; beta and gamma are selected by the labels unless given.
    ``DLDL(alpha=..., beta=..., gamma=..., fit_intercept=False, init="pseudo")`` is the paper's
    setting. The released code does something else: what it recovers does not depend on X.
    Confidence: certain.

    References
    ----------
    Y. Jia, J. Tang, J. Jiang, "Label Distribution Learning from Logical Label", IJCAI 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import DLDL
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]])
    >>> model = DLDL(beta=0.1, gamma=0.1).fit(X, Y)
    >>> model.label_distributions_[2].round(2)
    array([0.5, 0.5])
    >>> model.predict([[1.9], [4.0]]).round(2)
    array([[0.56, 0.44],
           [0.01, 0.99]])
    """

    learned = {
        "graph_": "csr (n_fitted, n_fitted) | None",
        "sigma_": "float | None",
        "_index": "NearestNeighbors | None",
        "alpha_": "float",
        "beta_": "float",
        "gamma_": "float",
        "selection_summary_": "str",
        "ordered_": "float",
        "steps_converged_": "bool",
        "n_newton_": "list of int",
        "gap_": "float (n_fitted)",
        "coef_gap_": "float",
    }

    path_params = ("alpha", "beta", "gamma")
    _convergence_advice = "loosen tol, or use less extreme values of alpha, beta and gamma."
    _test_params = (
        # Penalties are selected here; where they are given, a fit takes a tenth of the time.
        {"max_iter": 2},
        {
            "alpha": 0.1,
            "beta": 10.0,
            "gamma": 1.0,
            "n_neighbors": 1,
            "init": "pseudo",
            "fit_intercept": False,
        },
        {"alpha": 0.01, "beta": 1.0, "gamma": 1.0, "n_neighbors": 1, "sigma": 1.0, "max_iter": 2},
        {"beta": 10.0, "gamma": 1.0, "feature_map": "rbf"},
        {"beta": 1.0, "gamma": 1.0, "zeros": "less"},
    )

    alpha: NonNegative = 0.0
    beta: NonNegative | None = None
    gamma: NonNegative | None = None
    label_model: Literal["auto", "presence", "votes"] = "auto"
    zeros: Literal["none", "less"] | Positive = "none"
    ordered: bool | NonNegative = False
    n_neighbors: PositiveInt = 20
    neighbors: Transformer | Annotated[Any, "sparse matrix"] | None = None
    sigma: Positive | Literal["median", "mean"] = "median"
    fit_intercept: bool = True
    feature_map: Literal["rbf"] | Transformer | None = None
    max_iter: PositiveInt = 5
    tol: Positive = 1e-6
    init: Literal["uniform", "pseudo"] = "uniform"

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.keeps_zeros = self.zeros == "none"
        tags.label_invariant = not self.ordered
        # A feature map may draw rows at random; a graph with a row twice is another graph.
        tags.order_invariant = self.feature_map is None
        tags.weight_equals_repetition = self.feature_map is None and self.alpha == 0
        return tags

    def fit_path(
        self, X: Any, y: Any, points: Iterable[Mapping[str, Any]], **row_data: Any
    ) -> Iterator[Self]:
        """Fitted copies of this estimator, one for each setting of some parameters.

        As long as only alpha, beta and gamma vary, the graph, the feature map and the factorisation
        of the features are made once, and the first W-step, which depends on gamma alone, once for
        each run of points with the same gamma. The models are those of separate fits up to the
        accuracy ``tol`` of their steps.

        Parameters
        ----------
        X, y
            As for ``fit``.
        points : iterable of mapping
            Parameters to set, by name.
        **row_data
            ``sample_weight``, ``degrees`` and ``groups``, as for ``fit``.

        Yields
        ------
        DLDL
            Fitted, in the order of the points.
        """
        points = list(points)
        if any(not set(point) <= set(self.path_params) for point in points):
            yield from super().fit_path(X, y, points, **row_data)
            return
        signature(self.fit).bind(X, y, **row_data)  # an unknown keyword is a TypeError
        work = SharedWork()
        for point in points:
            model = clone(self).set_params(**point)
            with raise_input_errors():
                model._validate_params()
            with config_context(transform_output="default"):
                model._fit_rows(*model._validate_rows(X, y, row_data), work=work)
            model._warn_unless_converged()
            yield model

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
        degrees: Array | None = None,
        groups: Indices | None = None,
        work: SharedWork | None = None,
    ) -> None:
        work = work or SharedWork()
        self.graph_: sparse.csr_array | None = None
        self.sigma_: float | None = None
        self._index: Any = None
        G = self._fit_graph(X, work) if self.alpha > 0 else None
        features = self._fit_features(X, sample_weight, work)
        labels = RowTargets(Y, observed, sample_weight)
        positives = count_positives(Y, observed, sample_weight)
        self.n_votes_ = mean_positives(*positives, features.total)
        self.kappa_ = concentration(self.zeros, self.n_votes_)
        selected = select_hyperparameters(
            features,
            labels,
            groups,
            beta=self.beta,
            gamma=self.gamma,
            ordered=self.ordered,
            label_model=self.label_model,
            max_iter=self.max_iter,
        )
        self._set_penalties(selected)
        rows, start = self._initial_degrees(X, labels, G, degrees)
        steps = LocalSteps(features, rows, start, self._degree_terms(), self.gamma_, self.tol)
        work.first_W = self._alternate(steps, work.first_W)
        D = steps.D
        if sparse.issparse(D):  # degrees of many labels are large: they take the precision of X
            D = D.astype(features.original_matrix.X.dtype).toarray()
        self.label_distributions_ = self._add_prediction(np.ascontiguousarray(D), X, degrees)
        self.gap_ = steps.gap
        self._keep_training_rows(X, labels, features, groups=groups)

    def _set_penalties(self, selected: Hyperparameters) -> None:
        self.alpha_ = float(self.alpha)
        self.beta_, self.gamma_, self.ordered_, self.selection_summary_ = selected

    def _alternate(self, steps: Steps, start: SoftmaxFit | None = None) -> SoftmaxFit:
        """Algorithm 2; returns the first W-step, for other fits to start from."""
        found = alternate(
            steps, gamma=self.gamma_, tol=self.tol, max_iter=self.max_iter, start=start
        )
        coef, self.intercept_ = steps.features.to_original(found.W.coef, found.W.intercept)
        self.coef_ = coef.T
        self.objective_path_ = found.objective_path
        self.objective_ = float(found.objective_path[-1])
        self.n_newton_ = found.n_newton
        self.n_iter_ = len(found.n_newton)
        self.coef_gap_ = found.W.gap
        self.steps_converged_ = found.steps_converged
        self.converged_ = found.converged
        return found.first_W

    def _degree_terms(self) -> DegreeTerms:
        return DegreeTerms(self.beta_, self.ordered_)

    def _fit_graph(self, X: Any, work: SharedWork) -> Any:
        """Make the similarity graph A (Eq. 2); returns its Laplacian times alpha."""
        if work.graph is None:
            work.graph = neighbor_graph(X, self.n_neighbors, self.sigma, self.neighbors)
        self.graph_, self.sigma_, self._index, self._offsets = work.graph
        return self.alpha * laplacian(self.graph_)

    def _fit_features(
        self, X: Any, weights: SampleWeight | None, work: SharedWork
    ) -> CentredMatrix:
        if work.features is None:
            work.feature_map, mapped = self._fit_feature_map(X)
            work.offsets = self._offsets
            work.features = reduce_to_row_space(CentredMatrix(mapped, self.fit_intercept, weights))
        self.feature_map_ = work.feature_map
        if work.offsets is not None:
            self._offsets = work.offsets
        return work.features

    def _initial_degrees(
        self, X: Any, labels: RowTargets, G: Any, degrees: Array | None
    ) -> tuple[DegreeRows, Any]:
        """The constraints of D, and the first D: sparse if few of very many labels are positive."""
        Y, observed, sample_weight = labels
        simple = self.alpha == 0 and not self.ordered and self.init == "uniform"
        if simple and observed is None and degrees is None and has_few_positives(Y):
            support = Support(Y)
            return DegreeRows(support, sample_weight=sample_weight), support.equal_shares()
        D: Array = fill_unknown(*labels)
        if self.init == "pseudo":
            D = pseudo_distributions(X, Y, sample_weight) * D
        D = normalize_rows(D)
        mask = possible_labels(Y, observed)
        if degrees is not None:
            fixed = np.asarray(np.isfinite(degrees).all(axis=1))
            return DegreeRows(mask, G, sample_weight, fixed), np.where(fixed[:, None], degrees, D)
        # Which rows have equally many positive labels is found once, for all D-steps.
        return DegreeRows(mask if self.ordered else Support(mask), G, sample_weight), D

    def _enhance(
        self, X: Any, Y: Mask, observed: Mask | None = None, degrees: Array | None = None
    ) -> Array:
        r"""The D-step for new rows, given the fitted model.

        .. math::

            \min_d\; KL(d, p) + \alpha \sum_{j \in N(x)} a_j |d - d_j|^2 + \beta |d|^2,
            \quad 0 \le d \le y,\; 1^T d = 1

        where p is the prediction for x, N(x) are its k nearest training rows, ``a_j`` their
        similarities and ``d_j`` their recovered distributions, which stay as they are. Where y is
        unknown, ``d <= 1``.
        """
        logP = log_softmax(self._scores(X))
        beta: float | Array = self.beta_
        if self._index is not None and self.sigma_ is not None:
            near_zero = X if self._offsets is None else subtract_offsets(X, self._offsets)
            distances, nearest = self._index.kneighbors(near_zero)
            if self._fitted_rows is not None:
                nearest = self._fitted_rows[nearest]  # the index has only rows of positive weight
            similarities = similarity(distances, self.sigma_)
            # alpha sum_j a_j |d - d_j|^2 is alpha (sum_j a_j) |d|^2 - 2 alpha <sum_j a_j d_j, d>
            # and a constant: more beta and another prior, so that rows stay separate.
            neighbor_sums = np.einsum(
                "ik,ikj->ij", similarities, self.label_distributions_[nearest]
            )
            logP = logP + 2.0 * self.alpha_ * neighbor_sums
            beta = self.beta_ + self.alpha_ * similarities.sum(axis=1)
        support = possible_labels(Y, observed)
        Q = self._degree_terms().between_labels(Y.shape[1])
        found = newton_simplex(logP, support, beta=beta, between_labels=Q, tol=self.tol)
        return self._add_prediction(np.ascontiguousarray(found.D), X, degrees)

    def _add_prediction(self, D: Array, X: Any, degrees: Array | None) -> Array:
        """Known degrees, and elsewhere D or, if zeros mean less, its mixture with P."""
        if self.kappa_:
            D = mix_with_prediction(D, self._predict(X), self.kappa_, self.n_votes_)
        return D if degrees is None else np.where(np.isfinite(degrees), degrees, D)
