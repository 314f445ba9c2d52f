"""What all pictures share: colours, axes that belong to no global state, text that is never read as a formula."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.gridspec import GridSpecFromSubplotSpec

from ldlearn.errors import InputError

INK = "#1f2430"
MUTED = "#667085"
RULE = "#d0d5dd"
BAND = "#e4eaf2"
# Okabe and Ito's colours, which people with any kind of colour vision tell apart; yellow and black left out.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
SMALL, NORMAL = 8.0, 9.0

# Names come from files: a dollar sign or a backslash in them is no formula.
VERBATIM: dict[str, Any] = {"parse_math": False, "usetex": False}
AXIS_TEXT: dict[str, Any] = {"fontsize": NORMAL, "color": INK, **VERBATIM}


def series_style(index: int) -> dict[str, Any]:
    """Colour, marker and dash of the i-th series; the marker and dash change where colours repeat."""
    cycle = index // len(PALETTE)
    return {
        "color": PALETTE[index % len(PALETTE)],
        "marker": MARKERS[(index + cycle) % len(MARKERS)],
        "linestyle": ("-", "--", ":", "-.")[cycle % 4],
    }


def one_axes(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """The user's axes, or those of a new figure that pyplot does not know about."""
    return Figure(figsize=figsize, layout="constrained").add_subplot() if ax is None else ax


def many_axes(ax: Any, n_rows: int, n_columns: int, panel: tuple[float, float]) -> list[Axes]:
    """Axes for small multiples: in a new figure, in the place of one axes, or those given."""
    count = n_rows * n_columns
    if ax is None:
        figure = Figure(figsize=(panel[0] * n_columns, panel[1] * n_rows), layout="constrained")
        return list(figure.subplots(n_rows, n_columns, squeeze=False).ravel())
    if isinstance(ax, Axes):
        return [ax] if count == 1 else _split(ax, n_rows, n_columns)
    given = list(getattr(ax, "flat", ax))
    if len(given) < count:
        raise InputError(f"This picture has {count} panels, but {len(given)} axes were given.")
    return given[:count]


def _split(ax: Axes, n_rows: int, n_columns: int) -> list[Axes]:
    place = ax.get_subplotspec()
    if place is None:
        raise InputError("Several panels need axes made by subplots, or one axes for each panel.")
    ax.set_axis_off()
    grid = GridSpecFromSubplotSpec(n_rows, n_columns, subplot_spec=place)
    return [ax.figure.add_subplot(grid[i, j]) for i in range(n_rows) for j in range(n_columns)]


def shared_legend(ax: Axes, handles: Sequence[Any], names: Sequence[object], *, own_figure: bool) -> Any:
    """A legend for all panels: below them in a figure of ours, inside the panel in one of the user's."""
    if own_figure:
        return legend(ax.figure, handles, names, loc="outside lower left", ncols=4)
    return legend(ax, handles, names, loc="best")


def tidy(ax: Axes, *, grid: Literal["x", "y", "both"] | None = "y") -> None:
    """Quiet frame, small numbers, a faint grid along one axis."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(RULE)
    ax.tick_params(colors=MUTED, labelsize=SMALL, length=3, width=0.8)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color=RULE, linewidth=0.6, alpha=0.7)


def shown(name: object) -> str:
    """A name on one line, without control characters, which no picture format can hold."""
    text = " ".join(str(name).split())
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in ("Cc", "Cs") else sign for sign in text)


def title(ax: Axes, text: str) -> None:
    """Title at the left, in the page's ink."""
    ax.set_title(shown(text), loc="left", fontsize=NORMAL + 1, color=INK, **VERBATIM)


def axis_labels(ax: Axes, x: str = "", y: str = "") -> None:
    """Labels of both axes."""
    ax.set_xlabel(shown(x), **AXIS_TEXT)
    ax.set_ylabel("\n".join(shown(line) for line in y.splitlines()), **AXIS_TEXT)


def name_ticks(ax: Axes, axis: str, positions: Sequence[float], names: Sequence[object], **text: Any) -> None:
    """Put names at the ticks of one axis."""
    which = ax.xaxis if axis == "x" else ax.yaxis
    which.set_ticks(
        list(positions), labels=[shown(name) for name in names], **{"fontsize": SMALL, "color": INK, **VERBATIM, **text}
    )


def legend(place: Axes | Figure | SubFigure, handles: Sequence[Any], names: Sequence[object], **options: Any) -> Any:
    """A legend; names that begin with an underscore are shown, which matplotlib's own rule forbids."""
    box = place.legend(handles, ["-"] * len(handles), frameon=False, fontsize=SMALL, labelcolor=INK, **options)
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set(text=shown(name), **VERBATIM)
    return box
