"""Intervals, posterior approximations, conformal prediction, and rows far from the training
rows."""

from ldlearn.uncertainty.conformal import ConformalIntervals, conformal_intervals

__all__ = ["ConformalIntervals", "conformal_intervals"]
