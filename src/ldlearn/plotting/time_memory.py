"""Time and memory of every method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from ldlearn.errors import InputError
from ldlearn.plotting.display import Display
from ldlearn.plotting.style import PALETTE, RULE, axis_labels, many_axes, name_ticks, shared_legend, tidy, title
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

    def plot(self, *, ax: Any = None) -> TimeMemoryDisplay:
        """Draw both panels.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, optional

        Returns
        -------
        TimeMemoryDisplay
        """
        self.methods_ = sorted(self.seconds, key=lambda method: self.seconds[method].get("fit", float("inf")))
        axes = many_axes(ax, 1, 1 + self._memory_differs, (3.7, 1.1 + 0.2 * len(self.methods_)))
        self.points_: dict[str, Any] = {}
        self._draw_seconds(axes[0])
        if self._memory_differs:
            self._draw_memory(axes[1])
        drawn = [phase for phase in PHASES if phase in self.points_]
        shared_legend(axes[0], [self.points_[phase] for phase in drawn], drawn, own_figure=ax is None)
        title(axes[0], self.heading)
        self._drawn_on(*axes)
        return self

    @property
    def _memory_differs(self) -> bool:
        """Where all methods need much the same, a panel of equal dots says nothing."""
        return max(self.memory.values(), default=0.0) > _TELLING * min(self.memory.values(), default=0.0)

    def _draw_seconds(self, ax: Axes) -> None:
        for i, phase in enumerate(PHASES):
            known = [(self.seconds[m][phase], y) for y, m in enumerate(self.methods_) if phase in self.seconds[m]]
            if known:
                x, y = zip(*known, strict=True)
                (self.points_[phase],) = ax.plot(
                    x, y, linestyle="none", marker=_MARKERS[phase], markersize=5, color=PALETTE[i], alpha=0.9
                )
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        self._prepare(ax, "seconds")
        name_ticks(ax, "y", range(len(self.methods_)), self.methods_)

    def _draw_memory(self, ax: Axes) -> None:
        known = [(self.memory[method], y) for y, method in enumerate(self.methods_) if method in self.memory]
        if known:
            x, y = zip(*known, strict=True)
            (self.points_["memory"],) = ax.plot(x, y, linestyle="none", marker="o", markersize=5, color=PALETTE[3])
        self._prepare(ax, "peak memory, MB")
        ax.set_xlim(0, 1.08 * max(self.memory.values(), default=1.0))
        name_ticks(ax, "y", range(len(self.methods_)), [""] * len(self.methods_))

    def _prepare(self, ax: Axes, label: str) -> None:
        ax.hlines(
            range(len(self.methods_)), 0, 1, transform=ax.get_yaxis_transform(), color=RULE, linewidth=0.5, zorder=0
        )
        tidy(ax, grid="x")
        ax.set_ylim(len(self.methods_) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        axis_labels(ax, label)
