"""What a method is made of: the kinds of estimator, their tags, and the types of parameters."""

from ldlearn.base.estimator import Capabilities, LabelEstimator
from ldlearn.base.kinds import KINDS, Enhancer, JointModel, Learner
from ldlearn.base.parameters import (
    AboveOne,
    AtLeastOne,
    AtLeastTwo,
    Fraction,
    NonNegative,
    OutputMap,
    Positive,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.base.vote_counts import VoteCountMixin

__all__ = [
    "KINDS",
    "AboveOne",
    "AtLeastOne",
    "AtLeastTwo",
    "Capabilities",
    "Enhancer",
    "Fraction",
    "JointModel",
    "LabelEstimator",
    "Learner",
    "NonNegative",
    "OutputMap",
    "Positive",
    "PositiveInt",
    "RandomState",
    "VoteCountMixin",
    "estimator_dataclass",
]
