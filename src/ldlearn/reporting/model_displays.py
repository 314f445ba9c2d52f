"""Displays of labels, distributions and fitted models."""

import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from scipy import ndimage

from ldlearn.core import targets
from ldlearn.datasets import artificial_picture, make_artificial
from ldlearn.evaluation import Results
from ldlearn.evaluation.formatting import strip_control_chars
from ldlearn.evaluation.ranking import Names
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display, Panels, Records
from ldlearn.reporting.style import (
    INK,
    MUTED,
    NORMAL,
    PALETTE,
    RULE,
    add_legend,
    name_rows,
    name_ticks,
    put_text,
    series_style,
    set_labels,
    set_title,
    style_axes,
)
from ldlearn.tables.description import softmax_coefficients

__all__ = [
    "ArtificialPictureDisplay",
    "BarsPanel",
    "CooccurrenceDisplay",
    "DistributionBarsDisplay",
]
__all__ += ["FeatureInfluenceDisplay", "ReliabilityDisplay", "TernaryDisplay"]

_GROUP = 0.78  # fraction of the height of a label that its bars take
_TRUTH: Any = {"color": INK, "linewidth": 1.6}
_INTERVAL: Any = {"color": INK, "linewidth": 1.0}
_DOT: Any = {
    "marker": "o",
    "markersize": 4,
    "color": MUTED,
    "linestyle": "none",
}
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


@dataclass(frozen=True)
class BarsPanel:
    """One panel: degrees by name of the series, logical labels, truth and intervals where known."""

    heading: str
    degrees: Mapping[str, Any]
    logical: Any = None
    truth: Any = None
    # lower and upper ends, by series
    intervals: Mapping[str, Any] = field(default_factory=dict)
    truth_name: str = "truth"

    def heading_lines(self) -> list[str]:
        """The heading in lines as long as a panel is wide."""
        return textwrap.wrap(self.heading, 28, max_lines=4, placeholder=" …")


class DistributionBarsDisplay(Display):
    """Degrees as bars, one panel for each row or each method.

    A filled dot at the name of a label marks a positive label, a hollow one a negative label; a
    black vertical line is the true degree, a thin line through the end of a bar the interval of its
    degree.

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

    def __init__(
        self, panels: Sequence[BarsPanel], label_names: Sequence[str], *, n_columns: int = 3
    ) -> None:
        self.panels = panels
        self.label_names = label_names
        n_series = 1
        n_lines = 1
        for panel in panels:
            n_series = max(n_series, len(panel.degrees))
            n_lines = max(n_lines, len(panel.heading_lines()))
        height = 0.6 + 0.15 * n_lines + len(label_names) * (0.12 + 0.11 * n_series)
        self._panels = Panels(len(panels), 2.5, height, n_columns=min(n_columns, len(panels)))

    @classmethod
    def from_distributions(
        cls,
        distributions: Mapping[str, ArrayLike],
        *,
        logical: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        rows: Sequence[int] = (0,),
        texts: Sequence[str] | None = None,
        label_names: Names = None,
        intervals: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a panel for each row, with a bar for each matrix of distributions.

        Parameters
        ----------
        distributions : mapping of str to array-like of shape (n_samples, n_labels)
        logical, truth : array-like of shape (n_samples, n_labels), optional
        rows : sequence of int
            Which rows to show.
        texts : sequence of str of length n_samples, optional
            Headings of the rows; "row 0" and so on by default.
        label_names : sequence of str, optional
        intervals : mapping of str to (lower, upper), optional
            Intervals of the distributions of this name, each end array-like of shape
            (n_samples, n_labels).
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        DistributionBarsDisplay
        """
        panels = []
        for row in rows:
            degrees = {name: _get_row(matrix, row) for name, matrix in distributions.items()}
            ends = {name: np.asarray(pair)[:, row] for name, pair in (intervals or {}).items()}
            heading = f"row {row}" if texts is None else texts[row]
            panels.append(
                BarsPanel(
                    heading,
                    degrees,
                    _get_row(logical, row),
                    _get_row(truth, row),
                    ends,
                )
            )
        if label_names is None:
            first = next(iter(distributions.values()))
            label_names = targets.default_label_names(np.shape(first)[1])
        return cls(panels, label_names).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, interval: float | None = None, **options: Any
    ) -> Self:
        """Draw the degrees that a fitted estimator recovered and predicts for its training rows.

        Parameters
        ----------
        estimator : fitted enhancer, learner or joint model
        X : array-like or data frame of shape (n_samples, n_features)
            The features it was fitted on; for new rows only predictions are drawn.
        y : array-like of shape (n_samples, n_labels), optional
            Logical labels.
        interval : float, optional
            Nominal level of intervals, drawn if the estimator has them; those of recovered degrees
            need the logical labels.
        **options
            ``rows`` (the first three by default), ``texts``, ``truth`` and ``ax`` of
            `from_distributions`.

        Returns
        -------
        DistributionBarsDisplay
        """
        n_samples = np.shape(X)[0]
        found = {}
        ends = {}
        recovered = getattr(estimator, "label_distributions_", ())
        # Recovered degrees belong to the rows of the fit; other rows can only be predicted.
        if len(recovered) == n_samples:
            found["recovered"] = recovered
        if hasattr(estimator, "predict"):
            found["predicted"] = estimator.predict(X)
        if not found:
            problem = f"has no degrees for {n_samples} rows it was not fitted on"
            raise InputError(f"{type(estimator).__name__} {problem}.")
        if interval is not None and hasattr(estimator, "predict_interval"):
            ends["predicted"] = estimator.predict_interval(X, coverage=interval)
            if y is not None and "recovered" in found:
                ends["recovered"] = estimator.enhance_interval(X, y, coverage=interval)
        options.setdefault("rows", (0, 1, 2))
        options.setdefault("label_names", getattr(estimator, "label_names_", None))
        return cls.from_distributions(found, logical=y, intervals=ends, **options)

    @classmethod
    def from_records(
        cls, records: Records, dataset: str, row: int | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the degrees that every method recovered for one stored training row.

        Parameters
        ----------
        records : sequence of Record
            The result of ``ldlearn.evaluation.read_records``.
        dataset : str
        row : int, optional
            Number of the row in the data set; the first stored one by default.
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        DistributionBarsDisplay
        """
        panels: dict[str, BarsPanel] = {}
        label_names: Sequence[str] = ()
        for record in Results.from_records(records).finished_records(dataset):
            samples = record.samples
            if samples is None or not samples.recovered:
                continue
            if row is None:
                row = samples.rows[0]
            # Of several repeats that drew the row, the first.
            if row in samples.rows and record.method not in panels:
                place = samples.rows.index(row)
                degrees = {"recovered": samples.recovered[place]}
                logical = _get_row(samples.logical, place)
                truth = _get_row(samples.truth, place)
                panel = BarsPanel(record.method, degrees, logical, truth)
                if record.is_scored_by_votes:
                    panel = replace(panel, truth_name="held-out votes")
                panels[record.method] = panel
                label_names = record.label_names
        if not panels:
            problem = f"holds row {row}; choose a row listed in its samples"
            raise InputError(f"No record of data set {dataset!r} {problem}.")
        return cls(list(panels.values()), label_names, n_columns=4).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.bars_ = list(map(self._draw_panel, self.panels, axes))
        # One scale for all panels, so that bars can be compared across them.
        end = max(ax.dataLim.x1 for ax in axes)
        for i, ax in enumerate(axes):
            ax.set_xlim(0, min(1.0, 1.05 * max(end, 0)))
            ax.tick_params(labelleft=i % self._panels.n_columns == 0)
        self._shared_legend(self._legend_entries())

    def _draw_panel(self, panel: BarsPanel, ax: Axes) -> dict[str, Any]:
        places = np.arange(len(self.label_names))
        thickness = _GROUP / max(1, len(panel.degrees))
        bars = {}
        for i, (name, degrees) in enumerate(panel.degrees.items()):
            y = places - _GROUP / 2 + (i + 0.5) * thickness
            bars[name] = ax.barh(y, degrees, height=0.9 * thickness, color=series_style(i)["color"])
            if name in panel.intervals:
                ax.hlines(y, *panel.intervals[name], **_INTERVAL)
        if panel.truth is not None:
            ax.vlines(panel.truth, places - _GROUP / 2, places + _GROUP / 2, **_TRUTH)
        if panel.logical is not None:
            self._draw_logical(panel.logical, ax)
        name_rows(ax, self.label_names)
        set_title(ax, *panel.heading_lines())
        return bars

    def _draw_logical(self, logical: Any, ax: Axes) -> None:
        """Dots left of the axis, between the bars and the names of the labels."""
        left = -6 / 170  # in fractions of the panel's width
        look = {"clip_on": False, "transform": ax.get_yaxis_transform()} | _DOT
        for place, label in enumerate(logical):
            (dot,) = ax.plot(left, place, **look)
            if not label > 0:
                dot.set_markerfacecolor("none")
        ax.tick_params(axis="y", pad=10)  # room for the dots

    def _legend_entries(self) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        # Otherwise the titles of panels name their only series.
        if len(self.panels) == 1 or len(self.bars_[0]) > 1:
            entries |= self.bars_[0]
        for panel in self.panels:
            if panel.truth is not None:
                entries[panel.truth_name] = Line2D([], [], **_TRUTH)
            if panel.intervals:
                entries["interval"] = Line2D([], [], **_INTERVAL)
            if panel.logical is not None:
                entries["positive label"] = Line2D([], [], **_DOT)
        return entries


def _get_row(matrix: Any, row: int) -> Any:
    return None if matrix is None else np.asarray(matrix)[row]


class TernaryDisplay(Display):
    """Distributions over three labels as points of a triangle; a corner is a degree of one.

    Parameters
    ----------
    distributions : mapping of str to array-like of shape (n_samples, 3)
        Point clouds by name.
    label_names : sequence of str, optional
        Names of the corners.

    Attributes
    ----------
    points_ : dict of str to matplotlib PathCollection

    Notes
    -----
    Example::

        TernaryDisplay({"truth": D, "recovered": model.label_distributions_}).plot().save(
            "triangle.svg"
        )
    """

    _panels = Panels(1, 4.0, 3.7)

    def __init__(self, distributions: Mapping[str, ArrayLike], label_names: Names = None) -> None:
        self.distributions = {}
        for name, matrix in distributions.items():
            D = np.asarray(matrix, dtype=float)
            if D.ndim != 2 or D.shape[1] != 3:
                raise InputError(f"A triangle shows three labels; {name!r} has shape {D.shape}.")
            self.distributions[name] = D
        if label_names is None:
            label_names = targets.default_label_names(3)
        self.label_names = label_names
        if len(label_names) != 3:
            given = f"{len(label_names)} label names were given"
            raise InputError(f"A triangle has three corners, but {given}.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, truth: ArrayLike | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the predictions of a fitted model of three labels, and the truth below them.

        Parameters
        ----------
        estimator : fitted learner or joint model
        X : array-like of shape (n_samples, n_features)
        truth : array-like of shape (n_samples, 3), optional
        ax : matplotlib Axes, optional

        Returns
        -------
        TernaryDisplay
        """
        clouds = {}
        if truth is not None:
            clouds["truth"] = truth
        clouds["predicted"] = estimator.predict(X)
        return cls(clouds, getattr(estimator, "label_names_", None)).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        for degree in (0.25, 0.5, 0.75):
            # Lines along which one of the three degrees is constant.
            for corner in range(3):
                others = np.roll(_CORNERS, -corner, axis=0)[1:]
                line = degree * _CORNERS[corner] + (1 - degree) * others
                ax.plot(*line.T, color=RULE, linewidth=0.6, zorder=0)
        ax.plot(*_CORNERS[[0, 1, 2, 0]].T, color=INK, linewidth=1.0)
        places = ((-0.04, "left", "top"), (-0.04, "right", "top"), (0.03, "center", "bottom"))
        for (x, y), name, (dy, ha, va) in zip(_CORNERS, self.label_names, places, strict=True):
            put_text(
                ax,
                x,
                y + dy,
                strip_control_chars(name),
                size=NORMAL,
                ha=ha,
                va=va,
            )
        # else equal differences of degrees would have different lengths
        ax.set_aspect("equal")
        ax.set_axis_off()
        self.points_ = {}
        for i, (name, matrix) in enumerate(self.distributions.items()):
            look = series_style(i)
            self.points_[name] = ax.scatter(
                matrix @ _CORNERS[:, 0],
                matrix @ _CORNERS[:, 1],
                s=12,
                alpha=0.55,
                linewidths=0,
                color=look["color"],
                marker=look["marker"],
            )
        add_legend(ax, self.points_, loc="upper right")


class ArtificialPictureDisplay(Display):
    """Distributions on the surface of the artificial set as colours.

    Red, green and blue are the three degrees. All panels use the colour map of the true
    distributions, so equal colours mean equal distributions.

    Parameters
    ----------
    distributions : mapping of str to array-like of shape (2601, 3)
        Degrees at the points of ``make_artificial("manifold")``; each becomes a panel. The truth is
        put first.

    Attributes
    ----------
    images_ : dict of str to matplotlib AxesImage

    Notes
    -----
    Example::

        surface = make_artificial("manifold")
        recovered = DLDL().fit_enhance(surface.X, surface.logical(rule="cumulative"))
        ArtificialPictureDisplay({"DLDL": recovered}).plot().save("artificial.png")
    """

    def __init__(self, distributions: Mapping[str, ArrayLike]) -> None:
        self.distributions = {"truth": make_artificial("manifold").D, **distributions}
        self._panels = Panels(len(self.distributions), 2.4, 2.6, n_columns=len(self.distributions))

    def _draw(self, *axes: Axes) -> None:
        self.images_ = {}
        for ax, (name, matrix) in zip(axes, self.distributions.items(), strict=True):
            self.images_[name] = ax.imshow(
                artificial_picture(matrix),
                origin="lower",
                extent=(-1, 1, -1, 1),
                interpolation="nearest",
            )
            style_axes(ax, grid=None)
            ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
            set_labels(ax, x="x2")
            set_title(ax, name)
        # Rows of the picture are x1, which is why it stands at the vertical axis.
        set_labels(axes[0], y="x1")


class ReliabilityDisplay(Display):
    """Mean true degree against predicted degree, over all rows and labels.

    Predictions are sorted into bins of equal width. Points on the diagonal are calibrated. The bars
    at the bottom show the fraction of predictions in each bin, the error bars two standard errors
    of the mean.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
    n_bins : int, default=10
        Bins of equal width on [0, 1].

    Attributes
    ----------
    predicted, true : array of shape (n_filled_bins,)
        Mean predicted and mean true degree in each bin that is not empty.
    error : array of shape (n_filled_bins,)
        Standard error of the mean true degree.
    fraction : array of shape (n_filled_bins,)
        Fraction of all predicted degrees that are in the bin.
    edges : array of shape (n_filled_bins, 2)
        Ends of the bins.
    line_ : matplotlib Line2D
    bars_ : matplotlib BarContainer

    Notes
    -----
    Example::

        ReliabilityDisplay.from_estimator(model, X_test, D_test).calibration_error
    """

    _panels = Panels(1, 3.6, 3.5)

    def __init__(self, D_true: ArrayLike, D_pred: ArrayLike, *, n_bins: int = 10) -> None:
        true = np.asarray(D_true, dtype=float)
        predicted = np.asarray(D_pred, dtype=float)
        if true.shape != predicted.shape:
            shapes = f"{true.shape} and {predicted.shape}"
            raise InputError(f"D_true and D_pred must have one shape, got {shapes}.")
        cuts = np.linspace(0, 1, n_bins + 1)
        # Without the outer cuts: a degree of exactly 1 belongs to the last bin.
        bins = np.digitize(predicted, cuts[1:-1])
        # A bin without predictions has no mean.
        filled, counts = np.unique(bins, return_counts=True)
        self.predicted = ndimage.mean(predicted, bins, filled)
        self.true = ndimage.mean(true, bins, filled)
        spread = ndimage.standard_deviation(true, bins, filled)
        # One value has no spread: the bar of its error has length 0.
        self.error = spread / np.sqrt(np.maximum(counts - 1, 1))
        self.fraction = counts / true.size
        self.edges = np.c_[cuts[filled], cuts[filled + 1]]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, D_true: ArrayLike, *, ax: Any = None) -> Self:
        """Draw the predictions of a fitted model for rows whose true distributions are known.

        Parameters
        ----------
        estimator : fitted learner or joint model
        X : array-like of shape (n_samples, n_features)
        D_true : array-like of shape (n_samples, n_labels)
        ax : matplotlib Axes, optional

        Returns
        -------
        ReliabilityDisplay
        """
        return cls(D_true, estimator.predict(X)).plot(ax=ax)

    @property
    def calibration_error(self) -> float:
        """Mean distance from the diagonal, each bin weighted by its fraction of the predictions."""
        return float(np.sum(self.fraction * np.abs(self.predicted - self.true)))

    def _draw(self, ax: Axes) -> None:
        lower, upper = self.edges.T
        # The histogram stays in the lowest quarter, out of the way of the curve.
        heights = 0.25 * self.fraction / self.fraction.max()
        width = 0.96 * (upper - lower)
        color = PALETTE[0]
        self.bars_ = ax.bar(
            lower,
            heights,
            width=width,
            align="edge",
            color=color,
            alpha=0.15,
        )
        ax.plot(
            [0, 1],
            [0, 1],
            color=MUTED,
            linewidth=0.9,
            linestyle="--",
        )
        drawn = ax.errorbar(
            self.predicted,
            self.true,
            2 * self.error,  # about 95 per cent
            color=color,
            marker="o",
            markersize=4.5,
            linewidth=1.6,
            elinewidth=1.0,
        )
        self.line_ = drawn.lines[0]
        text = f"calibration error {self.calibration_error:.3f}"
        put_text(
            ax,
            0.03,
            0.97,
            text,
            transform=ax.transAxes,
            ha="left",
            va="top",
        )
        style_axes(ax, grid="both")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        set_labels(ax, "predicted degree", "mean true degree")


class CooccurrenceDisplay(Display):
    """Fraction of the rows with one label that also have another.

    Parameters
    ----------
    y : array-like or data frame of shape (n_samples, n_labels)
        Logical labels, 0 or 1; ``ldlearn.core.binarize`` makes them from distributions.
    label_names : sequence of str, optional
        The columns of a data frame by default.

    Attributes
    ----------
    conditional : array of shape (n_labels, n_labels)
        Entry (i, j): of the rows with label i, the fraction that also has label j. NaN if label i
        never occurs.
    frequencies : array of shape (n_labels,)
        Fraction of all rows that have each label.
    image_ : matplotlib AxesImage
    texts_ : list of matplotlib Text

    Notes
    -----
    Example::

        CooccurrenceDisplay(Y, label_names=["sky", "sea", "sand"]).plot().save("together.pdf")
    """

    def __init__(self, y: Any, *, label_names: Names = None) -> None:
        Y = np.asarray(y)
        if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
            needed = "a 2-D array of 0 and 1; binarize distributions first"
            raise InputError(f"Co-occurrence needs {needed}.")
        Y = Y.astype(float)
        counts = Y.T @ Y
        self.frequencies = Y.mean(axis=0)
        totals = np.where(counts.diagonal() > 0, counts.diagonal(), np.nan)
        self.conditional = counts / totals[:, None]
        if label_names is None:
            label_names = targets.label_names(y, len(counts)).tolist()
        self.label_names = label_names
        side = 1.6 + 0.36 * len(counts)
        self._panels = Panels(1, side + 0.6, side)

    def _draw(self, ax: Axes) -> None:
        self.image_ = ax.imshow(self.conditional, cmap="Blues", vmin=0, vmax=1)
        self.texts_ = []
        for (i, j), value in np.ndenumerate(self.conditional):
            if len(self.conditional) > 12:
                break  # more would not be readable
            text = f"{value:.2f}"
            color = INK
            if value > 0.6:
                color = "white"  # the blue of the map is too dark for ink
            elif np.isnan(value):
                color = MUTED
                text = "-"
            drawn = put_text(
                ax,
                j,
                i,
                text,
                size=7,
                color=color,
                ha="center",
                va="center",
            )
            self.texts_.append(drawn)
        style_axes(ax, grid=None)
        ax.spines[:].set_visible(False)
        rows = zip(self.label_names, self.frequencies, strict=True)
        name_ticks(ax.yaxis, [f"{name} ({value:.0%})" for name, value in rows])
        name_ticks(
            ax.xaxis,
            self.label_names,
            rotation=45,
            ha="right",
            rotation_mode="anchor",
        )
        ax.tick_params(length=0)
        set_labels(ax, "also have this label", "of the rows with this label")


class FeatureInfluenceDisplay(Display):
    """Largest coefficients of a label in a model ``softmax(X @ coef.T + intercept)``.

    Adding the same number to a feature's coefficients of all labels changes no prediction; so each
    coefficient is shown minus the mean over labels: how much the feature increases the degree of
    this label against the others. Coefficients of features with different units cannot be compared;
    give `scale`, for instance the standard deviations, if the features are not standardised.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
        Coefficients of one label, already centred (and scaled).
    feature_names : sequence of str
    label : str
    top : int, default=12
        Number of features shown, those of the largest absolute coefficient.

    Attributes
    ----------
    shown_ : list of str
        Names of the features drawn, from the largest coefficient to the smallest.
    bars_ : matplotlib BarContainer

    Notes
    -----
    Example::

        FeatureInfluenceDisplay.from_estimator(model, "joy", scale=X_train.std(axis=0)).save(
            "joy.svg"
        )
    """

    def __init__(
        self, coef: ArrayLike, feature_names: Sequence[str], label: str, *, top: int = 12
    ) -> None:
        self.coef = np.asarray(coef, dtype=float)
        self.feature_names = feature_names
        if len(feature_names) != len(self.coef):
            given = f"{len(feature_names)} names were given"
            raise InputError(f"{given} for {len(self.coef)} features.")
        self.label = label
        self.top = top
        self._panels = Panels(1, 4.6, 0.9 + 0.24 * min(top, len(self.coef)))

    @classmethod
    def from_estimator(
        cls, estimator: Any, label: Any, *, scale: Any = 1.0, top: int = 12, ax: Any = None
    ) -> Self:
        """Draw the coefficients of a fitted linear model for one label.

        Parameters
        ----------
        estimator : fitted estimator that predicts a softmax of linear scores
            Also a two-step model or a pipeline that ends in one.
        label : str or int
            Name or column of the label.
        scale : array-like of shape (n_features,), optional
            Multiplies the coefficients.
        top : int, default=12
        ax : matplotlib Axes, optional

        Returns
        -------
        FeatureInfluenceDisplay
        """
        model = estimator
        if hasattr(estimator, "steps"):
            model = estimator.steps[-1][1]
        found = softmax_coefficients(model)
        if found is None:
            problem = "does not predict a softmax of linear scores"
            advice = "use a linear model without a feature map"
            raise InputError(f"{type(model).__name__} {problem}; {advice}.")
        coef = found[0]
        labels = list(map(str, model.label_names_))
        # Another number may be a name.
        if isinstance(label, (int, np.integer)) and 0 <= label < len(labels):
            label = labels[label]
        if str(label) not in labels:
            raise InputError(f"There is no label {label!r}; the labels are {', '.join(labels)}.")
        # The softmax does not notice what is added to all labels alike: only differences between
        # labels mean anything.
        centred = (coef - coef.mean(axis=0))[labels.index(str(label))] * np.asarray(scale)
        names = _feature_names(estimator, model, len(centred))
        return cls(centred, names, str(label), top=top).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        # stable: of equal coefficients the same ones are shown on every machine
        largest = np.argsort(-np.abs(self.coef), kind="stable")[: self.top]
        order = largest[np.argsort(-self.coef[largest], kind="stable")]
        colors = np.where(self.coef[order] >= 0, PALETTE[0], PALETTE[1])
        self.bars_ = ax.barh(range(len(order)), self.coef[order], height=0.7, color=colors)
        self.shown_ = np.asarray(self.feature_names)[order].tolist()
        ax.axvline(0, color=MUTED, linewidth=0.9)
        name_rows(ax, self.shown_)
        set_labels(ax, "coefficient minus the mean of all labels")
        set_title(ax, f"Features that increase (blue) or decrease (orange) {self.label}")


def _feature_names(estimator: Any, model: Any, count: int) -> Sequence[str]:
    """Those of the features that the model has seen, else x0, x1, ..."""
    # A model without steps, or a step that is unable to name its output.
    with suppress(TypeError, AttributeError, ValueError):
        return list(estimator[:-1].get_feature_names_out())
    # Names of the input of a pipeline fit the coefficients only if no step has made other features.
    for fitted in (model, estimator):
        names = getattr(fitted, "feature_names_in_", ())
        if len(names) == count:
            return names
    return [f"x{i}" for i in range(count)]
