"""Reliability of predicted degrees: mean true degree for each predicted degree."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from ldlearn.exceptions import InputError
from ldlearn.reporting.display import Display
from ldlearn.reporting.style import MUTED, PALETTE, Panels, axis_labels, tidy, write


class ReliabilityDisplay(Display):
    """Mean true degree against predicted degree, over all rows and labels.

    Predictions are sorted into bins of equal width. Points on the diagonal are calibrated. The bars at the bottom
    show the fraction of predictions in each bin, the error bars two standard errors of the mean.

    Parameters
    ----------
    predicted, true : array-like of shape (n_bins,)
        Mean predicted and mean true degree in each bin that is not empty.
    error : array-like of shape (n_bins,)
        Standard error of the mean true degree.
    share : array-like of shape (n_bins,)
        Share of all entries in the bin.
    edges : array-like of shape (n_bins, 2)
        Ends of the bins.

    Attributes
    ----------
    line_ : matplotlib Line2D
    bars_ : matplotlib BarContainer

    Notes
    -----
    Example::

        ReliabilityDisplay.from_estimator(model, X_test, D_test).calibration_error
    """

    def __init__(
        self, predicted: ArrayLike, true: ArrayLike, error: ArrayLike, share: ArrayLike, edges: ArrayLike
    ) -> None:
        self.predicted, self.true = np.asarray(predicted, dtype=float), np.asarray(true, dtype=float)
        self.error, self.share = np.asarray(error, dtype=float), np.asarray(share, dtype=float)
        self.edges = np.asarray(edges, dtype=float).reshape(-1, 2)

    @classmethod
    def from_predictions(
        cls, D_true: ArrayLike, D_pred: ArrayLike, *, n_bins: int = 10, ax: Axes | None = None
    ) -> ReliabilityDisplay:
        """Bin and draw.

        Parameters
        ----------
        D_true, D_pred : array-like of shape (n, c)
        n_bins : int, default=10
            Bins of equal width on [0, 1].
        ax : matplotlib Axes, optional

        Returns
        -------
        ReliabilityDisplay
        """
        true, predicted = np.asarray(D_true, dtype=float).ravel(), np.asarray(D_pred, dtype=float).ravel()
        if true.shape != predicted.shape:
            raise InputError(f"D_true and D_pred must have one shape, got {np.shape(D_true)} and {np.shape(D_pred)}.")
        cuts = np.linspace(0, 1, n_bins + 1)
        # A degree of exactly 1 belongs to the last bin, which has no right neighbour.
        bins = np.clip(np.searchsorted(cuts, predicted, side="right") - 1, 0, n_bins - 1)
        # A bin without predictions has no mean.
        filled = np.unique(bins)
        return cls(
            predicted=[predicted[bins == b].mean() for b in filled],
            true=[true[bins == b].mean() for b in filled],
            error=[_standard_error(true[bins == b]) for b in filled],
            share=[(bins == b).mean() for b in filled],
            edges=[(cuts[b], cuts[b + 1]) for b in filled],
        ).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, D_true: ArrayLike, *, n_bins: int = 10, ax: Axes | None = None
    ) -> ReliabilityDisplay:
        """Draw the predictions of a fitted model for rows whose true distributions are known.

        Parameters
        ----------
        estimator : fitted learner or joint model
        X : array-like of shape (n, m)
        D_true : array-like of shape (n, c)
        n_bins : int, default=10
        ax : matplotlib Axes, optional

        Returns
        -------
        ReliabilityDisplay
        """
        return cls.from_predictions(D_true, estimator.predict(X), n_bins=n_bins, ax=ax)

    @property
    def calibration_error(self) -> float:
        """Mean distance from the diagonal, each bin weighted by its share of the predictions."""
        return float(np.sum(self.share * np.abs(self.predicted - self.true)))

    _panels = Panels(1, 3.6, 3.5)

    def _draw(self, ax: Axes) -> None:
        lower, upper = self.edges.T
        # The histogram stays in the lowest quarter, out of the way of the curve.
        heights, width = 0.25 * self.share / self.share.max(), 0.96 * (upper - lower)
        self.bars_ = ax.bar(lower, heights, width=width, align="edge", color=PALETTE[0], alpha=0.15)
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle="--")
        # Two standard errors: about 95 per cent.
        ax.errorbar(self.predicted, self.true, yerr=2 * self.error, fmt="none", ecolor=PALETTE[0], elinewidth=1.0)
        (self.line_,) = ax.plot(self.predicted, self.true, color=PALETTE[0], marker="o", markersize=4.5, linewidth=1.6)
        text = f"calibration error {self.calibration_error:.3f}"
        write(ax, 0.03, 0.97, text, transform=ax.transAxes, ha="left", va="top")
        tidy(ax, grid="both")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axis_labels(ax, "predicted degree", "mean true degree")


def _standard_error(values: NDArray[np.float64]) -> float:
    # one value has no spread, and 0 draws no bar
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
