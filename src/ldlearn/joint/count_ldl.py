"""CountLDL: label distributions from counts of a few votes per row, and from features."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import Capabilities, JointModel, NonNegative, VoteCountMixin, estimator_dataclass
from ldlearn.base.output import wrap_output
from ldlearn.core.scaling import row_batches
from ldlearn.core.simplex import (
    TINY,
    Array,
    Indices,
    SampleWeight,
    clip_degrees,
    row_weights,
    softmax,
)
from ldlearn.joint.cross_fitting import CrossFitting
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.folds import Fold, validation_folds
from ldlearn.solvers.linear_predictor import linear_softmax
from ldlearn.solvers.vote_classes import VoteTable, fit_classes
from ldlearn.uncertainty.dirichlet_mixture import Bounds, DirichletMixture
from ldlearn.uncertainty.intervals import check_fraction

_CONCENTRATIONS = 2.0 ** np.arange(-3.0, 11.0)
_MEDIAN_CONCENTRATION = 8.0  # of the prior, whose logarithm has a standard deviation of 1
_UNLIKELY = 1e-3  # probability of a concentration
_WEIGHTS = np.arange(1, 51) / 50
_EM_STEPS = 20


@dataclass(frozen=True)
class _RowPriors:
    """What is known of some rows before their votes are seen.

    Attributes
    ----------
    P : ndarray of shape (n_samples, n_labels)
        Distributions predicted by softmax regression.
    class_probabilities : ndarray of shape (n_samples, n_classes)
    classes : ndarray of shape (n_classes, n_labels)
        Parameters of the Dirichlet distributions of the classes.
    """

    P: Array
    class_probabilities: Array
    classes: Array

    def class_likelihoods(self, counts: Array) -> Array:
        """Log-likelihoods of the votes of each row if the rows have classes."""
        joint = VoteTable(counts).log_likelihood(self.classes) + np.log(self.class_probabilities)
        return np.logaddexp.reduce(joint, axis=1)

    def concentration_likelihoods(self, counts: Array) -> Array:
        """Log-likelihoods of the votes of each row, around P with each concentration."""
        found = np.empty((len(counts), len(_CONCENTRATIONS)))
        concentrations = _CONCENTRATIONS[:, None]
        for rows in row_batches(len(counts), len(_CONCENTRATIONS) * counts.shape[1]):
            parameters = concentrations * self.P[rows, None, :]
            mixture = DirichletMixture(np.zeros(parameters.shape[:2]), parameters)
            found[rows] = mixture.log_likelihoods(counts[rows])
        return found


@estimator_dataclass
class CountLDL(VoteCountMixin, JointModel):
    r"""Label distributions from counts of a few votes per row, and from features.

    Assumes that the votes of a row are independent draws from its own label distribution, and that
    features are informative about this distribution, or that rows fall into classes. Use it if each
    row has one to about twenty votes and their numbers are known; `VoteLDL` if only 0/1 labels are.

    The label distribution d of a row with features x has the prior

    .. math::

        w\, \mathrm{Dir}(\kappa\, p(x)) + (1 - w) \sum_k \pi_k(x)\, \mathrm{Dir}(\alpha_k), \qquad
        p = softmax(x W + b), \quad \pi = softmax(x U + a),

    a *single distribution* around the prediction p, or one of as many *classes* as there are
    labels. Its votes v then give the posterior, another mixture of Dirichlet distributions. The
    recovery is its mean.

    1. W minimises the cross-entropy of the votes plus :math:`\gamma |W|_F^2`.
    2. :math:`\kappa` is integrated over, on a grid from 1/8 to 1,024. Its prior is lognormal with
       median 8 and standard deviation 1 of the logarithm; the likelihood is that of the votes of
       rows around out-of-fold predictions.
    3. Twenty EM steps learn :math:`\alpha` and the mean of :math:`\pi`. Each class has one more
       vote, spread like all votes, and the sum of its :math:`\alpha` is at most 60. Then U is
       fitted to the class probabilities of the rows, with the same :math:`\gamma`.
    4. w maximises :math:`\ln w` plus the log-likelihood of held-out rows with more than one vote:
       single votes tell nothing about the differences between rows with the same features. If no
       row has two votes, w is 1.
    5. W and b are fitted again, to the posterior means, every row counting alike, with a penalty of
       their own. This p is the prediction, and the centre of the prior of new rows.

    Parameters
    ----------
    gamma : float, default=None
        Penalty on ``|W|^2`` and ``|U|^2``. None selects it by the likelihood of held-out votes on
        at most 2,000 rows, among 0.1 to 1,000 times DLDL's default and infinity, which switches the
        features off; for the two fits of W separately.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        The recovered degrees: the posterior means. p, :math:`\pi` and :math:`\alpha` of a row come
        from a model that was fitted without it.
    coef_ : ndarray of shape (n_labels, n_features)
        W of the last fit.
    intercept_ : ndarray of shape (n_labels,)
        b.
    class_coef_ : ndarray of shape (n_labels, n_features)
        U.
    class_intercept_ : ndarray of shape (n_labels,)
        a.
    class_parameters_ : ndarray of shape (n_labels, n_labels)
        The alpha of each class.
    single_weight_ : float
        w.
    concentrations_ : ndarray of shape (n_concentrations,)
        Values of kappa with a probability above 0.001.
    concentration_probabilities_ : ndarray of shape (n_concentrations,)
    gamma_ : float
        The penalty of the first fit of W and of U.
    prediction_gamma_ : float
        The penalty of the last fit of W.
    votes_per_row_ : float
        Mean number of votes of the rows that have any.
    selection_summary_ : str
        Penalty, weights and typical kappa in words.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Ours, not the paper's. Departures from the paper: not applicable.

    A row may have no votes, its votes may be weighted (any non-negative numbers), and rows may have
    different numbers of votes. 0/1 labels are taken as one vote for each positive label.

    With one vote per row the data cannot tell how much rows with the same features differ: all
    values of kappa have the same likelihood. The degrees then depend on the prior of kappa, and are
    too even if raters mostly agree. A second vote for some of the rows is enough to learn kappa.

    `benchmarks/few_votes.py` compares the recovery with that of other methods and of the two parts
    of the prior alone, `benchmarks/few_votes_choices.py` with that of other constants.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import CountLDL
    >>> from ldlearn.datasets import make_label_distributions
    >>> from ldlearn.metrics import intersection
    >>> data = make_label_distributions(300, random_state=0)
    >>> votes = np.random.default_rng(0).multinomial(3, data.D)
    >>> model = CountLDL().fit(data.X, votes)
    >>> bool(intersection(data.D, model.label_distributions_) > intersection(data.D, votes / 3))
    True
    """

    learned = {
        "coef_": "float (n_labels, n_features)",
        "intercept_": "float (n_labels)",
        "class_coef_": "float (n_labels, n_features)",
        "class_intercept_": "float (n_labels)",
        "class_parameters_": "float (n_labels, n_labels)",
        "single_weight_": "float",
        "concentrations_": "float (n_concentrations at most 64)",
        "concentration_probabilities_": "float (n_concentrations at most 64)",
        "gamma_": "float",
        "prediction_gamma_": "float",
    }

    _test_params = ({}, {"gamma": 1.0})

    gamma: NonNegative | None = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(
        self,
        X: Any,
        V: Array,
        sample_weight: SampleWeight | None = None,
        groups: Indices | None = None,
    ) -> None:
        self._count_votes(V, sample_weight)
        voted = V.any(axis=1)
        weights = row_weights(V, sample_weight)[voted]
        D = np.empty(V.shape)
        D[voted] = self._fit_voted(
            X if voted.all() else X[voted],
            V[voted],
            weights,
            None if groups is None else groups[voted],
        )
        if not voted.all():
            D[~voted] = self._predict(X[~voted])
        self.label_distributions_ = D

    def _fit_voted(self, X: Any, V: Array, weights: SampleWeight, groups: Indices | None) -> Array:
        """Fit on rows with votes, and return their posterior means."""
        n_votes = V.sum(axis=1)
        shares = V / n_votes[:, None]
        by_vote = CrossFitting(X, weights * n_votes, self._smallest)
        by_row = CrossFitting(X, weights, self._smallest)
        rows = CentredMatrix(X, sample_weight=weights)
        compared = validation_folds(rows, groups, min_folds=3)

        def select_gamma(regression: CrossFitting, T: Array) -> float:
            if self.gamma is not None:
                return float(self.gamma)
            return regression.select_gamma(T, compared, vote_likelihood)

        def vote_likelihood(rows: Indices, P: Array) -> Array:
            return weights[rows] * np.sum(V[rows] * np.log(P), axis=1)

        self.gamma_ = select_gamma(by_vote, shares)
        single = by_vote.fit(shares, self.gamma_)
        self.class_parameters_, responsibilities = self._fit_classes(V, weights)
        gate = by_row.fit(responsibilities, self.gamma_)
        folds = validation_folds(rows, groups, max_rows=len(V), min_folds=3)
        if not folds:  # too few rows to leave some out
            folds = [Fold(np.arange(len(V)), np.arange(len(V)))]
        held_out = []
        for train, test in folds:
            fit = by_vote.fit_part(train, shares[train], self.gamma_, single)
            classes, responsibilities = self._fit_classes(V[train], weights[train])
            gate_fit = by_row.fit_part(train, responsibilities, self.gamma_, gate)
            P = by_vote.predict(fit, test)
            held_out.append((test, _RowPriors(P, by_row.predict(gate_fit, test), classes)))
        self._weigh_components(held_out, V, weights)
        D = np.empty(V.shape)
        for test, priors in held_out:
            D[test] = self._posterior_mean(priors, V[test])
        self.prediction_gamma_ = select_gamma(by_row, D)
        prediction = by_row.fit(D, self.prediction_gamma_)
        coef, self.intercept_ = by_row.to_original(prediction)
        self.coef_ = coef.T
        coef, self.class_intercept_ = by_row.to_original(gate)
        self.class_coef_ = coef.T
        return D

    def _fit_classes(self, V: Array, weights: SampleWeight) -> tuple[Array, Array]:
        totals = weights @ V
        mean = clip_degrees((totals / totals.sum())[None], self._smallest)[0]
        return fit_classes(VoteTable(V), mean, weights=weights, n_steps=_EM_STEPS)

    def _weigh_components(
        self, held_out: list[tuple[Indices, _RowPriors]], V: Array, weights: SampleWeight
    ) -> None:
        """Learn the probabilities of kappa and the weight of the single distribution."""
        log_prior = -0.5 * np.log(_CONCENTRATIONS / _MEDIAN_CONCENTRATION) ** 2
        likelihoods = []
        for test, priors in held_out:
            likelihoods.append(priors.concentration_likelihoods(V[test]))
            log_prior += weights[test] @ likelihoods[-1]
        probabilities = softmax(log_prior[None])[0]
        kept = probabilities > _UNLIKELY
        self.concentrations_ = _CONCENTRATIONS[kept]
        self.concentration_probabilities_ = probabilities[kept] / probabilities[kept].sum()
        # A single vote tells nothing about the differences between rows with the same features.
        informative = np.where(V.sum(axis=1) > 1.0, weights, 0.0)
        scores = np.log(_WEIGHTS)
        for (test, priors), likelihood in zip(held_out, likelihoods, strict=True):
            log_joint = likelihood[:, kept] + np.log(self.concentration_probabilities_)
            of_single = np.logaddexp.reduce(log_joint, axis=1)
            of_classes = priors.class_likelihoods(V[test])
            for position, w in enumerate(_WEIGHTS):
                log_others = np.log(max(1.0 - w, TINY))
                of_both = np.logaddexp(np.log(w) + of_single, log_others + of_classes)
                scores[position] += informative[test] @ of_both
        self.single_weight_ = float(_WEIGHTS[np.argmax(scores)])

    @property
    def selection_summary_(self) -> str:
        """Penalty, weights and typical kappa in words."""
        how = "selected by the likelihood of held-out votes" if self.gamma is None else "given"
        if np.isinf(self.gamma_):
            how += ": it switches the features off"
        log_kappa = self.concentration_probabilities_ @ np.log(self.concentrations_)
        single = self.single_weight_
        return (
            f"penalty gamma {self.gamma_:.3g} ({how}); weight {single:.2f} of the single "
            f"distribution around the prediction, {1 - single:.2f} of the "
            f"{len(self.class_parameters_)} classes; in the single distribution the prediction "
            f"counts as much as about {np.exp(log_kappa):.2g} votes of the row"
        )

    @wrap_output
    def enhance_interval(self, X: Any, y: Any, coverage: float = 0.9) -> Bounds:
        """Credible intervals for the degrees that ``enhance`` gives: quantiles of the posterior.

        They have the nominal coverage if the model holds: see the class. With one vote per row they
        depend on the prior of kappa.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like or data frame of shape (n_samples, n_labels)
            Counts of the votes of these rows; the columns of a data frame are matched by name.
        coverage : float, default=0.9
            Nominal coverage; above 0 and below 1.

        Returns
        -------
        lower, upper : ndarrays of shape (n_samples, n_labels)
            ``0 <= lower <= enhance(X, y) <= upper <= 1``; data frames if `set_output` asks for
            them.
        """
        check_fraction("coverage", coverage)
        features, V, _ = self._validate_new_rows(X, y)
        return self._intervals(features, V, coverage)

    @wrap_output
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Bounds:
        """Credible intervals for the degrees of new rows without votes: quantiles of the prior.

        They are for the degrees of the individual row, not for the mean of rows with its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Nominal coverage; above 0 and below 1.

        Returns
        -------
        lower, upper : ndarrays of shape (n_samples, n_labels)
            ``0 <= lower <= predict(X) <= upper <= 1``; data frames if `set_output` asks for them.
        """
        check_is_fitted(self)
        check_fraction("coverage", coverage)
        features = self._validate_features(X)
        no_votes = np.zeros((features.shape[0], len(self.label_names_)))
        return self._intervals(features, no_votes, coverage)

    def vote_gain(self, X: Any, y: Any) -> Array:
        """By how much one more vote is expected to reduce the variance of the degrees of each row.

        The variance is that of the posterior, summed over the degrees of the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like or data frame of shape (n_samples, n_labels)
            Counts of the votes that these rows have; the columns of a data frame are matched by
            name.

        Returns
        -------
        gain : ndarray of shape (n_samples,)
        """
        features, V, _ = self._validate_new_rows(X, y)
        gain = np.empty(len(V))
        for rows, posterior in self._posteriors(self._row_priors(features), V):
            gain[rows] = posterior.gain_of_a_vote()
        return gain

    def _intervals(self, X: Any, V: Array, coverage: float) -> Bounds:
        lower = np.empty(V.shape, dtype=X.dtype)
        upper = np.empty(V.shape, dtype=X.dtype)
        for rows, posterior in self._posteriors(self._row_priors(X), V):
            lower[rows], upper[rows] = posterior.interval(coverage)
        # The mean of a skewed distribution may be no central value of it.
        D = self._enhance(X, V).astype(X.dtype, copy=False)
        return np.minimum(lower, D), np.maximum(upper, D)

    def _predict(self, X: Any) -> Array:
        return linear_softmax(X, self.coef_.T, self.intercept_)

    def _enhance(self, X: Any, V: Array) -> Array:
        D = self._posterior_mean(self._row_priors(X), V)
        unvoted = ~V.any(axis=1)
        if unvoted.any():
            D[unvoted] = self._predict(X[unvoted])
        return D

    def _row_priors(self, X: Any) -> _RowPriors:
        P = linear_softmax(X, self.coef_.T, self.intercept_)
        probabilities = linear_softmax(X, self.class_coef_.T, self.class_intercept_)
        return _RowPriors(
            clip_degrees(P, self._smallest),
            clip_degrees(probabilities, self._smallest),
            self.class_parameters_,
        )

    def _posterior_mean(self, priors: _RowPriors, V: Array) -> Array:
        D = np.empty(V.shape)
        for rows, posterior in self._posteriors(priors, V):
            D[rows] = posterior.mean()
        return D

    def _posteriors(self, priors: _RowPriors, V: Array) -> Iterator[tuple[slice, DirichletMixture]]:
        """The posteriors of rows, given their votes, a block of rows at a time."""
        n_labels = V.shape[1]
        concentrations = self.concentrations_[:, None]
        log_single = np.log(self.single_weight_ * self.concentration_probabilities_)
        n_components = len(concentrations) + n_labels
        for rows in row_batches(len(V), n_components * n_labels):
            P = priors.P[rows]
            n = len(P)
            log_weights = np.empty((n, n_components))
            log_weights[:, :-n_labels] = log_single
            log_weights[:, -n_labels:] = np.log(priors.class_probabilities[rows])
            log_weights[:, -n_labels:] += np.log(max(1.0 - self.single_weight_, TINY))
            parameters = np.empty((n, n_components, n_labels))
            parameters[:, :-n_labels] = concentrations * P[:, None, :]
            parameters[:, -n_labels:] = priors.classes
            yield rows, DirichletMixture(log_weights, parameters).given(V[rows])
