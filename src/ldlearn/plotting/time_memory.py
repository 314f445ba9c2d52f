"""Time and memory of every method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from ldlearn.errors import InputError
from ldlearn.plotting.display import Display
from ldlearn.plotting.style import PALETTE, Panels, axis_labels, name_rows, title
from ldlearn.results import AnyRecords, Results, costs
from ldlearn.results.record import PHASES

_TELLING = 1.25  # the largest peak of memory over the smallest, from which the panel is drawn
_MARKERS = {"select": "s", "fit": "o", "predict": "D"}


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
        # Where all methods need much the same, a panel of equal dots says nothing.
        self._memory_differs = max(memory.values(), default=0.0) > _TELLING * min(memory.values(), default=0.0)
        n_panels = 1 + self._memory_differs
        self._panels = Panels(n_panels, 3.7, 1.1 + 0.2 * len(seconds), n_columns=n_panels)

    @classmethod
    def from_records(cls, records: AnyRecords, dataset: str | None = None, *, ax: Any = None) -> TimeMemoryDisplay:
        """Draw means over repeats (and over data sets, if none is named).

        Parameters
        ----------
        records : sequence of Record
            What ``ldlearn.results.read_records`` returns.
        dataset : str, optional
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        TimeMemoryDisplay
        """
        found = costs(Results.of(records), dataset)
        if not found:
            raise InputError("No finished record to draw" + (f" for data set {dataset!r}." if dataset else "."))
        seconds = {
            cost.method.name: {
                phase: spread.mean for phase, spread in cost.seconds.items() if spread and spread.mean > 0
            }
            for cost in found
        }
        memory = {cost.method.name: cost.memory.mean for cost in found if cost.memory}
        return cls(seconds, memory, heading=dataset or "").plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.methods_ = sorted(self.seconds, key=lambda method: self.seconds[method].get("fit", float("inf")))
        self.points_: dict[str, Any] = {}
        self._draw_seconds(axes[0])
        if self._memory_differs:
            self._draw_memory(axes[1])
        drawn = [phase for phase in PHASES if phase in self.points_]
        self._shared_legend([self.points_[phase] for phase in drawn], drawn)
        title(axes[0], self.heading)

    def _draw_seconds(self, ax: Axes) -> None:
        for i, phase in enumerate(PHASES):
            seconds = {method: phases[phase] for method, phases in self.seconds.items() if phase in phases}
            self._draw_points(ax, phase, seconds, marker=_MARKERS[phase], color=PALETTE[i], alpha=0.9)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        name_rows(ax, self.methods_, ruled=True)
        axis_labels(ax, "seconds")

    def _draw_memory(self, ax: Axes) -> None:
        self._draw_points(ax, "memory", self.memory, marker="o", color=PALETTE[3])
        name_rows(ax, [""] * len(self.methods_), ruled=True)
        ax.set_xlim(0, 1.08 * max(self.memory.values(), default=1.0))
        axis_labels(ax, "peak memory, MB")

    def _draw_points(self, ax: Axes, name: str, values: Mapping[str, float], **style: Any) -> None:
        known = [(values[method], y) for y, method in enumerate(self.methods_) if method in values]
        if known:
            x, y = zip(*known, strict=True)
            (self.points_[name],) = ax.plot(x, y, linestyle="none", markersize=5, **style)
