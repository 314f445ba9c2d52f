"""Intervals, posterior approximations, conformal prediction, and leverage of new rows."""

from ldlearn.uncertainty.conformal import ConformalIntervals, conformal_intervals

__all__ = ["ConformalIntervals", "conformal_intervals"]
