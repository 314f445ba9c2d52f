"""Label enhancement: degrees for the training rows from their 0/1 labels. One file per method."""

from ldlearn.enhancement.baselines import PriorLE, ProjectedPriorLE, SoftmaxLE, UniformLE
from ldlearn.enhancement.bd_le import BDLE
from ldlearn.enhancement.fcm import FCM
from ldlearn.enhancement.fle import FLE
from ldlearn.enhancement.glesc import GLESC
from ldlearn.enhancement.glle import GLLE
from ldlearn.enhancement.km import KM
from ldlearn.enhancement.lemll import LEMLL
from ldlearn.enhancement.lesc import LESC
from ldlearn.enhancement.lp import LP
from ldlearn.enhancement.ml import ML

__all__ = [
    "BDLE",
    "FCM",
    "FLE",
    "GLESC",
    "GLLE",
    "KM",
    "LEMLL",
    "LESC",
    "LP",
    "ML",
    "PriorLE",
    "ProjectedPriorLE",
    "SoftmaxLE",
    "UniformLE",
]
