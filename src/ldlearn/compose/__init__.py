"""Estimators made of estimators."""

from ldlearn.compose.enhance_then_learn import EnhanceThenLearn
from ldlearn.compose.from_classifier import FromClassifier
from ldlearn.compose.from_distributions import FromDistributions
from ldlearn.compose.stacked_ldl import StackedLDL

__all__ = ["EnhanceThenLearn", "FromClassifier", "FromDistributions", "StackedLDL"]
