"""Scores of predictions beside those of baselines, and whether the difference is significant."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from ldlearn._messages import format_list
from ldlearn.core.row_groups import Groups, count_groups, join_groups
from ldlearn.core.simplex import Array, Mask, log_degrees, softmax
from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import mean_of_defined
from ldlearn.metrics.registry import (
    LABEL_METRICS,
    METRICS,
    USUAL_METRICS,
    Metric,
    get_metric,
    per_row,
)


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
    weights: Array | None = None,
    groups: Groups | None = None,
) -> dict[str, Any]:
    """Return the scores of predictions beside the baselines, and whether the gain is significant.

    Rows that cannot be scored are left out. Of 0/1 labels, the predictions are better than the
    baselines if the slope of the vote log-likelihood is clearly positive
    (`advantage_over_constant`) and the likelihood itself not clearly below that of the mean
    distribution.

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
        Names of `ldlearn.metrics`; by default the usual six, or all of those against 0/1 labels.
    weights : ndarray of shape (n_samples,), optional
        Sample weights.
    groups : integer ndarray of shape (n_samples,), optional
        Rows of a group are no independent evidence: standard errors are those of independent
        groups. By default each row is a group.
    """
    chosen = _choose_metrics(metrics, logical)
    known = scorable_rows(truth, logical)
    truth = truth[known]
    P = P[known]
    if weights is not None:
        weights = weights[known]
    if groups is None:
        groups = np.arange(len(known))
    units = join_groups(groups[known])
    predictions = {
        "model": P,
        "mean": np.broadcast_to(mean, P.shape),
        "uniform": np.full(P.shape, 1.0 / P.shape[1]),
    }
    n_groups = count_groups(units)
    advantage, error = advantage_over_constant(truth, P, mean, logical, units)
    better = clearly_better(advantage, error, n_groups)
    metric = "vote_likelihood" if logical else "intersection"
    by_row = per_row(metric, truth, P)
    likelihood_gain = likelihood_error = None
    classifier_gain = classifier_error = None
    if logical:
        gains = by_row - per_row(metric, truth, predictions["mean"])
        likelihood_gain, likelihood_error = _mean_and_error(gains, units)
        better = better and not clearly_better(-likelihood_gain, likelihood_error, n_groups)
    if classifier is not None:
        predictions["classifier"] = classifier[known]
        gains = per_row(metric, truth, classifier[known]) - by_row
        classifier_gain, classifier_error = _mean_and_error(gains, units)
    scores = []
    for each in chosen:
        values = {}
        for name, predicted in predictions.items():
            by_row = each.function(truth, predicted, per_row=True)
            values[name] = mean_of_defined(by_row, weights)
        scores.append(Score(each.name, each.title, each.greater_is_better, **values))
    return {
        "rows": len(P),
        "groups": n_groups,
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
    return _mean_and_error(gain, groups)


def _mean_and_error(gain: Array, groups: Groups | None) -> tuple[float, float]:
    """Mean over the rows, and its standard error: the jackknife that leaves out a group at a time.

    If each row is a group, this is the usual standard error of a mean.
    """
    if groups is None:
        groups = np.arange(len(gain))
    mean = float(gain.mean())
    n = count_groups(groups)
    if n < 2:
        return mean, float("inf")  # the standard error of a single group is unknown
    rows_without = len(gain) - np.bincount(groups)
    means_without = (gain.sum() - np.bincount(groups, gain)) / rows_without
    return mean, float(np.sqrt((n - 1) / n * ((means_without - mean) ** 2).sum()))


def clearly_better(advantage: float, error: float, n_groups: int) -> bool:
    """Whether an advantage exceeds two standard errors; more, by Student's t, for few groups."""
    return n_groups > 1 and bool(advantage > stdtrit(n_groups - 1, ndtr(2.0)) * error)
