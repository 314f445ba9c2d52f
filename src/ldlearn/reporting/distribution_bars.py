"""Distribution bars: degrees of some rows with logical labels and, if known, true degrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ldlearn.core.targets import default_label_names
from ldlearn.evaluation import Results
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display, Records
from ldlearn.reporting.style import INK, MUTED, PALETTE, Panels, axis_labels, name_rows, title

_GROUP = 0.78  # fraction of the height of a label that its bars take
_TRUTH: dict[str, Any] = {"color": INK, "linewidth": 1.6}
_INTERVAL: dict[str, Any] = {"color": INK, "linewidth": 1.0}
_DOT: dict[str, Any] = {"marker": "o", "markersize": 4, "color": MUTED, "linestyle": "none"}


@dataclass(frozen=True)
class BarsPanel:
    """One panel: degrees by name of the series, logical labels, truth and intervals where known."""

    heading: str
    degrees: Mapping[str, Any]
    logical: Any = None
    truth: Any = None
    intervals: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # lower and upper ends, by series


class DistributionBarsDisplay(Display):
    """Degrees as bars, one panel for each row or each method.

    A filled dot at the name of a label marks a positive label, a hollow one a negative label; a black vertical line is
    the true degree, a thin line through the end of a bar the interval of its degree.

    Parameters
    ----------
    panels : sequence of BarsPanel
    label_names : sequence of str
    n_columns : int, default=3
        Panels side by side.

    Attributes
    ----------
    bars_ : list of dict of str to matplotlib BarContainer
        One dict for each panel, by the name of the series.

    Notes
    -----
    Example::

        DistributionBarsDisplay.from_estimator(model, X, Y, rows=[0, 7]).save("rows.svg")
    """

    def __init__(self, panels: Sequence[BarsPanel], label_names: Sequence[str], *, n_columns: int = 3) -> None:
        self.panels = list(panels)
        self.label_names = [str(name) for name in label_names]
        n_series = max([1, *(len(panel.degrees) for panel in self.panels)])
        height = 0.75 + len(self.label_names) * (0.12 + 0.11 * n_series)
        self._panels = Panels(len(self.panels), 2.5, height, n_columns=min(n_columns, len(self.panels)))

    @classmethod
    def from_distributions(
        cls,
        distributions: Mapping[str, ArrayLike],
        *,
        logical: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        rows: Sequence[int] = (0,),
        label_names: Sequence[str] | None = None,
        intervals: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        ax: Any = None,
    ) -> DistributionBarsDisplay:
        """Draw a panel for each row, with a bar for each matrix of distributions.

        Parameters
        ----------
        distributions : mapping of str to array-like of shape (n, c)
        logical, truth : array-like of shape (n, c), optional
        rows : sequence of int
            Which rows to show.
        label_names : sequence of str, optional
        intervals : mapping of str to (lower, upper), each array-like of shape (n, c), optional
            Intervals of the distributions of this name.
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        DistributionBarsDisplay
        """
        panels = [
            BarsPanel(
                heading=f"row {row}",
                degrees={name: _row(matrix, row) for name, matrix in distributions.items()},
                logical=_row(logical, row),
                truth=_row(truth, row),
                intervals={name: (_row(low, row), _row(high, row)) for name, (low, high) in (intervals or {}).items()},
            )
            for row in rows
        ]
        if label_names is None:
            n_labels = next(np.shape(m)[1] for m in (*distributions.values(), logical, truth) if m is not None)
            label_names = default_label_names(n_labels)
        return cls(panels, label_names).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        rows: Sequence[int] = (0, 1, 2),
        truth: Any = None,
        interval: float | None = None,
        ax: Any = None,
    ) -> DistributionBarsDisplay:
        """Draw the degrees that a fitted estimator recovered and predicts for rows of its training data.

        Parameters
        ----------
        estimator : fitted enhancer, learner or joint model
        X : array-like or data frame of shape (n, m)
            The features it was fitted on; for new rows only predictions are drawn.
        y : array-like of shape (n, c), optional
            Logical labels.
        rows : sequence of int
        truth : array-like of shape (n, c), optional
            True distributions.
        interval : float, optional
            Nominal level of intervals, drawn if the estimator has them; those of recovered degrees need the logical
            labels.
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        DistributionBarsDisplay
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        found: dict[str, Any] = {}
        ends: dict[str, Any] = {}
        recovered = getattr(estimator, "label_distributions_", None)
        # Recovered degrees belong to the rows of the fit; other rows can only be predicted.
        if recovered is not None and len(recovered) == n:
            found["recovered"] = recovered
        if hasattr(estimator, "predict"):
            found["predicted"] = estimator.predict(X)
        if not found:
            raise InputError(f"{type(estimator).__name__} has no degrees for {n} rows it was not fitted on.")
        if interval is not None and hasattr(estimator, "predict_interval"):
            ends["predicted"] = estimator.predict_interval(X, coverage=interval)
            if y is not None and "recovered" in found:
                ends["recovered"] = estimator.enhance_interval(X, y, coverage=interval)
        names = getattr(estimator, "label_names_", None)
        return cls.from_distributions(
            found, logical=y, truth=truth, rows=rows, label_names=names, intervals=ends, ax=ax
        )

    @classmethod
    def from_records(
        cls,
        records: Records,
        dataset: str,
        row: int | None = None,
        *,
        methods: Sequence[str] | None = None,
        ax: Any = None,
    ) -> DistributionBarsDisplay:
        """Draw the degrees that every method recovered for one stored training row: a panel for each method.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset : str
        row : int, optional
            Number of the row in the data set; the first stored one by default.
        methods : sequence of str, optional
            Only these; all by default.
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        DistributionBarsDisplay
        """
        finished = Results.of(records).finished(dataset)
        stored = [(record, samples) for record in finished if (samples := record.samples) and samples.recovered]
        if row is None and stored:
            row = stored[0][1].rows[0]
        panels: dict[str, BarsPanel] = {}
        for record, samples in stored:
            if row is not None and row in samples.rows and (methods is None or record.method in methods):
                place = samples.rows.index(row)
                degrees = {"recovered": _row(samples.recovered, place)}
                panel = BarsPanel(record.method, degrees, _row(samples.logical, place), _row(samples.truth, place))
                # of several repeats that drew the row, the first
                panels.setdefault(record.method, panel)
        if not panels:
            raise InputError(f"No record of data set {dataset!r} holds row {row}; choose a row listed in its samples.")
        return cls(list(panels.values()), stored[0][0].label_names, n_columns=4).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.bars_ = [self._draw_panel(panel, ax) for panel, ax in zip(self.panels, axes, strict=True)]
        ends = [float(np.max(values)) for panel in self.panels for values in _ends(panel) if values is not None]
        for i, ax in enumerate(axes):
            # One scale for all panels, so that bars can be compared across them.
            ax.set_xlim(0, min(1.0, 1.05 * max(ends, default=1.0)))
            ax.tick_params(labelleft=i % self._panels.n_columns == 0)
        entries = list(self._legend_entries())
        if entries:
            self._shared_legend(*zip(*entries, strict=True))

    def _draw_panel(self, panel: BarsPanel, ax: Axes) -> dict[str, Any]:
        places = np.arange(len(self.label_names))
        thickness = _GROUP / max(1, len(panel.degrees))
        bars = {}
        for i, (name, degrees) in enumerate(panel.degrees.items()):
            y = places - _GROUP / 2 + (i + 0.5) * thickness
            bars[name] = ax.barh(y, np.asarray(degrees), height=0.9 * thickness, color=PALETTE[i % len(PALETTE)])
            if name in panel.intervals:
                ax.hlines(y, *panel.intervals[name], **_INTERVAL)
        if panel.truth is not None:
            ax.vlines(np.asarray(panel.truth), places - _GROUP / 2, places + _GROUP / 2, **_TRUTH)
        for place, label in enumerate(() if panel.logical is None else np.asarray(panel.logical)):
            face = MUTED if label > 0 else "none"
            # Left of the axis, between the bars and the names of the labels, in shares of the panel's width.
            ax.plot(-6 / 170, place, markerfacecolor=face, clip_on=False, transform=ax.get_yaxis_transform(), **_DOT)
        name_rows(ax, self.label_names)
        # room for these dots
        ax.tick_params(axis="y", pad=10 if panel.logical is not None else 3)
        axis_labels(ax)
        title(ax, panel.heading)
        return bars

    def _legend_entries(self) -> Iterator[tuple[Any, str]]:
        if len(self.panels) == 1 or len(self.bars_[0]) > 1:  # otherwise the titles of panels name their only series
            yield from ((bar, name) for name, bar in self.bars_[0].items())
        if any(panel.truth is not None for panel in self.panels):
            yield Line2D([], [], **_TRUTH), "truth"
        if any(panel.intervals for panel in self.panels):
            yield Line2D([], [], **_INTERVAL), "interval"
        if any(panel.logical is not None for panel in self.panels):
            yield Line2D([], [], **_DOT), "positive label"


def _row(matrix: Any, row: int) -> Any:
    return None if matrix is None else np.asarray(matrix)[row]


def _ends(panel: BarsPanel) -> list[Any]:
    """Largest values that are drawn: bars, true degrees and intervals."""
    return [*panel.degrees.values(), panel.truth, *(upper for _, upper in panel.intervals.values())]
