"""The kinds of estimator: what they take and give, and the contract that every method keeps."""

from ldlearn.base.estimator import Capabilities, LabelEstimator
from ldlearn.base.kinds import KINDS, Enhancer, JointModel, Learner

__all__ = [
    "KINDS",
    "Capabilities",
    "Enhancer",
    "JointModel",
    "LabelEstimator",
    "Learner",
]
