"""Model selection: the validation scores of a fitted model, by the truth or by 0/1 labels only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ldlearn.core.simplex import normalize_rows
from ldlearn.exceptions import InputError
from ldlearn.experiments.plan import Selection
from ldlearn.experiments.splits import Split
from ldlearn.learning import SABFGS
from ldlearn.metrics import get_metric, score_all

# Which rows choose the parameters for recovery where the truth is known.
_TRAINING, _ENHANCED, _FITTED_AGAIN = "training rows", "validation rows, enhanced", "validation rows, fitted again"


class ValidationRowsError(InputError):
    """The validation rows cannot score a model, for instance because they are fewer than its neighbours."""


class ValidationScorer:
    """Gives fitted models the scores by which one of them is chosen.

    Parameters
    ----------
    split : Split
    selection : Selection
        Under ``"oracle"`` the truth is that of the data set. Under ``"logical"`` nothing but 0/1 labels is used: their
        likelihood, or another metric against labels, those that are known counting; for a metric between distributions
        equal shares of the positive labels stand for the truth.
    """

    def __init__(self, split: Split, selection: Selection) -> None:
        self.split, self.selection = split, selection
        self.oracle = selection.mode == "oracle"

    def basis(self, model: Any) -> str:
        """The rows that choose the parameters for recovery: this goes into the record."""
        if not self.oracle:
            return "validation labels, predicted"
        if self.selection.recovery_rows == "training":
            return _TRAINING
        return _ENHANCED if model.can_enhance else _FITTED_AGAIN

    def needs_a_fit(self, task: str, model: Any) -> bool:
        """Whether the scores cost another fit."""
        if not self.oracle:
            return not hasattr(model, "predict")
        return task == "recovery" and self.basis(model) == _FITTED_AGAIN

    def scores(self, task: str, model: Any) -> dict[str, float]:
        """Scores of a model by the metrics that decide."""
        deciding = self.selection.deciding(task)
        if not self.oracle:
            return self._scores_of_labels(model, deciding)
        if task == "recovery":
            return score_all(*self._recovered(model), deciding)
        return score_all(self.split.validation.truth, model.predict(self.split.validation.X), deciding)

    def _scores_of_labels(self, model: Any, deciding: list[str]) -> dict[str, float]:
        """How predictions fit 0/1 labels, whatever the task: without the truth, degrees are worth what they teach."""
        train, validation = self.split.train, self.split.validation
        # The same learner with its defaults for every enhancer, so that only what they recover can differ.
        teaches = model if hasattr(model, "predict") else SABFGS().fit(train.X, model.label_distributions_)
        P = teaches.predict(validation.X)
        ours = [name for name in deciding if get_metric(name).against_labels]
        scores = score_all(validation.Y, P, ours)
        if not np.isnan(validation.Y).any():
            shares = normalize_rows(validation.Y.astype(float))
            return scores | score_all(shares, P, [name for name in deciding if name not in ours])
        # Further metrics that need every label are left out in silence; the one that chooses cannot be.
        if deciding[0] not in ours:
            raise ValidationRowsError(
                f'{deciding[0]} needs every label, but some are unknown; write prediction = "vote_likelihood".'
            )
        return scores

    def _recovered(self, model: Any) -> tuple[NDArray[Any], Any]:
        train, validation, basis = self.split.train, self.split.validation, self.basis(model)
        if basis == _TRAINING:
            return train.truth, model.label_distributions_
        if basis == _ENHANCED:
            return validation.truth, model.enhance(validation.X, validation.Y)
        return validation.truth, self._fitted_again(model).label_distributions_

    def _fitted_again(self, model: Any) -> Any:
        """The method with the same parameters on the validation rows, of which it sees the 0/1 labels only."""
        validation = self.split.validation
        try:
            # a clone, because the fitted model may still be chosen
            return clone(model).fit(validation.X, validation.Y)
        except Exception as error:
            raise ValidationRowsError(
                f"{len(validation.rows)} validation rows cannot score its recovery: {' '.join(str(error).split())}"
            ) from error
