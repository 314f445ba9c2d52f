"""Distributions over three labels: in a triangle, and as colours of the artificial data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ldlearn.core.targets import default_label_names
from ldlearn.datasets import artificial_picture, make_artificial
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display
from ldlearn.reporting.style import (
    INK,
    NORMAL,
    RULE,
    Panels,
    axis_labels,
    legend,
    series_style,
    strip_control_chars,
    tidy,
    title,
    write,
)

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
        self.images_: dict[str, Any] = {}
        for ax, (name, matrix) in zip(axes, self.distributions.items(), strict=True):
            picture = artificial_picture(matrix)
            self.images_[name] = ax.imshow(picture, origin="lower", extent=(-1, 1, -1, 1), interpolation="nearest")
            tidy(ax, grid=None)
            ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
            # Rows of the picture are x1, which is why it stands at the vertical axis.
            axis_labels(ax, "x2", "x1" if ax is axes[0] else "")
            title(ax, name)
