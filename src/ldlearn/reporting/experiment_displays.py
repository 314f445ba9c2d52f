"""Displays of records: ranks, differences, costs, convergence and sensitivity."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ldlearn.evaluation import (
    TASKS,
    Convergence,
    Curve,
    PostHocResult,
    Results,
    Task,
    best_baselines,
    costs,
    difference,
    nemenyi,
    search_curves,
    sensitivity_curves,
)
from ldlearn.evaluation.formatting import format_value, strip_control_chars
from ldlearn.evaluation.ranking import Names
from ldlearn.evaluation.record import PHASES
from ldlearn.exceptions import InputError
from ldlearn.metrics import get_metric
from ldlearn.reporting.display import Display, Panels, Records
from ldlearn.reporting.style import (
    BAND,
    INK,
    MUTED,
    NORMAL,
    PALETTE,
    SMALL,
    add_legend,
    name_rows,
    name_ticks,
    put_text,
    series_style,
    set_labels,
    set_title,
    style_axes,
)

__all__ = ["ConvergenceDisplay", "CriticalDifferenceDisplay", "DifferencesDisplay"]
__all__ += ["SensitivityDisplay", "TimeMemoryDisplay"]


class CriticalDifferenceDisplay(Display):
    """Average ranks of methods, best at the left, and which of them differ significantly.

    Methods under one thick bar do not differ significantly (Nemenyi). With a control, methods in
    the shaded band do not differ significantly from it (Bonferroni-Dunn).

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

        result = nemenyi(scores, methods=["A", "B", "C"], greater_is_better=False)
        CriticalDifferenceDisplay(result).plot().save("critical_difference.svg")
    """

    def __init__(self, result: PostHocResult, *, muted: Sequence[str] = ()) -> None:
        self.result = result
        self.muted = muted
        # Start, end and height of the bar of every group, each on the first line where it touches
        # no other.
        self._bars = []
        ends: list[float] = []  # of the last bar on each line
        for group in result.groups:
            start = result.average_ranks[group[0]]
            end = result.average_ranks[group[-1]]
            line = 0
            # With 0.05 ranks between them: the round ends of two bars would else meet and look like
            # one group.
            while line < len(ends) and start <= ends[line] + 0.05:
                line += 1
            ends[line : line + 1] = [end]
            self._bars.append((start, end, 0.28 + 0.34 * line))
        # Heights below the axis, in units of about one line of text.
        n_left = math.ceil(len(result.methods_by_rank) / 2)
        self._name_heights = 0.65 + 0.34 * len(ends) + 0.62 * np.arange(n_left)
        self._depth = self._name_heights[-1] + 0.42
        self._panels = Panels(1, 7.4, 0.9 + 0.42 * self._depth)

    @classmethod
    def from_records(
        cls,
        records: Records,
        metric: str,
        *,
        task: Task = "prediction",
        ax: Axes | None = None,
    ) -> Self:
        """Test and draw the mean scores of the methods that have one on every data set.

        All pairs are compared by Nemenyi's test. Methods trained on true distributions do not
        compete.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        metric : str
            A key of `ldlearn.metrics.METRICS`.
        task : {"recovery", "prediction"}
        ax : matplotlib Axes, optional

        Returns
        -------
        CriticalDifferenceDisplay
        """
        table = Results.from_records(records).table(task, get_metric(metric))
        if table is None:
            raise InputError(f"No record holds a {task} score of {metric}.")
        result = nemenyi(
            table.ranking.values,
            greater_is_better=table.metric.greater_is_better,
            methods=table.ranking.methods,
        )
        return cls(result, muted=table.baselines).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        ranks = self.result.average_ranks.values()
        low = math.floor(min(ranks))
        # equal ranks still need an axis of some length
        high = max(math.ceil(max(ranks)), low + 1)
        margin = 0.02 * (high - low)
        # The vertical axis points down, as names are read; the axis of ranks is above, at 0.
        ax.set(xlim=(low - margin, high + margin), ylim=(self._depth, -1.5), facecolor="none")
        ax.spines[["left", "right", "bottom"]].set_visible(False)
        ax.spines["top"].set(position=("data", 0), bounds=(low, high), color=INK)
        ax.xaxis.tick_top()
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True, steps=[1, 2, 5, 10]))
        ax.tick_params(color=INK, labelcolor=MUTED, labelsize=SMALL)
        ax.yaxis.set_visible(False)
        if self.result.critical_difference is not None:
            self._draw_critical_difference(ax, self.result.critical_difference, low, high)
        self.bars_ = []
        for start, end, y in self._bars:
            self.bars_ += ax.plot(
                [start, end],
                [y, y],
                color=PALETTE[0],
                linewidth=3.2,
                solid_capstyle="round",
            )
        self._draw_names(ax)

    def _draw_critical_difference(self, ax: Axes, limit: float, low: int, high: int) -> None:
        """The critical difference as a ruler and, around a control, as a band."""
        text = f"critical difference {limit:.2f}"
        if limit > high - low:
            text += " (longer than the axis)"
        end = min(low + limit, high)
        ax.plot(
            [low, end],
            [-0.95, -0.95],
            color=MUTED,
            linewidth=1.4,
            marker="|",
            markersize=6,
        )
        put_text(
            ax,
            low,
            -1.08,
            text,
            color=MUTED,
            ha="left",
            va="bottom",
        )
        if self.result.control is not None:
            middle = self.result.average_ranks[self.result.control]
            ax.axvspan(
                middle - limit,
                middle + limit,
                color=BAND,
                zorder=0,
                linewidth=0,
            )

    def _draw_names(self, ax: Axes) -> None:
        """The better half at the left, the worse half at the right, the extremes at the top."""
        # Ordinary blanks at the end of a text, or several in a row, are dropped where an SVG keeps
        # its text as text.
        gap = "\N{NO-BREAK SPACE}"
        left, right = ax.get_xlim()
        ordered = self.result.methods_by_rank
        self.names_ = {}
        for place, method in enumerate(ordered):
            rank = self.result.average_ranks[method]
            name = strip_control_chars(method)
            y = self._name_heights[min(place, len(ordered) - 1 - place)]
            edge = left
            text = f"{name}{gap * 3}{rank:.2f}{gap}"
            options: Any = {
                "size": NORMAL,
                "color": INK,
                "ha": "right",
                "va": "center",
            }
            if place >= len(self._name_heights):
                edge = right
                text = f"{gap}{rank:.2f}{gap * 3}{name}"
                options["ha"] = "left"
            if method in self.muted:
                options["color"] = MUTED
            if method == self.result.control:
                options["fontweight"] = "bold"
            # The first of the three points of the line, on the axis, is marked.
            ax.plot(
                [rank, rank, edge],
                [0, y, y],
                color=options["color"],
                linewidth=0.8,
                marker="o",
                markersize=3.2,
                markevery=[0],
            )
            self.names_[method] = put_text(ax, edge, y, text, **options)


class DifferencesDisplay(Display):
    """Differences to the best baseline with intervals, positive if better; a panel for each set.

    Parameters
    ----------
    differences : mapping of str to mapping of str to Difference
        By data set and method.
    baselines : mapping of str to str
        By data set, the baseline that the methods are compared with.
    score : str, optional
        What the differences are in.

    Attributes
    ----------
    dots_ : dict of (str, str) to matplotlib ErrorbarContainer
        By data set and method.

    Notes
    -----
    Example::

        DifferencesDisplay.from_records(records, "intersection").save("differences.svg")
    """

    def __init__(
        self, differences: Mapping[str, Any], baselines: Mapping[str, str], score: str = ""
    ) -> None:
        self.differences = differences
        self.baselines = baselines
        self.score = score
        self.methods = list(dict.fromkeys(chain(*differences.values())))
        n_panels = len(differences)
        height = 0.9 + 0.2 * len(self.methods)
        self._panels = Panels(n_panels, 3.4, height, n_columns=min(3, n_panels))

    @classmethod
    def from_records(
        cls,
        records: Records,
        metric: str,
        *,
        task: Task = "prediction",
        methods: Names = None,
        ax: Any = None,
    ) -> Self:
        """Compare methods with the best baseline of each data set, paired over repeats.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        metric : str
            A key of `ldlearn.metrics.METRICS`.
        task : {"recovery", "prediction"}
        methods : sequence of str, optional
            Only these; all that compete by default, the best at the top.
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        DifferencesDisplay
        """
        results = Results.from_records(records)
        table = results.table(task, get_metric(metric))
        if table is None or not table.baselines:
            raise InputError(f"No baseline has a {task} score of {metric} on every data set.")
        if methods is None:
            methods = table.non_baselines
        baselines = best_baselines(table)
        found: dict[str, Any] = {}
        for dataset, baseline in baselines.items():
            found[dataset] = {}
            for name in methods:
                pair = difference(results, table, name, baseline, dataset)
                if pair is not None:
                    found[dataset][name] = pair
        return cls(found, baselines, table.metric.title).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.dots_ = {}
        for place, (dataset, found) in enumerate(self.differences.items()):
            ax = axes[place]
            ax.axvline(0, color=INK, linewidth=1.0)
            # A method may lack a data set; its row stays, so that rows of all panels are the same
            # methods.
            for name, pair in found.items():
                look: Any = {
                    "color": MUTED,
                    "marker": "o",
                    "markersize": 4,
                    "linewidth": 1.4,
                }
                if pair.is_significant:
                    look["color"] = PALETTE[0]
                # One repeat has no interval.
                if not math.isnan(pair.margin):
                    look["xerr"] = pair.margin
                row = self.methods.index(name)
                self.dots_[dataset, name] = ax.errorbar(pair.mean, row, **look)
            name_rows(ax, self.methods, ruled=True)
            ax.tick_params(labelleft=place % self._panels.n_columns == 0)
            set_labels(ax, f"{self.score}, better than\n{self.baselines[dataset]}")
            set_title(ax, dataset)


class TimeMemoryDisplay(Display):
    """Seconds (left) and, where it differs, peak memory (right) of every method, quickest first.

    Parameters
    ----------
    seconds : mapping of str to mapping of str to float
        By method: mean seconds of the phases "select" (the whole grid), "fit" (once) and "predict".
    memory : mapping of str to float
        By method: peak memory in MB.

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

    def __init__(self, seconds: Mapping[str, Any], memory: Mapping[str, float]) -> None:
        self.seconds = seconds
        self.memory = memory
        # If all methods need nearly the same memory, its panel is left out.
        differs = max(memory.values(), default=0.0) > 1.25 * min(memory.values(), default=0.0)
        self._panels = Panels(1 + differs, 3.7, 1.1 + 0.2 * len(seconds), n_columns=1 + differs)

    @classmethod
    def from_records(cls, records: Records, *, ax: Any = None) -> Self:
        """Draw means over data sets and repeats.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        TimeMemoryDisplay
        """
        seconds: dict[str, Any] = {}
        memory = {}
        for cost in costs(Results.from_records(records)):
            name = cost.method.name
            seconds[name] = {}
            for phase, spread in cost.seconds.items():
                if spread.mean > 0:  # a logarithmic axis has no place for 0
                    seconds[name][phase] = spread.mean
            if cost.memory:
                memory[name] = cost.memory.mean
        if not seconds:
            raise InputError("No finished record to draw.")
        return cls(seconds, memory).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.methods_ = sorted(
            self.seconds, key=lambda name: self.seconds[name].get("fit", math.inf)
        )
        self.points_: dict[str, Any] = {}
        # Also a marker for each phase, for readers who cannot distinguish the colours.
        for phase, marker, color in zip(PHASES, "soD", PALETTE, strict=False):
            means = {name: found.get(phase, math.nan) for name, found in self.seconds.items()}
            self._draw_points(
                axes[0],
                phase,
                means,
                marker=marker,
                color=color,
                alpha=0.9,
            )
        axes[0].set_xscale("log")
        axes[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        name_rows(axes[0], self.methods_, ruled=True)
        set_labels(axes[0], "seconds")
        self._shared_legend(self.points_)
        for ax in axes[1:]:
            self._draw_points(
                ax,
                "memory",
                self.memory,
                marker="o",
                color=PALETTE[3],
            )
            name_rows(ax, [""] * len(self.methods_), ruled=True)
            # From 0: memory is compared by its amount, and small differences must look small.
            ax.set_xlim(0, 1.08 * max(self.memory.values()))
            set_labels(ax, "peak memory, MB")

    def _draw_points(self, ax: Axes, name: str, values: Mapping[str, float], **look: Any) -> None:
        x = [values.get(method, math.nan) for method in self.methods_]
        if not np.isnan(x).all():
            rows = range(len(x))
            (self.points_[name],) = ax.plot(
                x,
                rows,
                linestyle="none",
                markersize=5,
                **look,
            )


class ConvergenceDisplay(Display):
    """Objective of one or more fits after every step.

    One fit is drawn in its own units. Several fits have different objectives, so the relative
    change in every step is drawn: a line that ends high has not converged.

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

    _panels = Panels(1, 4.8, 3.0)

    def __init__(
        self,
        objectives: Mapping[str, Any],
        gaps: Mapping[str, float] | None = None,
        heading: str = "",
    ) -> None:
        self.objectives = {}
        for name, values in objectives.items():
            self.objectives[name] = np.asarray(values, dtype=float)
        self.gaps = gaps or {}
        self.heading = heading

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the ``objective_path_`` and the ``gap_`` of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with ``objective_path_``
        ax : matplotlib Axes, optional

        Returns
        -------
        ConvergenceDisplay
        """
        name = type(estimator).__name__
        found = Convergence.from_estimator(estimator)
        if found is None:
            advice = "fit it first, or use a method that records it"
            raise InputError(f"{name} has no objective_path_; {advice}.")
        gaps = {} if found.gap is None else {name: found.gap}
        return cls({name: found.objective}, gaps).plot(ax=ax)

    @classmethod
    def from_records(cls, records: Records, dataset: str, *, ax: Axes | None = None) -> Self:
        """Draw the first repeat of every method on a data set that recorded its objective.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset : str
        ax : matplotlib Axes, optional

        Returns
        -------
        ConvergenceDisplay
        """
        objectives = {}
        gaps = {}
        for name, runs in Results.from_records(records).convergence(dataset).items():
            objectives[name] = runs[0].objective
            if runs[0].gap is not None:
                gaps[name] = runs[0].gap
        if not objectives:
            raise InputError(f"No record of data set {dataset!r} holds an objective.")
        return cls(objectives, gaps, heading=dataset).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        self.lines_ = {}
        legend = {}
        height = "objective"
        for i, (name, values) in enumerate(self.objectives.items()):
            steps = np.arange(1, 1 + len(values))
            if len(self.objectives) > 1:
                height = "relative change of the objective"
                ax.set_yscale("log")
                # A change belongs to the step it was made in, so that changes begin at step 2.
                steps = steps[1:]
                # Relative to the last value; "or 1": that may be exactly 0; 1e-16: no change at all
                # has no logarithm.
                changes = np.abs(np.diff(values)) / (abs(values[-1]) or 1.0)
                values = np.maximum(changes, 1e-16)
            (self.lines_[name],) = ax.plot(steps, values, **series_style(i))
            text = name
            if name in self.gaps:
                text += f" (certified gap {self.gaps[name]:.1e})"
            legend[text] = self.lines_[name]
        style_axes(ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        set_labels(ax, "step", height)
        set_title(ax, self.heading)
        add_legend(ax, legend)


class SensitivityDisplay(Display):
    """The best validation score for each value of a hyperparameter, a panel for each of these.

    For every value the other hyperparameters are the best of the grid, so a flat curve means that
    this one has little influence. The band is one standard deviation over repeats; rings mark
    selected values.

    Parameters
    ----------
    curves : mapping of str to sequence of Curve
        By task ("recovery", "prediction"), one curve for each parameter.
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

    def __init__(self, curves: Mapping[str, Sequence[Curve]], *, heading: str = "") -> None:
        self.curves = {}
        for task, found in curves.items():
            if found:
                self.curves[task] = {curve.parameter: curve for curve in found}
        self.heading = heading
        self.parameters = list(dict.fromkeys(chain(*self.curves.values())))
        n_columns = len(self.parameters)
        self._panels = Panels(len(self.curves) * n_columns, 2.6, 2.0, n_columns)

    @classmethod
    def from_records(cls, records: Records, dataset: str, method: str, *, ax: Any = None) -> Self:
        """Draw the grid of a method on a data set.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset, method : str
        ax : sequence of matplotlib Axes, optional
            One for each parameter and task.

        Returns
        -------
        SensitivityDisplay
        """
        results = Results.from_records(records)
        curves = {str(task): sensitivity_curves(results, dataset, method, task) for task in TASKS}
        if not any(curves.values()):
            records_of = f"The records of {method!r} on {dataset!r}"
            raise InputError(f"{records_of} hold no grid with two values of a parameter.")
        return cls(curves, heading=f"{method} on {dataset}").plot(ax=ax)

    @classmethod
    def from_estimator(cls, search: Any, *, ax: Any = None) -> Self:
        """Draw the scores of a fitted search of scikit-learn, such as `GridSearchCV`.

        Parameters
        ----------
        search : fitted estimator with ``cv_results_`` and ``best_params_``
        ax : sequence of matplotlib Axes, optional
            One for each parameter and task.

        Returns
        -------
        SensitivityDisplay
        """
        curves = search_curves(search.cv_results_, search.best_params_)
        if not curves:
            problem = "tried no parameter at two values: nothing to draw"
            raise InputError(f"This {type(search).__name__} {problem}.")
        return cls({"search": curves}, heading=type(search).__name__).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.lines_ = {}
        grid = np.array(axes, dtype=object).reshape(-1, len(self.parameters))
        for i, (row, (task, curves)) in enumerate(zip(grid, self.curves.items(), strict=True)):
            score = f"validation {next(iter(curves.values())).heading}"
            for ax, parameter in zip(row, self.parameters, strict=True):
                # A parameter of one task only leaves an empty panel in the row of the other.
                if parameter in curves:
                    line = _draw_curve(ax, curves[parameter], series_style(i))
                    self.lines_[parameter, task] = line
                style_axes(ax)
                if ax in grid[-1]:
                    set_labels(ax, x=parameter)
            set_labels(row[0], y=f"{task}\n{score}")
            # One scale for all parameters of a task: which of them matters most is seen from the
            # heights.
            ends = [ax.get_ylim() for ax in row]
            for ax in row:
                ax.set_ylim(np.min(ends), np.max(ends))
                ax.tick_params(labelleft=ax is row[0])
        set_title(axes[0], self.heading)


def _draw_curve(ax: Axes, curve: Curve, look: dict[str, Any]) -> Any:
    (line,) = ax.plot(curve.positions, curve.mean, **look)
    # one repeat has no spread
    if np.isfinite(curve.std).any():
        low = curve.mean - curve.std
        high = curve.mean + curve.std
        ax.fill_between(
            curve.positions,
            low,
            high,
            color=look["color"],
            alpha=0.15,
            linewidth=0,
        )
    chosen = [i for i, value in enumerate(curve.values) if value in curve.selected]
    ax.plot(
        np.asarray(curve.positions)[chosen],
        curve.mean[chosen],
        linestyle="none",
        marker="o",
        markersize=9,
        markerfacecolor="none",
        markeredgecolor=look["color"],
    )
    names = list(map(format_value, curve.values))
    name_ticks(ax.xaxis, names, curve.positions, rotation=45 if len(names) > 4 else 0)
    return line
