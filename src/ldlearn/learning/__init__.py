"""Label distribution learning: predict degrees from features. One file per method."""

from ldlearn.learning.floors import MeanLDL
from ldlearn.learning.sa_bfgs import SABFGS

__all__ = ["MeanLDL", "SABFGS"]
