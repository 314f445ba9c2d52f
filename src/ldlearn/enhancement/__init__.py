"""Label enhancement: degrees for the training rows from their 0/1 labels. One file per method."""

from ldlearn.enhancement.baselines import PriorLE as PriorLE
from ldlearn.enhancement.baselines import ProjectedPriorLE as ProjectedPriorLE
from ldlearn.enhancement.baselines import SoftmaxLE as SoftmaxLE
from ldlearn.enhancement.baselines import UniformLE as UniformLE
from ldlearn.enhancement.bd_le import BDLE as BDLE
from ldlearn.enhancement.fcm import FCM as FCM
from ldlearn.enhancement.fle import FLE as FLE
from ldlearn.enhancement.glesc import GLESC as GLESC
from ldlearn.enhancement.glle import GLLE as GLLE
from ldlearn.enhancement.km import KM as KM
from ldlearn.enhancement.lemll import LEMLL as LEMLL
from ldlearn.enhancement.lesc import LESC as LESC
from ldlearn.enhancement.lp import LP as LP
from ldlearn.enhancement.ml import ML as ML

__all__ = [name for name in dir() if name[0].isupper()]
