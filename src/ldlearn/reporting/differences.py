"""Differences to the best baseline: how much better each method is on every data set, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from ldlearn.evaluation import Difference, Results, Task, best_baselines, difference
from ldlearn.exceptions import InputError
from ldlearn.metrics import get_metric
from ldlearn.reporting.display import Display, Records
from ldlearn.reporting.style import INK, MUTED, PALETTE, Panels, axis_labels, name_rows, strip_control_chars, title


class DifferencesDisplay(Display):
    """Dots with intervals, a panel for each data set; what lies right of the line is better than the best baseline.

    Parameters
    ----------
    differences : mapping of str to mapping of str to Difference
        By data set and method.
    baselines : mapping of str to str, optional
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
        self,
        differences: Mapping[str, Mapping[str, Difference]],
        *,
        baselines: Mapping[str, str] | None = None,
        score: str = "",
    ) -> None:
        self.differences = {dataset: dict(some) for dataset, some in differences.items()}
        self.baselines = dict(baselines or {})
        self.score = score
        self.methods = list(dict.fromkeys(name for some in self.differences.values() for name in some))
        count = len(self.differences)
        self._panels = Panels(count, 3.4, 0.9 + 0.2 * len(self.methods), n_columns=min(3, count))

    @classmethod
    def from_records(
        cls,
        records: Records,
        metric: str,
        *,
        task: Task = "prediction",
        methods: Sequence[str] | None = None,
        ax: Any = None,
    ) -> DifferencesDisplay:
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
        results = Results.of(records)
        table = results.table(task, get_metric(metric))
        if table is None or not (baselines := best_baselines(table)):
            raise InputError(f"No baseline has a {task} score of {metric} on every data set.")
        names = [method.name for method in table.ranked if not method.is_baseline] if methods is None else methods
        found = {
            dataset: {
                name: d for name in names if (d := difference(results, table, name, baseline, dataset)) is not None
            }
            for dataset, baseline in baselines.items()
        }
        return cls(found, baselines=baselines, score=table.metric.title).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.dots_: dict[tuple[str, str], Any] = {}
        for place, (ax, (dataset, found)) in enumerate(zip(axes, self.differences.items(), strict=True)):
            ax.axvline(0, color=INK, linewidth=1.0)
            for row, name in enumerate(self.methods):
                # A method may lack a data set; its row stays, so that rows of all panels are the same methods.
                if name in found:
                    self.dots_[dataset, name] = _draw_dot(ax, row, found[name])
            name_rows(ax, self.methods, ruled=True)
            ax.tick_params(labelleft=place % self._panels.n_columns == 0)
            axis_labels(
                ax, f"{self.score}, better than\n{strip_control_chars(self.baselines.get(dataset, 'a baseline'))}"
            )
            title(ax, dataset)


def _draw_dot(ax: Axes, row: int, found: Difference) -> Any:
    color = PALETTE[0] if found.is_clear else MUTED
    # one repeat has no interval
    margin = None if math.isnan(found.margin) else [found.margin]
    return ax.errorbar([found.mean], [row], xerr=margin, color=color, marker="o", markersize=4, linewidth=1.4)
