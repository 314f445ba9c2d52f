"""Distributions over three labels in a triangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ldlearn.core.targets import default_label_names
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display
from ldlearn.reporting.style import INK, NORMAL, RULE, Panels, legend, series_style, strip_control_chars, write

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


class TernaryDisplay(Display):
    """Distributions over three labels as points of a triangle; a corner is a degree of one.

    Parameters
    ----------
    distributions : mapping of str to array-like of shape (n, 3)
        Point clouds by name.
    label_names : sequence of str, optional
        Names of the corners.

    Attributes
    ----------
    points_ : dict of str to matplotlib PathCollection

    Notes
    -----
    Example::

        TernaryDisplay({"truth": D, "recovered": model.label_distributions_}).plot().save("triangle.svg")
    """

    def __init__(self, distributions: Mapping[str, ArrayLike], label_names: Sequence[str] | None = None) -> None:
        self.distributions = {name: np.asarray(matrix, dtype=float) for name, matrix in distributions.items()}
        self.label_names = [str(name) for name in (default_label_names(3) if label_names is None else label_names)]
        for name, D in self.distributions.items():
            if D.ndim != 2 or D.shape[1] != 3:
                raise InputError(f"A triangle shows three labels; {name!r} has shape {D.shape}.")
        if len(self.label_names) != 3:
            raise InputError(f"A triangle has three corners, but {len(self.label_names)} label names were given.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, truth: ArrayLike | None = None, ax: Axes | None = None
    ) -> TernaryDisplay:
        """Draw the predictions of a fitted model of three labels, and the truth below them if given.

        Parameters
        ----------
        estimator : fitted learner or joint model
        X : array-like of shape (n, m)
        truth : array-like of shape (n, 3), optional
        ax : matplotlib Axes, optional

        Returns
        -------
        TernaryDisplay
        """
        clouds = {} if truth is None else {"truth": truth}
        clouds["predicted"] = estimator.predict(X)
        return cls(clouds, getattr(estimator, "label_names_", None)).plot(ax=ax)

    _panels = Panels(1, 4.0, 3.7)

    def _draw(self, ax: Axes) -> None:
        _draw_triangle(ax, self.label_names)
        self.points_: dict[str, Any] = {}
        for i, (name, matrix) in enumerate(self.distributions.items()):
            x, y = (matrix @ _CORNERS).T
            look = {key: series_style(i)[key] for key in ("color", "marker")}
            self.points_[name] = ax.scatter(x, y, s=12, alpha=0.55, linewidths=0, **look)
        legend(ax, list(self.points_.values()), list(self.points_), loc="upper right")


def _draw_triangle(ax: Axes, names: Sequence[str]) -> None:
    for share in (0.25, 0.5, 0.75):
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            ends = np.array([share * _CORNERS[a] + (1 - share) * _CORNERS[k] for k in (b, c)])
            ax.plot(*ends.T, color=RULE, linewidth=0.6, zorder=0)
    ax.plot(*_CORNERS[[0, 1, 2, 0]].T, color=INK, linewidth=1.0)
    places = ((-0.04, "left", "top"), (-0.04, "right", "top"), (0.03, "center", "bottom"))
    for (x, y), name, (dy, ha, va) in zip(_CORNERS, names, places, strict=True):
        write(ax, x, y + dy, strip_control_chars(name), size=NORMAL, ha=ha, va=va)
    # else equal differences of degrees would have different lengths
    ax.set_aspect("equal")
    ax.set_axis_off()
