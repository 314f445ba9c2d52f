"""The kinds of estimator: what they take and give, and the contract that every method keeps."""

from ldlearn.base.estimator import LabelEstimator, WeighsRows
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
    "WeighsRows",
    "check_distributions",
    "check_logical",
]
