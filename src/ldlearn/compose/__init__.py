"""Estimators made of estimators."""

from ldlearn.compose.conformal import ConformalIntervals, conformal_intervals
from ldlearn.compose.enhance_then_learn import EnhanceThenLearn
from ldlearn.compose.from_classifier import FromClassifier
from ldlearn.compose.from_distributions import FromDistributions

__all__ = ["ConformalIntervals", "EnhanceThenLearn", "FromClassifier", "FromDistributions", "conformal_intervals"]
