"""Scores of predicted distributions beside the floors, against true degrees or 0/1 labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.errors import InputError, some
from ldlearn.metrics import LABEL_METRICS, METRICS, USUAL_METRICS, Metric, get_metric, per_row

Matrix = NDArray[np.float64]

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


def score_predictions(
    truth: Matrix, P: Matrix, mean: Matrix, metrics: Sequence[str] | None = None, *, logical: bool
) -> list[Score]:
    """Scores of predictions beside those of two constant ones.

    Parameters
    ----------
    truth : ndarray of shape (n, c)
        True distributions or 0/1 labels.
    P : ndarray of shape (n, c)
        Predictions.
    mean : ndarray of shape (c,)
        The mean distribution of the training rows.
    metrics : sequence of str, optional
        Names of `ldlearn.metrics`; by default the usual six, or all of those against 0/1 labels.
    logical : bool
        Whether ``truth`` holds 0/1 labels.
    """
    floors = {"mean": np.tile(mean, (len(P), 1)), "uniform": np.full(P.shape, 1.0 / P.shape[1])}
    return [
        Score(
            metric.name,
            metric.title,
            metric.greater_is_better,
            metric.function(truth, P),
            **{name: metric.function(truth, floor) for name, floor in floors.items()},
        )
        for metric in choose_metrics(metrics, logical)
    ]


def choose_metrics(names: Sequence[str] | None, logical: bool) -> list[Metric]:
    """The metrics of these names, or by default those that fit the truth; one that does not fit is refused."""
    if names is None:
        names = list(LABEL_METRICS) if logical else USUAL_METRICS
    chosen = [get_metric(name) for name in names]
    unfit = [metric.name for metric in chosen if metric.against_labels != logical]
    if unfit:
        needed, given = ("true degrees", "0/1 labels") if logical else ("0/1 labels", "degrees")
        others = some(list(LABEL_METRICS if logical else METRICS))
        raise InputError(f"The metric {unfit[0]} needs {needed}, but the table has {given}; choose among {others}.")
    return chosen


def advantage_over_mean(truth: Matrix, P: Matrix, mean: Matrix, logical: bool) -> tuple[float, float]:
    """How much better than the constant mean distribution, per row, and the standard error of that.

    Measured by what a constant cannot win by being sharp or flat: the ranks of the positive labels, or
    the Kullback-Leibler divergence from true degrees, of which the mean is the best constant.
    """
    floor = np.tile(mean, (len(P), 1))
    if logical:
        gain = per_row("average_precision", truth, P) - per_row("average_precision", truth, floor)
    else:
        gain = per_row("kl_divergence", truth, floor + 1e-9) - per_row("kl_divergence", truth, P + 1e-9)
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("inf")


def clearly_better(advantage: float, error: float) -> bool:
    """Whether an advantage is more than chance."""
    return advantage > _NEEDS_MORE_THAN * error and advantage > 0


def held_out_scores(facts: dict[str, Any]) -> list[Score]:
    """The scores that a model keeps of rows held out; none if none were."""
    held = facts.get("holdout") or {}
    return [Score(**record) for record in held.get("scores", [])]
