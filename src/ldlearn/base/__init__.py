"""The kinds of estimator and the checks on what they are given."""

from ldlearn.base.kinds import KINDS, Enhancer, Joint, LabelEstimator, Learner
from ldlearn.base.validation import check_distributions, check_logical

__all__ = ["KINDS", "Enhancer", "Joint", "LabelEstimator", "Learner", "check_distributions", "check_logical"]
