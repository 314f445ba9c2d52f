"""Displays of the records of an experiment: ranks, differences, costs, convergence and
sensitivity."""

import math
from collections.abc import Mapping, Sequence
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
    bonferroni_dunn,
    costs,
    difference,
    nemenyi,
    search_curves,
    sensitivity_curves,
)
from ldlearn.evaluation.formatting import format_value, strip_control_chars
from ldlearn.exceptions import InputError
from ldlearn.metrics import get_metric
from ldlearn.reporting.display import Display, Names, Panels, Records
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
        self.muted = tuple(muted)
        # Start, end and height of the bar of every group, each on the first line where it touches
        # no other.
        self._bars = []
        ends: list[float] = []  # of the last bar on each line
        for group in result.groups:
            start, end = (result.average_ranks[group[i]] for i in (0, -1))
            # With 0.05 ranks between them: the round ends of two bars would else meet and look like
            # one group.
            line = next((i for i, taken in enumerate(ends) if start > taken + 0.05), len(ends))
            ends[line : line + 1] = [end]
            self._bars.append((start, end, 0.28 + 0.34 * line))
        # Heights below the axis, in units of about one line of text.
        n_left = math.ceil(len(result.methods_by_rank) / 2)
        self._name_heights = 0.65 + 0.34 * len(ends) + 0.62 * np.arange(n_left)
        self._depth = float(self._name_heights[-1]) + 0.42
        self._panels = Panels(1, 7.4, 0.9 + 0.42 * self._depth)

    @classmethod
    def from_records(
        cls,
        records: Records,
        metric: str,
        *,
        task: Task = "prediction",
        methods: Names = None,
        control: str | None = None,
        alpha: float = 0.05,
        ax: Axes | None = None,
    ) -> Self:
        """Test and draw the mean scores of an experiment; methods without a score on every data set
        are left out.

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
        control : str, optional
            Compare this method with the others by Bonferroni-Dunn; without it, all pairs by
            Nemenyi.
        alpha : float, default=0.05
            Level of significance.
        ax : matplotlib Axes, optional

        Returns
        -------
        CriticalDifferenceDisplay
        """
        results = Results.from_records(records)
        table = results.table(task, get_metric(metric))
        if table is None:
            raise InputError(f"No record holds a {task} score of {metric}.")
        scores, names = table.matrix(methods)
        how: Any = {
            "greater_is_better": table.metric.greater_is_better,
            "methods": names,
            "alpha": alpha,
        }
        result = (
            nemenyi(scores, **how) if control is None else bonferroni_dunn(scores, control, **how)
        )
        return cls(
            result, muted=[name for name in names if results.methods[name].is_baseline]
        ).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        ranks = self.result.average_ranks.values()
        low = math.floor(min(ranks))
        # equal ranks still need an axis of some length
        high = max(math.ceil(max(ranks)), low + 1)
        margin = 0.02 * (high - low)
        # The vertical axis points down, as the names are read; the axis of ranks is the upper one,
        # at 0.
        ax.set(xlim=(low - margin, high + margin), ylim=(self._depth, -1.5), facecolor="none")
        ax.spines[["left", "right", "bottom"]].set_visible(False)
        ax.spines["top"].set(position=("data", 0), bounds=(low, high), color=INK)
        ax.xaxis.tick_top()
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True, steps=[1, 2, 5, 10]))
        ax.tick_params(color=INK, labelcolor=MUTED, labelsize=SMALL)
        ax.yaxis.set_visible(False)
        self._draw_critical_difference(ax, low, high)
        self.bars_ = [
            ax.plot([start, end], [y, y], color=PALETTE[0], linewidth=3.2, solid_capstyle="round")[
                0
            ]
            for start, end, y in self._bars
        ]
        self._draw_names(ax)

    def _draw_critical_difference(self, ax: Axes, low: int, high: int) -> None:
        """The critical difference as a ruler and, around a control, as a band."""
        control = self.result.control
        limit = self.result.critical_difference
        if limit is None:
            return
        text = f"critical difference {limit:.2f}" + (
            " (longer than the axis)" if limit > high - low else ""
        )
        end = min(low + limit, high)
        ax.plot([low, end], [-0.95, -0.95], color=MUTED, linewidth=1.4, marker="|", markersize=6)
        put_text(ax, low, -1.08, text, color=MUTED, ha="left", va="bottom")
        if control is not None:
            middle = self.result.average_ranks[control]
            ax.axvspan(middle - limit, middle + limit, color=BAND, zorder=0, linewidth=0)

    def _draw_names(self, ax: Axes) -> None:
        """The better half at the left, the best at the top; the worse half at the right, the worst
        at the top."""
        # Ordinary blanks at the end of a text, or several in a row, are dropped where an SVG keeps
        # its text as text.
        gap = "\N{NO-BREAK SPACE}"
        left, right = ax.get_xlim()
        ordered = self.result.methods_by_rank
        self.names_ = {}
        for place, method in enumerate(ordered):
            rank = self.result.average_ranks[method]
            name = strip_control_chars(method)
            if place < len(self._name_heights):
                edge = left
                side = "right"
                y = self._name_heights[place]
                text = f"{name}{gap * 3}{rank:.2f}{gap}"
            else:
                y = self._name_heights[len(ordered) - 1 - place]
                edge = right
                side = "left"
                text = f"{gap}{rank:.2f}{gap * 3}{name}"
            color = MUTED if method in self.muted else INK
            weight = "bold" if method == self.result.control else "normal"
            # the first of the three points, on the axis, is marked
            ax.plot(
                [rank, rank, edge],
                [0, y, y],
                color=color,
                linewidth=0.8,
                marker="o",
                ms=3.2,
                markevery=[0],
            )
            self.names_[method] = put_text(
                ax, edge, y, text, size=NORMAL, color=color, ha=side, va="center", fontweight=weight
            )


class DifferencesDisplay(Display):
    """Dots with intervals, a panel for each data set; what lies right of the line is better than
    the best baseline.

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
        self.methods = list(dict.fromkeys(name for found in differences.values() for name in found))
        self._panels = Panels(
            len(differences), 3.4, 0.9 + 0.2 * len(self.methods), n_columns=min(3, len(differences))
        )

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
        if table is None or not (baselines := best_baselines(table)):
            raise InputError(f"No baseline has a {task} score of {metric} on every data set.")
        names = (
            [method.name for method in table.ranked if not method.is_baseline]
            if methods is None
            else methods
        )
        found = {}
        for dataset, baseline in baselines.items():
            pairs = {name: difference(results, table, name, baseline, dataset) for name in names}
            found[dataset] = {name: pair for name, pair in pairs.items() if pair is not None}
        return cls(found, baselines, table.metric.title).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.dots_ = {}
        for place, (ax, (dataset, found)) in enumerate(
            zip(axes, self.differences.items(), strict=True)
        ):
            ax.axvline(0, color=INK, linewidth=1.0)
            # A method may lack a data set; its row stays, so that rows of all panels are the same
            # methods.
            for name, pair in found.items():
                self.dots_[dataset, name] = ax.errorbar(
                    pair.mean,
                    self.methods.index(name),
                    # one repeat has no interval
                    xerr=None if math.isnan(pair.margin) else pair.margin,
                    marker="o",
                    markersize=4,
                    linewidth=1.4,
                    color=PALETTE[0] if pair.is_significant else MUTED,
                )
            name_rows(ax, self.methods, ruled=True)
            ax.tick_params(labelleft=place % self._panels.n_columns == 0)
            set_labels(ax, f"{self.score}, better than\n{self.baselines[dataset]}")
            set_title(ax, dataset)


class TimeMemoryDisplay(Display):
    """Seconds (left) and, where it differs, peak memory (right) of every method, the quickest fit
    at the top.

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
        self, seconds: Mapping[str, Any], memory: Mapping[str, float], *, heading: str = ""
    ) -> None:
        self.seconds = seconds
        self.memory = memory
        self.heading = heading
        # If all methods need nearly the same memory, its panel is left out.
        differs = max(memory.values(), default=0.0) > 1.25 * min(memory.values(), default=0.0)
        self._panels = Panels(1 + differs, 3.7, 1.1 + 0.2 * len(seconds), n_columns=1 + differs)

    @classmethod
    def from_records(cls, records: Records, dataset: str | None = None, *, ax: Any = None) -> Self:
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
        found = costs(Results.from_records(records), dataset)
        if not found:
            raise InputError(
                "No finished record to draw" + (f" for data set {dataset!r}." if dataset else ".")
            )
        # a logarithmic axis has no place for 0
        seconds = {
            cost.method.name: {p: s.mean for p, s in cost.seconds.items() if s and s.mean > 0}
            for cost in found
        }
        memory = {cost.method.name: cost.memory.mean for cost in found if cost.memory}
        return cls(seconds, memory, heading=dataset or "").plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.methods_ = sorted(
            self.seconds, key=lambda method: self.seconds[method].get("fit", math.inf)
        )
        self.points_: dict[str, Any] = {}
        # Also a marker for each phase, for readers who cannot distinguish the colours.
        for phase, marker, color in zip(("select", "fit", "predict"), "soD", PALETTE, strict=False):
            means = {
                method: phases[phase] for method, phases in self.seconds.items() if phase in phases
            }
            self._draw_points(axes[0], phase, means, marker=marker, color=color, alpha=0.9)
        axes[0].set_xscale("log")
        axes[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        name_rows(axes[0], self.methods_, ruled=True)
        set_labels(axes[0], "seconds")
        set_title(axes[0], self.heading)
        self._shared_legend(list(self.points_.values()), list(self.points_))
        for ax in axes[1:]:
            self._draw_points(ax, "memory", self.memory, marker="o", color=PALETTE[3])
            name_rows(ax, [""] * len(self.methods_), ruled=True)
            # From 0: memory is compared by its amount, and small differences must look small.
            ax.set_xlim(0, 1.08 * max(self.memory.values()))
            set_labels(ax, "peak memory, MB")

    def _draw_points(self, ax: Axes, name: str, values: Mapping[str, float], **look: Any) -> None:
        rows = [row for row, method in enumerate(self.methods_) if method in values]
        if rows:
            x = [values[self.methods_[row]] for row in rows]
            (self.points_[name],) = ax.plot(x, rows, linestyle="none", markersize=5, **look)


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
        self.objectives = {
            name: np.asarray(values, dtype=float) for name, values in objectives.items()
        }
        self.gaps = gaps or {}
        self.heading = heading

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None
    ) -> Self:
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
        found = Convergence.from_estimator(estimator)
        if found is None:
            raise InputError(
                f"{name} has no objective_path_; fit it first, or use a method that records it."
            )
        gaps = {} if found.gap is None else {name: found.gap}
        return cls({name: found.objective}, gaps).plot(ax=ax)

    @classmethod
    def from_records(
        cls, records: Records, dataset: str, *, methods: Names = None, ax: Axes | None = None
    ) -> Self:
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
        repeats = Results.from_records(records).convergence(dataset)
        first = {
            name: runs[0] for name, runs in repeats.items() if methods is None or name in methods
        }
        if not first:
            raise InputError(f"No record of data set {dataset!r} holds an objective.")
        gaps = {name: run.gap for name, run in first.items() if run.gap is not None}
        objectives = {name: run.objective for name, run in first.items()}
        return cls(objectives, gaps, heading=dataset).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        single = len(self.objectives) == 1
        self.lines_ = {}
        for i, (name, values) in enumerate(self.objectives.items()):
            # Relative to the last value; "or 1": that may be exactly 0; 1e-16: no change at all has
            # no logarithm.
            heights = (
                values
                if single
                else np.maximum(np.abs(np.diff(values)) / (abs(values[-1]) or 1.0), 1e-16)
            )
            # A change belongs to the step it was made in, so that changes begin at step 2.
            steps = np.arange(1 + len(values) - len(heights), 1 + len(values))
            (self.lines_[name],) = ax.plot(
                steps, heights, linewidth=1.6, markersize=3.5, **series_style(i)
            )
        style_axes(ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        ax.set_yscale("linear" if single else "log")
        set_labels(ax, "step", "objective" if single else "relative change of the objective")
        set_title(ax, self.heading)
        gaps = {name: f" (certified gap {gap:.1e})" for name, gap in self.gaps.items()}
        add_legend(
            ax, list(self.lines_.values()), [name + gaps.get(name, "") for name in self.lines_]
        )


class SensitivityDisplay(Display):
    """Small multiples, one for each hyperparameter: the best validation score for each of its
    values.

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
        self.curves = {
            task: {curve.parameter: curve for curve in found}
            for task, found in curves.items()
            if found
        }
        self.heading = heading
        self.parameters = list(
            dict.fromkeys(parameter for found in self.curves.values() for parameter in found)
        )
        n_columns = len(self.parameters)
        self._panels = Panels(len(self.curves) * n_columns, 2.6, 2.0, n_columns)

    @classmethod
    def from_records(
        cls,
        records: Records,
        dataset: str,
        method: str,
        *,
        tasks: Sequence[Task] = TASKS,
        ax: Any = None,
    ) -> Self:
        """Draw the grid of a method on a data set.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset, method : str
        tasks : sequence of {"recovery", "prediction"}
            A line for each.
        ax : sequence of matplotlib Axes, optional
            One for each parameter and task.

        Returns
        -------
        SensitivityDisplay
        """
        results = Results.from_records(records)
        curves = {str(task): sensitivity_curves(results, dataset, method, task) for task in tasks}
        if not any(curves.values()):
            raise InputError(
                f"The records of {method!r} on {dataset!r} hold no grid with two values of a parameter."
            )
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
            raise InputError(
                f"This {type(search).__name__} tried no parameter at two values: nothing to draw."
            )
        return cls({"search": curves}, heading=type(search).__name__).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.lines_ = {}
        grid = np.reshape(np.array(axes, dtype=object), (-1, len(self.parameters)))
        for i, (row, (task, curves)) in enumerate(zip(grid, self.curves.items(), strict=True)):
            score = f"validation {next(iter(curves.values())).heading}"
            for ax, parameter in zip(row, self.parameters, strict=True):
                # A parameter of one task only leaves an empty panel in the row of the other.
                if parameter in curves:
                    self.lines_[parameter, task] = _draw_curve(
                        ax, curves[parameter], series_style(i)
                    )
                style_axes(ax)
                set_labels(
                    ax,
                    parameter if ax in grid[-1] else "",
                    f"{task}\n{score}" if ax is row[0] else "",
                )
            # One scale for all parameters of a task: which of them matters most is seen from the
            # heights.
            ends = [end for ax in row for end in ax.get_ylim()]
            for ax in row:
                ax.set_ylim(min(ends), max(ends))
                ax.tick_params(labelleft=ax is row[0])
        set_title(axes[0], self.heading)


def _draw_curve(ax: Axes, curve: Curve, look: dict[str, Any]) -> Any:
    (line,) = ax.plot(curve.positions, curve.mean, linewidth=1.6, markersize=3.5, **look)
    # one repeat has no spread
    if np.isfinite(curve.std).any():
        low = curve.mean - curve.std
        high = curve.mean + curve.std
        ax.fill_between(curve.positions, low, high, color=look["color"], alpha=0.15, linewidth=0)
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
    names = [format_value(value) for value in curve.values]
    name_ticks(ax.xaxis, names, curve.positions, rotation=45 if len(names) > 4 else 0)
    return line
