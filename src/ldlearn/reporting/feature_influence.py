"""Feature influence: coefficients of a linear model for one label."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display
from ldlearn.reporting.style import MUTED, PALETTE, Panels, axis_labels, name_rows, strip_control_chars, title


class FeatureInfluenceDisplay(Display):
    """Strongest weights of a label in a model ``softmax(X W + b)``.

    Adding the same number to a feature's weights of all labels changes no prediction; so each weight is shown minus the
    mean over labels: how much the feature pushes this label up against the others. Weights of features with different
    units cannot be compared; give `scale`, for instance the standard deviations, if the features are not standardised.

    Parameters
    ----------
    weights : array-like of shape (m,)
        Weights of one label, already centred (and scaled).
    feature_names : sequence of str
    label : str
    top : int, default=12
        Number of features shown, those of the largest absolute weight.

    Attributes
    ----------
    shown_ : list of str
        Names of the features drawn, from the strongest push up to the strongest push down.
    bars_ : matplotlib BarContainer

    Notes
    -----
    Example::

        FeatureInfluenceDisplay.from_estimator(model, "joy", scale=X_train.std(axis=0)).save("joy.svg")
    """

    def __init__(self, weights: ArrayLike, feature_names: Sequence[str], label: str, *, top: int = 12) -> None:
        self.weights = np.asarray(weights, dtype=float)
        self.feature_names = [str(name) for name in feature_names]
        if len(self.feature_names) != len(self.weights):
            raise InputError(f"{len(self.feature_names)} names were given for {len(self.weights)} features.")
        self.label = label
        self.top = top
        self._panels = Panels(1, 4.6, 0.9 + 0.24 * min(top, len(self.weights)))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        label: str | int,
        *,
        feature_names: Sequence[str] | None = None,
        scale: ArrayLike | None = None,
        top: int = 12,
        ax: Axes | None = None,
    ) -> FeatureInfluenceDisplay:
        """Draw the weights of a fitted linear model for one label.

        Parameters
        ----------
        estimator : fitted estimator with ``coef_`` of shape (n_labels, n_features)
            Also a two-step model or a pipeline that ends in one.
        label : str or int
            Name or column of the label.
        feature_names : sequence of str, optional
            Those seen in fit by default, else x0, x1, ...
        scale : array-like of shape (m,), optional
            Multiplies the weights.
        top : int, default=12
        ax : matplotlib Axes, optional

        Returns
        -------
        FeatureInfluenceDisplay
        """
        model = _linear_part(estimator)
        coef = np.asarray(model.coef_, dtype=float)
        names = [str(name) for name in getattr(model, "label_names_", range(len(coef)))]
        # -1 is no column, and a label whose name is a number is found below.
        column = label if isinstance(label, (int, np.integer)) else -1
        if not 0 <= column < len(names):
            if str(label) not in names:
                raise InputError(f"There is no label {label!r}; the labels are {', '.join(names)}.")
            column = names.index(str(label))
        # The softmax does not notice what is added to all labels alike: only differences between labels mean anything.
        centred = coef - coef.mean(axis=0)
        weights = centred[column] * (1.0 if scale is None else np.asarray(scale, dtype=float))
        features = feature_names if feature_names is not None else _feature_names(estimator, model, len(weights))
        return cls(weights, features, names[column], top=top).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        # stable: of equal weights the same ones are shown on every machine
        strongest = np.argsort(-np.abs(self.weights), kind="stable")[: self.top]
        order = strongest[np.argsort(-self.weights[strongest], kind="stable")]
        values = self.weights[order]
        colors = [PALETTE[0] if value >= 0 else PALETTE[1] for value in values]
        self.bars_ = ax.barh(range(len(order)), values, height=0.7, color=colors)
        self.shown_ = [self.feature_names[i] for i in order]
        ax.axvline(0, color=MUTED, linewidth=0.9)
        name_rows(ax, self.shown_)
        axis_labels(ax, "weight against the mean of all labels")
        title(ax, f"What pushes {strip_control_chars(self.label)} up (blue) or down (orange)")


def _linear_part(estimator: Any) -> Any:
    """The fitted model that holds the weights: the end of a pipeline, the learner of two steps, or itself."""
    if hasattr(estimator, "steps"):
        return _linear_part(estimator.steps[-1][1])
    model = getattr(estimator, "learner_", estimator)
    if getattr(model, "feature_map_", None) is not None:
        raise InputError(f"{type(model).__name__} uses a feature map; its weights belong to no single feature.")
    if getattr(model, "coef_", None) is None or np.ndim(model.coef_) != 2:
        raise InputError(f"{type(model).__name__} has no coef_ of shape (n_labels, n_features); fit a linear model.")
    return model


def _feature_names(estimator: Any, model: Any, count: int) -> Sequence[str]:
    if len(getattr(estimator, "steps", ())) > 1:
        with suppress(AttributeError, ValueError):  # a step that cannot name its output: count the features instead
            return list(estimator[:-1].get_feature_names_out())
    # Names of the input of a pipeline fit the weights only if no step has made other features.
    known = (getattr(fitted, "feature_names_in_", ()) for fitted in (model, estimator))
    return next((list(names) for names in known if len(names) == count), [f"x{i}" for i in range(count)])
