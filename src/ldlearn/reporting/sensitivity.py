"""Sensitivity: the validation score against each parameter of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ldlearn.evaluation import TASKS, Curve, Results, Task, search_curves, sensitivity_curves
from ldlearn.evaluation.formatting import format_value
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display, Records
from ldlearn.reporting.style import Panels, axis_labels, name_ticks, series_style, tidy, title


class SensitivityDisplay(Display):
    """Small multiples, one for each hyperparameter: the best validation score for each of its values.

    For every value the other hyperparameters are the best of the grid, so a flat curve means that this one has little
    influence. The band is one standard deviation over repeats; rings mark selected values.

    Parameters
    ----------
    curves : mapping of str to sequence of Curve
        By task ("recovery", "prediction"), one curve for each parameter.
    score : str, optional
        What the vertical axis shows; by default the metric that selected.
    heading : str, optional
        Title of the first panel's row.

    Attributes
    ----------
    lines_ : dict of (str, str) to matplotlib Line2D
        By parameter and task.

    Notes
    -----
    Example::

        SensitivityDisplay.from_records(records, "vader_tweets", "DLDL").save("sensitivity.svg")
    """

    def __init__(self, curves: Mapping[str, Sequence[Curve]], *, score: str = "", heading: str = "") -> None:
        self.curves = {task: list(some) for task, some in curves.items() if some}
        self.score = score
        self.heading = heading
        self.parameters = list(dict.fromkeys(curve.parameter for some in self.curves.values() for curve in some))
        width = len(self.parameters)
        self._panels = Panels(len(self.curves) * width, 2.6, 2.0, n_columns=width)

    @classmethod
    def from_records(
        cls,
        records: Records,
        dataset: str,
        method: str,
        *,
        tasks: Sequence[Task] = TASKS,
        score: str = "",
        ax: Any = None,
    ) -> SensitivityDisplay:
        """Draw the grid of a method on a data set.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset, method : str
        tasks : sequence of {"recovery", "prediction"}
            A line for each.
        score : str, optional
            What the vertical axis shows; by default the metric that selected.
        ax : matplotlib Axes or sequence of them, optional
            One that is divided, or one for each parameter.

        Returns
        -------
        SensitivityDisplay
        """
        results = Results.of(records)
        curves: dict[str, list[Curve]] = {task: sensitivity_curves(results, dataset, method, task) for task in tasks}
        if not any(curves.values()):
            raise InputError(f"The records of {method!r} on {dataset!r} hold no grid with two values of a parameter.")
        return cls(curves, score=score, heading=f"{method} on {dataset}").plot(ax=ax)

    @classmethod
    def from_estimator(cls, search: Any, *, ax: Any = None) -> SensitivityDisplay:
        """Draw the surface of a fitted search: `DLDLCV`, or a search of scikit-learn.

        Parameters
        ----------
        search : fitted estimator with ``cv_results_`` and ``best_params_``
        ax : matplotlib Axes or sequence of them, optional
            One that is divided, or one for each parameter.

        Returns
        -------
        SensitivityDisplay
        """
        curves = search_curves(search.cv_results_, search.best_params_)
        if not curves:
            raise InputError(f"This {type(search).__name__} tried no parameter at two values: nothing to draw.")
        return cls({"search": curves}, heading=type(search).__name__).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.lines_: dict[tuple[str, str], Any] = {}
        grid = np.reshape(np.array(axes, dtype=object), (-1, len(self.parameters)))
        for i, (task, curves) in enumerate(self.curves.items()):
            by_parameter = {curve.parameter: curve for curve in curves}
            for ax, parameter in zip(grid[i], self.parameters, strict=True):
                # A parameter of one task only leaves an empty panel in the row of the other.
                if parameter in by_parameter:
                    self.lines_[parameter, task] = _draw_curve(ax, by_parameter[parameter], i)
                tidy(ax)
                score = self.score or f"validation {curves[0].heading}"
                heading = f"{task}\n{score}" if ax is grid[i, 0] else ""
                axis_labels(ax, parameter if ax in grid[-1] else "", heading)
            # One scale for all parameters of a task: which of them matters most is seen from the heights.
            ends = [end for ax in grid[i] for end in ax.get_ylim()]
            for ax in grid[i]:
                ax.set_ylim(min(ends), max(ends))
                ax.tick_params(labelleft=ax is grid[i, 0])
        title(axes[0], self.heading)


def _draw_curve(ax: Axes, curve: Curve, index: int) -> Any:
    style = series_style(index)
    (line,) = ax.plot(curve.positions, curve.mean, linewidth=1.6, markersize=3.5, **style)
    # one repeat has no spread
    if np.isfinite(curve.std).any():
        low, high = curve.mean - curve.std, curve.mean + curve.std
        ax.fill_between(curve.positions, low, high, color=style["color"], alpha=0.15, linewidth=0)
    chosen = [i for i, value in enumerate(curve.values) if value in curve.chosen]
    x, y = np.asarray(curve.positions)[chosen], curve.mean[chosen]
    ax.plot(x, y, linestyle="none", marker="o", markersize=9, markerfacecolor="none", markeredgecolor=style["color"])
    names = [format_value(value) for value in curve.values]
    name_ticks(ax.xaxis, names, curve.positions, rotation=45 if len(names) > 4 else 0)
    return line
