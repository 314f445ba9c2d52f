"""Critical-difference diagram: average ranks on a line, bars over methods that do not differ significantly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ldlearn.evaluation import PostHocResult, Results, Task, bonferroni_dunn, nemenyi
from ldlearn.exceptions import InputError
from ldlearn.metrics import get_metric
from ldlearn.reporting.display import Display, Records
from ldlearn.reporting.style import BAND, INK, MUTED, NORMAL, PALETTE, Panels, strip_control_chars, write

_BAR_STEP = 0.34
_NAME_STEP = 0.62


class CriticalDifferenceDisplay(Display):
    """Average ranks of methods, best at the left, and which of them differ significantly.

    Methods under one thick bar do not differ significantly (Nemenyi). With a control, methods in the shaded band do not
    differ significantly from it (Bonferroni-Dunn).

    Parameters
    ----------
    result : PostHocResult
        Result of `ldlearn.evaluation.nemenyi` or `ldlearn.evaluation.bonferroni_dunn`.
    muted : sequence of str, optional
        Methods whose names are drawn in grey, for instance baselines.

    Attributes
    ----------
    names_ : dict of str to matplotlib Text
        The name of each method.
    bars_ : list of matplotlib Line2D
        The bars over groups.

    Notes
    -----
    Example::

        CriticalDifferenceDisplay.from_scores(scores, methods=["A", "B", "C"], greater_is_better=False).save("cd.svg")
    """

    def __init__(self, result: PostHocResult, *, muted: Sequence[str] = ()) -> None:
        self.result = result
        self.muted = tuple(muted)
        self._bars, n_lines = _bars(result)
        self._names_from = 0.45 + _BAR_STEP * n_lines
        self._depth = self._names_from + _NAME_STEP * math.ceil(len(result.average_ranks) / 2)
        self._panels = Panels(1, 7.4, 0.9 + 0.42 * self._depth)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        greater_is_better: bool,
        methods: Sequence[str] | None = None,
        control: str | None = None,
        alpha: float = 0.05,
        muted: Sequence[str] = (),
        ax: Axes | None = None,
    ) -> CriticalDifferenceDisplay:
        """Test and draw scores of shape (n_datasets, n_methods).

        Parameters
        ----------
        scores : array-like of shape (n_datasets, n_methods)
        greater_is_better : bool
            Direction of the score.
        methods : sequence of str, optional
            Names of the columns.
        control : str, optional
            Compare this method with the others by Bonferroni-Dunn; without it, all pairs by Nemenyi.
        alpha : float, default=0.05
            Level of significance.
        muted : sequence of str, optional
            Methods drawn in grey.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        options: dict[str, Any] = {"greater_is_better": greater_is_better, "methods": methods, "alpha": alpha}
        result = nemenyi(scores, **options) if control is None else bonferroni_dunn(scores, control, **options)
        return cls(result, muted=muted).plot(ax=ax)

    @classmethod
    def from_records(
        cls,
        records: Records,
        metric: str,
        *,
        task: Task = "prediction",
        methods: Sequence[str] | None = None,
        control: str | None = None,
        alpha: float = 0.05,
        ax: Axes | None = None,
    ) -> CriticalDifferenceDisplay:
        """Test and draw the mean scores of an experiment; methods without a score on every data set are left out.

        Methods trained on true distributions do not compete, and are drawn only if named.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        metric : str
            A key of `ldlearn.metrics.METRICS`.
        task : {"recovery", "prediction"}
        methods : sequence of str, optional
            Only these; all that compete by default.
        control, alpha, ax
            As in `from_scores`.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        results, known = Results.of(records), get_metric(metric)
        table = results.table(task, known)
        if table is None:
            raise InputError(f"No record holds a {task} score of {metric}.")
        scores, complete = table.matrix(methods)
        return cls.from_scores(
            scores,
            greater_is_better=known.greater_is_better,
            methods=complete,
            control=control,
            alpha=alpha,
            muted=[method for method in complete if results.methods[method].is_baseline],
            ax=ax,
        )

    def _draw(self, ax: Axes) -> None:
        ranks = self.result.average_ranks.values()
        low = math.floor(min(ranks))
        # equal ranks still need an axis of some length
        high = max(math.ceil(max(ranks)), low + 1)
        left, right = low - 0.02 * (high - low), high + 0.02 * (high - low)
        _draw_axis(ax, low, high)
        self._draw_limit(ax, low, high)
        self.bars_ = [
            ax.plot([start, end], [y, y], color=PALETTE[0], linewidth=3.2, solid_capstyle="round")[0]
            for start, end, y in self._bars
        ]
        self._draw_names(ax, left, right)
        # downwards, as the names are read
        ax.set(xlim=(left, right), ylim=(self._depth, -1.5))
        ax.set_axis_off()

    def _draw_limit(self, ax: Axes, low: int, high: int) -> None:
        """The critical difference as a ruler and, around a control, as a band."""
        control, limit = self.result.control, self.result.critical_difference
        if limit is None:
            return
        text = f"critical difference {limit:.2f}" + (" (longer than the axis)" if limit > high - low else "")
        ax.plot([low, min(low + limit, high)], [-0.95, -0.95], color=MUTED, linewidth=1.4, marker="|", markersize=6)
        write(ax, low, -1.08, text, color=MUTED, ha="left", va="bottom")
        if control is not None:
            middle = self.result.average_ranks[control]
            ax.axvspan(middle - limit, middle + limit, color=BAND, zorder=0, linewidth=0)

    def _draw_names(self, ax: Axes, left: float, right: float) -> None:
        """The better half at the left, the best at the top; the worse half at the right, the worst at the top."""
        # Ordinary blanks at the end of a text, or several in a row, are dropped where an SVG keeps its text as text.
        gap = "\N{NO-BREAK SPACE}"
        ordered = self.result.ordered
        n_left = math.ceil(len(ordered) / 2)
        self.names_: dict[str, Any] = {}
        for place, method in enumerate(ordered):
            rank, name = self.result.average_ranks[method], strip_control_chars(method)
            if place < n_left:
                edge, side, row, text = left, "right", place, f"{name}{gap * 3}{rank:.2f}{gap}"
            else:
                edge, side, row, text = right, "left", len(ordered) - 1 - place, f"{gap}{rank:.2f}{gap * 3}{name}"
            y = self._names_from + 0.2 + _NAME_STEP * row
            color = MUTED if method in self.muted else INK
            weight = "bold" if method == self.result.control else "normal"
            ax.plot([rank, rank, edge], [0, y, y], color=color, linewidth=0.8)
            ax.plot([rank], [0], marker="o", markersize=3.2, color=color)
            self.names_[method] = write(
                ax, edge, y, text, size=NORMAL, color=color, ha=side, va="center", fontweight=weight
            )


def _bars(result: PostHocResult) -> tuple[list[tuple[float, float, float]], int]:
    """Start, end and height of the bar of every group, each on the first line where it touches no other; the lines."""
    ends: list[float] = []  # of the last bar on each line
    bars = []
    for group in result.groups:
        start, end = (result.average_ranks[group[i]] for i in (0, -1))
        # With 0.05 ranks between them: the round ends of two bars would else meet and look like one group.
        line = next((i for i, taken in enumerate(ends) if start > taken + 0.05), len(ends))
        ends[line : line + 1] = [end]
        bars.append((start, end, 0.28 + _BAR_STEP * line))
    return bars, len(ends)


def _draw_axis(ax: Axes, low: int, high: int) -> None:
    ax.plot([low, high], [0, 0], color=INK, linewidth=1.0, solid_capstyle="butt")
    # more numbers than that would run into each other
    step = max(1, (high - low) // 12)
    for rank in range(low, high + 1):
        named = (rank - low) % step == 0
        ax.plot([rank, rank], [0, -0.16 if named else -0.09], color=INK, linewidth=0.9)
        if named:
            write(ax, rank, -0.26, str(rank), color=MUTED, ha="center", va="bottom")
