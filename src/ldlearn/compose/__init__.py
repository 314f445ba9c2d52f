"""Estimators made of estimators."""

from ldlearn.compose.from_distributions import FromDistributions
from ldlearn.compose.two_steps import EnhanceThenLearn

__all__ = ["EnhanceThenLearn", "FromDistributions"]
