"""Scores of predicted distributions beside the floors, against true degrees or 0/1 labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import label_ranking_loss

from ldlearn.metrics import METRICS, get_metric

Matrix = NDArray[np.float64]

# Those of the paper.
USUAL_METRICS = ("chebyshev", "clark", "canberra", "kl_divergence", "cosine", "intersection")
_NEEDS_MORE_THAN = 2.0  # standard errors by which a model must beat the floor


@dataclass(frozen=True)
class Score:
    """One measure of a model and of the floors.

    Attributes
    ----------
    name, title : str
    greater_is_better : bool
    model, mean, uniform : float
        The value of the model; of the mean training distribution for every row; of equal shares for every row.
    """

    name: str
    title: str
    greater_is_better: bool
    model: float
    mean: float
    uniform: float

    @property
    def heading(self) -> str:
        """Title and an arrow for its direction."""
        return f"{self.title} {'↑' if self.greater_is_better else '↓'}"

    @property
    def beats_floors(self) -> bool:
        """Whether the model is better than both floors."""
        sign = 1 if self.greater_is_better else -1
        return sign * self.model > sign * (max if self.greater_is_better else min)(self.mean, self.uniform)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and model files."""
        return asdict(self)


def average_precision_rows(Y: Matrix, P: Matrix) -> Matrix:
    """Of the labels ranked at least as high as a positive one, the share that is positive: mean over the positives.

    Examples
    --------
    >>> average_precision_rows(np.array([[1.0, 0.0, 1.0]]), np.array([[0.5, 0.3, 0.2]]))
    array([0.83333333])
    """
    positive = Y > 0
    above = rankdata(-P, method="max", axis=1)
    positives_above = rankdata(np.where(positive, -P, np.inf), method="max", axis=1)
    count = positive.sum(axis=1)
    total = np.where(positive, positives_above / above, 0.0).sum(axis=1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), 1.0))


def _average_precision(Y: Matrix, P: Matrix) -> float:
    return float(average_precision_rows(Y, P).mean())


def _ranking_loss(Y: Matrix, P: Matrix) -> float:
    return float(label_ranking_loss(Y, P))


def _top_is_wrong(Y: Matrix, P: Matrix) -> float:
    return 1.0 - float(Y[np.arange(len(Y)), P.argmax(axis=1)].mean())


def _mass_on_positives(Y: Matrix, P: Matrix) -> float:
    return float((Y * P).sum(axis=1).mean())


_LOGICAL: dict[str, tuple[str, bool, Callable[[Matrix, Matrix], float]]] = {
    "average_precision": ("Average precision", True, _average_precision),
    "ranking_loss": ("Ranking loss", False, _ranking_loss),
    "one_error": ("Top label is not positive", False, _top_is_wrong),
    "positive_mass": ("Mass on the positive labels", True, _mass_on_positives),
}


def metric_names() -> list[str]:
    """Every measure against true degrees."""
    return list(METRICS)


def score_predictions(
    truth: Matrix, P: Matrix, mean: Matrix, metrics: Sequence[str] = USUAL_METRICS, *, logical: bool
) -> list[Score]:
    """Scores of predictions beside those of two constant ones.

    Parameters
    ----------
    truth : ndarray of shape (n, c)
        True distributions, measured by ``metrics``; or 0/1 labels, measured by how high the positive ones rank.
    P : ndarray of shape (n, c)
        Predictions.
    mean : ndarray of shape (c,)
        The mean distribution of the training rows.
    metrics : sequence of str
        Names of `ldlearn.metrics`, for true distributions.
    logical : bool
        Whether ``truth`` holds 0/1 labels.
    """
    floors = {"mean": np.tile(mean, (len(P), 1)), "uniform": np.full(P.shape, 1.0 / P.shape[1])}
    measures: list[tuple[str, str, bool, Callable[[Matrix, Matrix], float]]]
    if logical:
        measures = [(name, *parts) for name, parts in _LOGICAL.items()]
    else:
        found = [get_metric(name) for name in metrics]
        measures = [(m.name, m.title, m.greater_is_better, m.function) for m in found]
    return [
        Score(name, title, up, value(truth, P), **{key: value(truth, floor) for key, floor in floors.items()})
        for name, title, up, value in measures
    ]


def advantage_over_mean(truth: Matrix, P: Matrix, mean: Matrix, logical: bool) -> tuple[float, float]:
    """How much better than the constant mean distribution, per row, and the standard error of that.

    Measured by what a constant cannot win by being sharp or flat: the ranks of the positive labels, or
    the Kullback-Leibler divergence from true degrees, of which the mean is the best constant.
    """
    floor = np.tile(mean, (len(P), 1))
    if logical:
        gain = average_precision_rows(truth, P) - average_precision_rows(truth, floor)
    else:
        metric = get_metric("kl_divergence")
        gain = metric.rows(truth, floor + 1e-9) - metric.rows(truth, P + 1e-9)
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("inf")


def clearly_better(advantage: float, error: float) -> bool:
    """Whether an advantage is more than chance."""
    return advantage > _NEEDS_MORE_THAN * error and advantage > 0
