"""Scores of predictions beside those of baselines, and whether the difference is significant."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from ldlearn._messages import format_list
from ldlearn.core.row_groups import Groups, count_groups, join_groups
from ldlearn.core.simplex import Array, Mask, log_degrees, row_weights, softmax
from ldlearn.exceptions import InputError
from ldlearn.metrics.distributions import cross_entropy
from ldlearn.metrics.inputs import mean_of_defined
from ldlearn.metrics.registry import (
    LABEL_METRICS,
    METRICS,
    USUAL_METRICS,
    VOTE_METRICS,
    Metric,
    get_metric,
    per_row,
)

_ROUNDING_ERROR = 1e-12  # of the score of a row


@dataclass(frozen=True)
class Score:
    """One measure of a model and of the baselines.

    Attributes
    ----------
    name, title : str
    greater_is_better : bool
    model, mean, uniform : float
        The value of the model; of the mean training distribution for every row; of equal shares for
        every row.
    classifier : float or None
        The value of a plain classifier, `FromClassifier` fitted to the same rows; None if there is
        none.
    """

    name: str
    title: str
    greater_is_better: bool
    model: float
    mean: float
    uniform: float
    classifier: float | None = None

    @property
    def heading(self) -> str:
        """Title and an arrow for its direction."""
        return f"{self.title} {'↑' if self.greater_is_better else '↓'}"

    @property
    def beats_baselines(self) -> bool:
        """Whether the model is better than the mean, equal shares and the classifier, if any."""
        sign = 1.0 if self.greater_is_better else -1.0
        baselines = [self.mean, self.uniform, self.classifier]
        return all(sign * self.model > sign * value for value in baselines if value is not None)

    def as_dict(self) -> dict[str, Any]:
        """Plain values that are there, for JSON and model files."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def score_with_baselines(
    truth: Array,
    P: Array,
    mean: Array,
    classifier: Array | None,
    logical: bool,
    metrics: Sequence[str] | str | None = None,
    n_votes: Array | None = None,
    groups: Groups | None = None,
) -> dict[str, Any]:
    """Return the scores of predictions beside the baselines, and whether the gain is significant.

    Rows that cannot be scored are left out. Of 0/1 labels, the predictions are better than the
    baselines if the slope of the vote log-likelihood is clearly positive
    (`advantage_over_constant`) and the likelihood itself not clearly below that of the mean
    distribution. Of votes, they are better if the log-probability of a vote clearly is
    (`vote_cross_entropy`).

    Parameters
    ----------
    truth : ndarray of shape (n_samples, n_labels)
        True distributions or 0/1 labels.
    P : ndarray of shape (n_samples, n_labels)
        Predictions.
    mean : ndarray of shape (n_labels,)
        The mean distribution of the training rows.
    classifier : ndarray of shape (n_samples, n_labels), optional
        What a classifier of the labels predicts.
    logical : bool
        Whether ``truth`` contains 0/1 labels.
    metrics : sequence of str or "all", optional
        Names of `ldlearn.metrics`; by default the usual six, two of them for votes, or all of those
        against 0/1 labels.
    n_votes : ndarray of shape (n_samples,), optional
        If ``truth`` contains shares of votes, their number: rows count as often as they have votes.
    groups : integer ndarray of shape (n_samples,), optional
        Rows of a group are no independent evidence: standard errors are those of independent
        groups. By default each row is a group.
    """
    if metrics is None and n_votes is not None:
        metrics = VOTE_METRICS
    chosen = _choose_metrics(metrics, logical)
    known = scorable_rows(truth, logical)
    truth = truth[known]
    P = P[known]
    if n_votes is not None:
        n_votes = n_votes[known]
    if groups is None:
        groups = np.arange(len(known))
    units = join_groups(groups[known])
    predictions = {
        "model": P,
        "mean": np.broadcast_to(mean, P.shape),
        "uniform": np.full(P.shape, 1.0 / P.shape[1]),
    }
    n_groups = count_groups(units)
    score_rows = partial(_score_rows, truth, logical, n_votes is not None)
    by_row = score_rows(P)
    gains = by_row - score_rows(predictions["mean"])
    if n_votes is None:
        advantage, error = advantage_over_constant(truth, P, mean, logical, units)
    else:
        advantage, error = mean_and_error(gains, units, n_votes)
    better = clearly_better(advantage, error, n_groups)
    likelihood_gain = likelihood_error = None
    classifier_gain = classifier_error = None
    if logical:
        likelihood_gain, likelihood_error = mean_and_error(gains, units)
        better = better and not clearly_better(-likelihood_gain, likelihood_error, n_groups)
    if classifier is not None:
        predictions["classifier"] = classifier[known]
        gains = score_rows(classifier[known]) - by_row
        classifier_gain, classifier_error = mean_and_error(gains, units, n_votes)
    scores = []
    for each in chosen:
        values = {}
        for name, predicted in predictions.items():
            by_row = _metric_of_rows(each, truth, predicted, n_votes is not None)
            values[name] = mean_of_defined(by_row, n_votes)
        scores.append(Score(each.name, each.title, each.greater_is_better, **values))
    return {
        "rows": len(P),
        "groups": n_groups,
        "votes": None if n_votes is None else float(n_votes.sum()),
        "scores": scores,
        "advantage": advantage,
        "standard_error": error,
        "better_than_baselines": better,
        "likelihood_gain": likelihood_gain,
        "likelihood_error": likelihood_error,
        "classifier_gain": classifier_gain,
        "classifier_error": classifier_error,
    }


def wants_all(metrics: Sequence[str] | str | None) -> bool:
    """Whether these are not names of metrics but the word "all"."""
    # The command line splits at commas, so that the word arrives there as a list of one.
    return metrics == "all" or list(metrics or ()) == ["all"]


def _choose_metrics(names: Sequence[str] | str | None, logical: bool) -> list[Metric]:
    """The metrics of these names, which must fit the truth; by default those that do."""
    fitting = list(LABEL_METRICS if logical else METRICS)
    if names is None and not logical:
        names = USUAL_METRICS
    elif names is None or wants_all(names):
        names = fitting
    chosen = [get_metric(name) for name in names]
    for metric in chosen:
        if metric.against_labels != logical:
            needed = "0/1 labels, but the table has degrees"
            if logical:
                needed = "true degrees, but the table has 0/1 labels"
            raise InputError(
                f"The metric {metric.name} needs {needed}; choose among {format_list(fitting)}."
            )
    return chosen


def scorable_rows(truth: Array, logical: bool) -> Mask:
    """Rows that can be scored: at least one observed 0/1 label, or all degrees."""
    known = ~np.isnan(truth)
    return np.any(known, axis=1) if logical else np.all(known, axis=1)


def advantage_over_constant(
    truth: Array, P: Array, mean: Array, logical: bool, groups: Groups | None = None
) -> tuple[float, float]:
    """Return the mean advantage per row over a constant prediction, and its standard error.

    Groups of rows are independent; by default each row is a group.
    Of true degrees: the gain in Kullback-Leibler divergence over their mean, which is the best
    constant. Of 0/1 labels: the slope of their vote log-likelihood on the way from the mean
    prediction to the predictions. It is 0 on average if the features say nothing, whatever the
    labels mean and however sharp or flat the predictions are, while the likelihood itself would
    also blame a prediction that is too sharp.
    """
    if logical:
        shares = log_degrees(P)
        # The mean of the predictions, not of the training labels: only the variation between rows
        # is evaluated.
        constant = np.broadcast_to(log_degrees(P.mean(axis=0)), P.shape)
        step = 0.01  # for the slope
        moved = constant + step * (shares - constant)
        ahead = per_row("vote_likelihood", truth, softmax(moved))
        behind = per_row("vote_likelihood", truth, softmax(constant))
        gain = (ahead - behind) / step
    else:
        # A predicted degree of 0 where the truth is positive would make the divergence infinite.
        ahead = per_row("kl_divergence", truth, P + 1e-9)
        behind = per_row("kl_divergence", truth, np.broadcast_to(mean + 1e-9, P.shape))
        gain = behind - ahead
    return mean_and_error(gain, groups)


def vote_cross_entropy(shares: Array, P: Array) -> Array:
    """Mean negative log-probability of a vote of each row.

    Smaller degrees than `_smallest_scored_degree` count as that, so that a vote for a label with
    degree 0 has a finite one.

    Examples
    --------
    >>> vote_cross_entropy(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]))  # -0.5 ln 0.005
    array([2.64915868])
    """
    smallest = _smallest_scored_degree(P.shape[1])
    return np.asarray(cross_entropy(shares, P, eps=smallest, per_row=True))


def _smallest_scored_degree(n_labels: int) -> float:
    """What smaller degrees count as in `vote_cross_entropy`: 0.01 for all labels together."""
    return 0.01 / n_labels


def describe_vote_scores(n_labels: int) -> str:
    """How the cross-entropy of votes is computed, as a sentence."""
    smallest = _smallest_scored_degree(n_labels)
    return (
        "Cross-entropy is the mean of -ln(degree) over the votes; a degree below "
        f"{smallest:.2g} counts as {smallest:.2g} and costs {-np.log(smallest):.1f}."
    )


def _score_rows(truth: Array, logical: bool, are_votes: bool, P: Array) -> Array:
    """The score by which predictions are compared with baselines: greater is better."""
    if are_votes:
        return -vote_cross_entropy(truth, P)
    metric = "vote_likelihood" if logical else "intersection"
    return per_row(metric, truth, P)


def _metric_of_rows(metric: Metric, truth: Array, P: Array, are_votes: bool) -> Array:
    if are_votes and metric.function is cross_entropy:
        return vote_cross_entropy(truth, P)
    return np.asarray(metric.function(truth, P, per_row=True))


def mean_and_error(
    gain: Array, groups: Groups | None, weights: Array | None = None
) -> tuple[float, float]:
    """Mean over the rows, and its standard error: the jackknife that leaves out a group at a time.

    If each row is a group and there are no ``weights``, this is the usual standard error of a mean.
    """
    if groups is None:
        groups = np.arange(len(gain))
    # Rounding errors differ hardly between rows, and would be significant.
    gain = np.where(np.abs(gain) < _ROUNDING_ERROR, 0.0, gain)
    weights = row_weights(gain, weights)
    mean = float(np.average(gain, weights=weights))
    n = count_groups(groups)
    if n < 2:
        return mean, float("inf")  # the standard error of a single group is unknown
    weight_without = weights.sum() - np.bincount(groups, weights)
    sum_without = weights @ gain - np.bincount(groups, weights * gain)
    means_without = sum_without / weight_without
    return mean, float(np.sqrt((n - 1) / n * ((means_without - mean) ** 2).sum()))


def clearly_better(advantage: float, error: float, n_groups: int) -> bool:
    """Whether an advantage exceeds two standard errors; more, by Student's t, for few groups."""
    return n_groups > 1 and bool(advantage > stdtrit(n_groups - 1, ndtr(2.0)) * error)
