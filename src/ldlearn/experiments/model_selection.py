"""Model selection: validation scores of a fitted model, by true degrees or by 0/1 labels only."""

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

# Rows that select hyperparameters for recovery where true degrees are known.
_TRAINING, _ENHANCED, _FITTED_AGAIN = "training rows", "validation rows, enhanced", "validation rows, fitted again"


class ValidationRowsError(InputError):
    """The validation rows cannot score a model, for instance because they are fewer than its neighbours."""


class ValidationScorer:
    """Scores of fitted models by which one of them is selected.

    Parameters
    ----------
    split : Split
    selection : Selection
        Under ``"oracle"`` predictions are compared with the true degrees. Under ``"logical"`` only 0/1 labels are used:
        their likelihood, or another metric against observed labels; metrics between distributions compare with equal
        degrees of the positive labels.
    """

    def __init__(self, split: Split, selection: Selection) -> None:
        self.split, self.selection = split, selection
        self.oracle = selection.mode == "oracle"

    def basis(self, model: Any) -> str:
        """The rows that select hyperparameters for recovery, as the record names them."""
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
        """Scores of a model by the metrics that select."""
        deciding = self.selection.deciding(task)
        if not self.oracle:
            return self._scores_of_labels(model, deciding)
        if task == "recovery":
            return score_all(*self._recovered(model), deciding)
        return score_all(self.split.validation.truth, model.predict(self.split.validation.X), deciding)

    def _scores_of_labels(self, model: Any, deciding: list[str]) -> dict[str, float]:
        """Scores of predictions against 0/1 labels, for both tasks; enhancers get a learner."""
        train, validation = self.split.train, self.split.validation
        # The same learner with its defaults for every enhancer, so that only what they recover can differ.
        learner = model if hasattr(model, "predict") else SABFGS().fit(train.X, model.label_distributions_)
        P = learner.predict(validation.X)
        ours = [name for name in deciding if get_metric(name).against_labels]
        scores = score_all(validation.Y, P, ours)
        if not np.isnan(validation.Y).any():
            shares = normalize_rows(validation.Y.astype(float))
            return scores | score_all(shares, P, [name for name in deciding if name not in ours])
        # Further metrics that need every label are left out; the one that selects cannot be.
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
        """The method with the same parameters, fitted to the 0/1 labels of the validation rows."""
        validation = self.split.validation
        try:
            # A clone, because the fitted model may still be selected.
            return clone(model).fit(validation.X, validation.Y)
        except Exception as error:
            raise ValidationRowsError(
                f"{len(validation.rows)} validation rows cannot score its recovery: {' '.join(str(error).split())}"
            ) from error
