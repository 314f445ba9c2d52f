"""Time and memory of every method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from ldlearn.evaluation import Results, costs
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display, Records
from ldlearn.reporting.style import PALETTE, Panels, axis_labels, name_rows, title

_MARKERS = {"select": "s", "fit": "o", "predict": "D"}  # by phase


class TimeMemoryDisplay(Display):
    """Seconds (left) and, where it differs, peak memory (right) of every method, the quickest fit at the top.

    Parameters
    ----------
    seconds : mapping of str to mapping of str to float
        By method: mean seconds of the phases "select" (the whole grid), "fit" (once) and "predict".
    memory : mapping of str to float
        By method: peak memory in MB.
    heading : str, optional

    Attributes
    ----------
    methods_ : list of str
        From top to bottom.
    points_ : dict of str to matplotlib Line2D
        By phase, and "memory".

    Notes
    -----
    Example::

        TimeMemoryDisplay.from_records(records).save("cost.pdf")
    """

    def __init__(
        self, seconds: Mapping[str, Mapping[str, float]], memory: Mapping[str, float], *, heading: str = ""
    ) -> None:
        self.seconds = {method: dict(phases) for method, phases in seconds.items()}
        self.memory = dict(memory)
        self.heading = heading
        # If all methods need nearly the same memory, its panel is left out.
        differs = max(memory.values(), default=0.0) > 1.25 * min(memory.values(), default=0.0)
        self._panels = Panels(1 + differs, 3.7, 1.1 + 0.2 * len(seconds), n_columns=1 + differs)

    @classmethod
    def from_records(cls, records: Records, dataset: str | None = None, *, ax: Any = None) -> TimeMemoryDisplay:
        """Draw means over repeats (and over data sets, if none is named).

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset : str, optional
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        TimeMemoryDisplay
        """
        found = costs(Results.of(records), dataset)
        if not found:
            raise InputError("No finished record to draw" + (f" for data set {dataset!r}." if dataset else "."))
        seconds: dict[str, dict[str, float]] = {}
        for cost in found:
            spent = {phase: spread.mean for phase, spread in cost.seconds.items() if spread}
            # a logarithmic axis has no place for 0
            seconds[cost.method.name] = {phase: mean for phase, mean in spent.items() if mean > 0}
        memory = {cost.method.name: cost.memory.mean for cost in found if cost.memory}
        return cls(seconds, memory, heading=dataset or "").plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.methods_ = sorted(self.seconds, key=lambda method: self.seconds[method].get("fit", float("inf")))
        self.points_: dict[str, Any] = {}
        # Also a marker for each phase, for readers who cannot distinguish the colours.
        for (phase, marker), color in zip(_MARKERS.items(), PALETTE, strict=False):
            spent = {method: phases[phase] for method, phases in self.seconds.items() if phase in phases}
            self._draw_points(axes[0], phase, spent, marker=marker, color=color, alpha=0.9)
        axes[0].set_xscale("log")
        axes[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        name_rows(axes[0], self.methods_, ruled=True)
        axis_labels(axes[0], "seconds")
        title(axes[0], self.heading)
        self._shared_legend(list(self.points_.values()), list(self.points_))
        for ax in axes[1:]:
            self._draw_points(ax, "memory", self.memory, marker="o", color=PALETTE[3])
            name_rows(ax, [""] * len(self.methods_), ruled=True)
            # From 0: memory is compared by its amount, and small differences must look small.
            ax.set_xlim(0, 1.08 * max(self.memory.values()))
            axis_labels(ax, "peak memory, MB")

    def _draw_points(self, ax: Axes, name: str, values: Mapping[str, float], **style: Any) -> None:
        known = [(values[method], y) for y, method in enumerate(self.methods_) if method in values]
        if known:
            (self.points_[name],) = ax.plot(*zip(*known, strict=True), linestyle="none", markersize=5, **style)
