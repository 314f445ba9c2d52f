"""Pictures of three labels: the artificial set in colours, and any distributions in a triangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from ldlearn.core.targets import default_label_names
from ldlearn.datasets import artificial_picture, make_artificial
from ldlearn.errors import InputError
from ldlearn.plotting.display import Display
from ldlearn.plotting.style import (
    INK,
    NORMAL,
    RULE,
    VERBATIM,
    Panels,
    axis_labels,
    legend,
    series_style,
    shown,
    tidy,
    title,
)

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


class ArtificialPictureDisplay(Display):
    """Distributions on the surface of the artificial set as colours: red, green and blue are the three degrees.

    All panels use the colour map of the true distributions, so equal colours mean equal distributions.

    Parameters
    ----------
    distributions : mapping of str to array-like of shape (2601, 3)
        Degrees at the points of ``make_artificial("manifold")``; each becomes a panel. The truth is put first.

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

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None) -> ArtificialPictureDisplay:
        """Draw what a fitted model predicts on the surface, next to the truth.

        Parameters
        ----------
        estimator : fitted learner or joint model of three features and three labels
        name : str, optional
            The class by default.
        ax : matplotlib Axes or sequence of them, optional

        Returns
        -------
        ArtificialPictureDisplay
        """
        predicted = estimator.predict(make_artificial("manifold").X)
        return cls({name or type(estimator).__name__: predicted}).plot(ax=ax)

    def _draw(self, *axes: Axes) -> None:
        self.images_ = {
            name: _show(place, name, artificial_picture(matrix))
            for place, (name, matrix) in zip(axes, self.distributions.items(), strict=True)
        }
        axis_labels(axes[0], "x2", "x1")


def _show(ax: Axes, name: str, picture: NDArray[np.float64]) -> Any:
    image = ax.imshow(picture, origin="lower", extent=(-1, 1, -1, 1), interpolation="nearest")
    tidy(ax, grid=None)
    ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axis_labels(ax, "x2")
    title(ax, name)
    return image


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
        self.distributions = {name: _three_labels(matrix, name) for name, matrix in distributions.items()}
        self.label_names = [str(name) for name in (default_label_names(3) if label_names is None else label_names)]
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
            style = series_style(i)
            x, y = (matrix @ _CORNERS).T
            self.points_[name] = ax.scatter(
                x, y, s=12, color=style["color"], marker=style["marker"], alpha=0.55, linewidths=0
            )
        legend(ax, list(self.points_.values()), list(self.points_), loc="upper right")


def _three_labels(matrix: ArrayLike, name: str) -> NDArray[np.float64]:
    D = np.asarray(matrix, dtype=float)
    if D.ndim != 2 or D.shape[1] != 3:
        raise InputError(f"A triangle shows three labels; {name!r} has shape {D.shape}.")
    return D


def _draw_triangle(ax: Axes, names: Sequence[str]) -> None:
    for share in (0.25, 0.5, 0.75):
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            ends = np.array([share * _CORNERS[a] + (1 - share) * _CORNERS[k] for k in (b, c)])
            ax.plot(*ends.T, color=RULE, linewidth=0.6, zorder=0)
    ax.plot(*_CORNERS[[0, 1, 2, 0]].T, color=INK, linewidth=1.0)
    for corner, name, (dx, dy, ha) in zip(
        _CORNERS, names, ((0, -0.04, "left"), (0, -0.04, "right"), (0, 0.03, "center")), strict=True
    ):
        va = "bottom" if dy > 0 else "top"
        ax.text(corner[0] + dx, corner[1] + dy, shown(name), ha=ha, va=va, fontsize=NORMAL, color=INK, **VERBATIM)
    ax.set_aspect("equal")
    ax.set_axis_off()
