"""Shared by all displays: colours, frames, and text that is never parsed as a formula."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, SubFigure

from ldlearn.evaluation.formatting import strip_control_chars

INK = "#1f2430"
MUTED = "#667085"
RULE = "#d0d5dd"
BAND = "#e4eaf2"
# Okabe and Ito's colours, distinguishable with any kind of colour vision; without yellow and black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKERS = ("o", "s", "^", "D", "v", "P")
SMALL = 8.0
NORMAL = 9.0

# Names come from files: a dollar sign or a backslash in them is not a formula.
_VERBATIM: Any = {"parse_math": False, "usetex": False}


def series_style(index: int) -> dict[str, Any]:
    """Look of the line of the i-th series; marker and dash also change where colours repeat."""
    cycle, color = divmod(index, len(PALETTE))
    return {
        "color": PALETTE[color],
        "marker": _MARKERS[(index + cycle) % len(_MARKERS)],
        "linestyle": ("-", "--", ":", "-.")[cycle % 4],
        "linewidth": 1.6,
        "markersize": 3.5,
    }


def style_axes(ax: Axes, *, grid: Any = "y") -> None:
    """Light frame, small numbers, a faint grid along one axis."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(RULE)
    ax.tick_params(
        colors=MUTED,
        labelsize=SMALL,
        length=3,
        width=0.8,
    )
    # the grid behind the bars
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(
            axis=grid,
            color=RULE,
            linewidth=0.6,
            alpha=0.7,
        )


def put_text(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    *,
    size: float = SMALL,
    color: str = INK,
    **options: Any,
) -> Any:
    """Write text at a position of the axes."""
    return ax.text(
        x,
        y,
        text,
        fontsize=size,
        color=color,
        **_VERBATIM,
        **options,
    )


def set_title(ax: Axes, *lines: str) -> None:
    """Title at the left."""
    text = "\n".join(map(strip_control_chars, lines))
    ax.set_title(
        text,
        loc="left",
        fontsize=NORMAL + 1,
        color=INK,
        **_VERBATIM,
    )


def set_labels(ax: Axes, x: str = "", y: str = "") -> None:
    """Labels of one or more lines, where given."""
    for axis, text in ((ax.xaxis, x), (ax.yaxis, y)):
        if text:
            lines = map(strip_control_chars, text.splitlines())
            axis.set_label_text("\n".join(lines), fontsize=NORMAL, color=INK, **_VERBATIM)


def name_ticks(
    axis: Axis, names: Sequence[object], positions: Sequence[float] | None = None, **options: Any
) -> None:
    """Put names at the ticks of one axis: at 0, 1, ... by default."""
    labels = list(map(strip_control_chars, names))
    if positions is None:
        positions = range(len(names))
    axis.set_ticks(
        positions,
        labels=labels,
        fontsize=SMALL,
        color=INK,
        **_VERBATIM,
        **options,
    )


def name_rows(ax: Axes, names: Sequence[object], *, ruled: bool = False) -> None:
    """Names of rows from top to bottom, perhaps with a faint line along each."""
    style_axes(ax, grid="x")
    if ruled:
        ax.grid(axis="y", color=RULE, linewidth=0.5)
    # the first name at the top, as a table has it
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    name_ticks(ax.yaxis, names)


def add_legend(to: Axes | Figure | SubFigure, handles: Mapping[str, Any], **options: Any) -> None:
    """A legend that also shows names that begin with an underscore, unlike matplotlib's."""
    labels = ["-"] * len(handles)
    box = to.legend(
        list(handles.values()),
        labels,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        **options,
    )
    for text, name in zip(box.get_texts(), handles, strict=True):
        text.set(text=strip_control_chars(name), **_VERBATIM)
