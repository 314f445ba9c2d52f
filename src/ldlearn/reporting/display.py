"""The base of all displays: drawing, saving, and the representation in notebooks."""

import base64
import io
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ldlearn.evaluation import Record, Results
from ldlearn.exceptions import InputError
from ldlearn.reporting.style import add_legend
from ldlearn.tables.files import FilePath, write_file

# What `from_records` takes: the result of `read_records`, or its summary.
Records = Results | Iterable[Record]

# Text stays text in SVG and PDF, and the same figure gives the same file.
_FILE_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ldlearn",
    "pdf.fonttype": 42,
}
_NO_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


class Panels(NamedTuple):
    """Number of panels of a figure, width and height of one, and number of columns."""

    n_panels: int
    width: float
    height: float
    n_columns: int = 1


class Display:
    """A figure and the numbers it shows.

    The constructor takes the numbers; ``plot`` draws them; the ``from_...`` constructors do both.
    pyplot is not used: without `ax` a new figure is made that belongs to the display. Notebooks
    show a display as an image.

    A subclass sets the number and size of its panels (`_panels`) and draws on their axes (`_draw`).

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn; the first one if there are several panels.
    axes_ : list of matplotlib Axes
        All panels.
    figure_ : matplotlib Figure
    """

    ax_: Axes
    axes_: list[Axes]
    figure_: Figure
    _panels: Panels
    _draw: Callable[..., None]

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw, one for each panel; a new figure by default.

        Returns
        -------
        Display
            Itself.
        """
        n_panels, width, height, n_columns = self._panels
        if not n_panels:
            raise InputError("There is nothing to show: the figure has no panel.")
        # A legend outside the axes needs the layout engine of our own figure.
        self._owns_figure = ax is None
        if ax is None:
            n_rows = math.ceil(n_panels / n_columns)
            # Not by pyplot, which would keep the figure.
            figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
            ax = figure.subplots(n_rows, n_columns)
        axes = np.ravel(ax).tolist()  # one, a list, or the array of `subplots`
        if len(axes) < n_panels:
            raise InputError(f"The figure has {n_panels} panels, but {len(axes)} axes were given.")
        for unused in axes[n_panels:]:
            unused.set_axis_off()
        self.axes_ = axes[:n_panels]
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure.figure  # of a subfigure, the whole
        self._draw(*self.axes_)
        return self

    def _shared_legend(self, handles: Mapping[str, Any]) -> None:
        """A legend for all panels: below them, or inside the first one in a figure of the user."""
        if handles and self._owns_figure:
            add_legend(self.ax_.figure, handles, loc="outside lower left", ncols=4)
        elif handles:
            add_legend(self.ax_, handles)

    def save(self, path: FilePath, *, dpi: float = 200) -> Path:
        """Save the figure; the suffix chooses the format (svg, png, pdf, ...).

        Parameters
        ----------
        path : path-like
            Written as a whole or not at all.
        dpi : float, default=200
            Resolution of formats made of pixels.

        Returns
        -------
        pathlib.Path
        """
        target = Path(path)
        if not target.suffix:
            formats = "a format, for instance .svg, .png or .pdf"
            raise InputError(f"The suffix of {str(path)!r} must name {formats}.")
        return write_file(target, self.to_bytes(target.suffix[1:].lower(), dpi=dpi))

    def to_bytes(self, format: str, *, dpi: float = 200) -> bytes:
        """Return the figure as the content of a file of the format."""
        buffer = io.BytesIO()
        with mpl.rc_context(_FILE_SETTINGS):
            self.figure_.savefig(buffer, format=format, dpi=dpi, metadata=_NO_DATE.get(format))
        return buffer.getvalue()

    def fix_layout(self) -> None:
        """Do the layout and remove its engine, with which every savefig would draw twice."""
        engine = self.figure_.get_layout_engine()
        if engine is not None:
            engine.execute(self.figure_)
            no_layout = {"figure.autolayout": False, "figure.constrained_layout.use": False}
            with mpl.rc_context(no_layout):
                # "none" would leave an engine that does nothing.
                self.figure_.set_layout_engine(None)

    def _repr_html_(self) -> str:
        picture = base64.b64encode(self.to_bytes("png", dpi=110)).decode()
        return f'<img alt="{type(self).__name__}" src="data:image/png;base64,{picture}">'
