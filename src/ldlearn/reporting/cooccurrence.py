"""Label co-occurrence: how often a label comes with another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ldlearn.core.targets import label_names as names_of
from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display
from ldlearn.reporting.style import INK, MUTED, SMALL, Panels, axis_labels, name_ticks, strip_control_chars, tidy, write


class CooccurrenceDisplay(Display):
    """Share of the rows with one label that also have another.

    Parameters
    ----------
    shares : array-like of shape (c, c)
        Entry (i, j): of the rows with label i, the share that also have label j. NaN if label i never occurs.
    frequencies : array-like of shape (c,)
        Share of all rows that have each label.
    label_names : sequence of str

    Attributes
    ----------
    image_ : matplotlib AxesImage
    texts_ : list of matplotlib Text

    Notes
    -----
    Example::

        CooccurrenceDisplay.from_labels(Y, label_names=["sky", "sea", "sand"]).save("together.pdf")
    """

    def __init__(self, shares: ArrayLike, frequencies: ArrayLike, label_names: Sequence[str]) -> None:
        self.shares = np.asarray(shares, dtype=float)
        self.frequencies = np.asarray(frequencies, dtype=float)
        self.label_names = [str(name) for name in label_names]
        side = 1.6 + 0.36 * len(self.label_names)
        self._panels = Panels(1, side + 0.6, side)

    @classmethod
    def from_labels(
        cls, y: Any, *, label_names: Sequence[str] | None = None, ax: Axes | None = None
    ) -> CooccurrenceDisplay:
        """Count and draw.

        Parameters
        ----------
        y : array-like or data frame of shape (n, c)
            Logical labels, 0 or 1; ``ldlearn.core.binarize`` makes them from distributions.
        label_names : sequence of str, optional
            The columns of a data frame by default.
        ax : matplotlib Axes, optional

        Returns
        -------
        CooccurrenceDisplay
        """
        Y = np.asarray(y)
        if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
            raise InputError("Co-occurrence needs a 2-D array of 0 and 1; binarize distributions first.")
        Y, counts = Y.astype(float), Y.sum(axis=0)[:, None]
        shares = np.divide(Y.T @ Y, counts, out=np.full((Y.shape[1],) * 2, np.nan), where=counts > 0)
        names = names_of(y, Y.shape[1]).tolist() if label_names is None else label_names
        return cls(shares, Y.mean(axis=0), names).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        self.image_ = ax.imshow(self.shares, cmap="Blues", vmin=0, vmax=1)
        self.texts_ = self._write_numbers(ax) if len(self.shares) <= 12 else []  # more would not be readable
        tidy(ax, grid=None)
        for spine in ax.spines.values():
            spine.set_visible(False)
        rows = [
            f"{strip_control_chars(name)} ({share:.0%})"
            for name, share in zip(self.label_names, self.frequencies, strict=True)
        ]
        name_ticks(ax.yaxis, rows)
        name_ticks(ax.xaxis, self.label_names, rotation=45, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0)
        axis_labels(ax, "also have this label", "of the rows with this label")

    def _write_numbers(self, ax: Axes) -> list[Any]:
        texts = []
        for (i, j), share in np.ndenumerate(self.shares):
            # Beyond 0.6 the blue of the map is too dark for ink.
            text, color = ("-", MUTED) if np.isnan(share) else (f"{share:.2f}", "white" if share > 0.6 else INK)
            texts.append(write(ax, j, i, text, size=SMALL - 1, color=color, ha="center", va="center"))
        return texts
