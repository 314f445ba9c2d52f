"""The kinds of estimator: what they take and give, and the contract that every method keeps."""

from ldlearn.base.estimator import LabelEstimator, SampleWeightMixin
from ldlearn.base.kinds import KINDS, Enhancer, EnhancesNewRows, Joint, Learner, SetsRowsAside
from ldlearn.core.targets import check_distributions, check_logical

__all__ = [
    "KINDS",
    "Enhancer",
    "EnhancesNewRows",
    "Joint",
    "LabelEstimator",
    "Learner",
    "SetsRowsAside",
    "SampleWeightMixin",
    "check_distributions",
    "check_logical",
]
