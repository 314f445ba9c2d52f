"""The artificial set in colours: what a method makes of its surface, next to the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ldlearn.datasets import artificial_picture, make_artificial
from ldlearn.reporting.display import Display
from ldlearn.reporting.style import Panels, axis_labels, tidy, title


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
