"""Model selection: the validation score of a fitted model, by the truth or by 0/1 labels only."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from ldlearn.core.simplex import normalize_rows
from ldlearn.experiments.plan import Selection
from ldlearn.experiments.splits import Split
from ldlearn.learning import SABFGS
from ldlearn.metrics import get_metric


class ValidationScorer:
    """Gives fitted models the score by which one of them is chosen.

    Parameters
    ----------
    split : Split
    selection : Selection
        Under ``"oracle"`` the truth is that of the data set; under ``"logical"`` equal shares of the positive labels
        stand for it, so that nothing but 0/1 labels is used.
    """

    def __init__(self, split: Split, selection: Selection) -> None:
        self.split = split
        self.oracle = selection.mode == "oracle"
        self._enhances = selection.recovery_rows == "validation"
        self.metrics = {"recovery": get_metric(selection.recovery), "prediction": get_metric(selection.prediction)}
        part = split.validation
        self._target = part.D if self.oracle else normalize_rows(part.Y.astype(float))

    def basis(self, model: Any) -> str:
        """The rows that the recovery of a model is scored on: this goes into the record."""
        if not self.oracle:
            return "validation labels, predicted"
        return "validation rows, enhanced" if self._can_enhance(model) else "training rows"

    def recovery(self, model: Any) -> float:
        """How well a model recovers degrees; on validation rows if it can and should enhance those, else on its own."""
        validation, train = self.split.validation, self.split.train
        if not self.oracle:
            return self.prediction(model if hasattr(model, "predict") else _taught_by(model, train.X))
        if self._can_enhance(model):
            return self._value("recovery", validation.D, model.enhance(validation.X, validation.Y))
        return self._value("recovery", train.D, model.label_distributions_)

    def _can_enhance(self, model: Any) -> bool:
        return self._enhances and bool(model.can_enhance)

    def prediction(self, model: Any) -> float:
        """How well a model predicts the validation part."""
        return self._value("prediction", self._target, model.predict(self.split.validation.X))

    def _value(self, task: str, truth: NDArray[Any], found: Any) -> float:
        return self.metrics[task].function(truth, found)

    def better(self, task: str, new: float, old: float) -> bool:
        """Whether a value is strictly better than another; NaN is worse than anything."""
        if math.isnan(new) or math.isnan(old):
            return math.isnan(old) and not math.isnan(new)
        return new > old if self.metrics[task].greater_is_better else new < old


def _taught_by(enhancer: Any, X: Any) -> Any:
    """A predictor trained on what an enhancer recovered: without the truth, degrees are as good as what they teach."""
    return SABFGS().fit(X, enhancer.label_distributions_)
