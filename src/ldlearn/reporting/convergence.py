"""Convergence: the objective after every step, and the certified gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from ldlearn.evaluation import Results
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display, Records
from ldlearn.reporting.style import Panels, axis_labels, legend, series_style, tidy, title


class ConvergenceDisplay(Display):
    """Objective of one or more fits after every step.

    One fit is drawn in its own units. Several fits have different objectives, so the relative change in every step is
    drawn: a line that ends high has not converged.

    Parameters
    ----------
    objectives : mapping of str to array-like
        Values after every step, by the name of the fit.
    gaps : mapping of str to float, optional
        Certified gap at the end: the last value is at most this far above the minimum.
    heading : str, optional
        Title.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D

    Notes
    -----
    Example::

        ConvergenceDisplay.from_estimator(DLDL().fit(X, Y)).save("convergence.png")
    """

    def __init__(
        self, objectives: Mapping[str, ArrayLike], gaps: Mapping[str, float] | None = None, heading: str = ""
    ) -> None:
        self.objectives = {name: np.asarray(values, dtype=float) for name, values in objectives.items()}
        self.gaps = dict(gaps or {})
        self.heading = heading

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the ``objective_path_`` and the ``gap_`` of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with ``objective_path_``
        name : str, optional
            Its name in the legend; the class by default.
        ax : matplotlib Axes, optional

        Returns
        -------
        ConvergenceDisplay
        """
        name = name or type(estimator).__name__
        path = getattr(estimator, "objective_path_", None)
        if path is None:
            raise InputError(f"{name} has no objective_path_; fit it first, or use a method that records it.")
        gap = getattr(estimator, "gap_", None)
        # DLDL certifies each row: it is the sum that bounds how far the objective is from its minimum.
        gaps = {} if gap is None else {name: float(np.sum(gap))}
        return cls({name: path}, gaps).plot(ax=ax)

    @classmethod
    def from_records(
        cls, records: Records, dataset: str, *, methods: Sequence[str] | None = None, ax: Axes | None = None
    ) -> ConvergenceDisplay:
        """Draw the first repeat of every method on a data set that recorded its objective.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset : str
        methods : sequence of str, optional
            Only these; all by default.
        ax : matplotlib Axes, optional

        Returns
        -------
        ConvergenceDisplay
        """
        repeats = Results.of(records).convergence(dataset)
        first = {name: runs[0] for name, runs in repeats.items() if methods is None or name in methods}
        if not first:
            raise InputError(f"No record of data set {dataset!r} holds an objective.")
        gaps = {name: run.gap for name, run in first.items() if run.gap is not None}
        return cls({name: run.objective for name, run in first.items()}, gaps, heading=dataset).plot(ax=ax)

    _panels = Panels(1, 4.8, 3.0)

    def _draw(self, ax: Axes) -> None:
        alone = len(self.objectives) == 1
        self.lines_: dict[str, Any] = {}
        for i, (name, values) in enumerate(self.objectives.items()):
            heights = values if alone else _relative_change(values)
            # A change belongs to the step it was made in, so that changes begin at step 2.
            steps = np.arange(1 + len(values) - len(heights), 1 + len(values))
            (self.lines_[name],) = ax.plot(steps, heights, linewidth=1.6, markersize=3.5, **series_style(i))
        tidy(ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        axis_labels(ax, "step", "objective" if alone else "relative change of the objective")
        if not alone:
            ax.set_yscale("log")
        title(ax, self.heading)
        gaps = {name: f" (certified gap {gap:.1e})" for name, gap in self.gaps.items()}
        legend(ax, list(self.lines_.values()), [name + gaps.get(name, "") for name in self.lines_])


def _relative_change(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Change of the objective in every step but the first, relative to its last value."""
    # "or 1": an objective may end at exactly 0. 1e-16: no change at all has no logarithm.
    return np.maximum(np.abs(np.diff(values)) / (abs(values[-1]) or 1.0), 1e-16)
