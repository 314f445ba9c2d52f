"""The kinds of estimator: what they take and give, and the contract that every method keeps."""

from ldlearn.base.estimator import Capabilities, LabelEstimator, SampleWeightMixin
from ldlearn.base.kinds import KINDS, Enhancer, JointModel, Learner
from ldlearn.core.targets import check_distributions, check_logical

__all__ = [
    "KINDS",
    "Capabilities",
    "Enhancer",
    "JointModel",
    "LabelEstimator",
    "Learner",
    "SampleWeightMixin",
    "check_distributions",
    "check_logical",
]
