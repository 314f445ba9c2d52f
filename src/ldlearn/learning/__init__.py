"""Label distribution learning: predict degrees from features. One file per method."""

from ldlearn.learning.aa_bp import AABP
from ldlearn.learning.aa_knn import AAKNN
from ldlearn.learning.floors import MeanLDL
from ldlearn.learning.pt_bayes import PTBayes
from ldlearn.learning.pt_svm import PTSVM
from ldlearn.learning.sa_bfgs import SABFGS
from ldlearn.learning.sa_iis import SAIIS

__all__ = ["MeanLDL", "SABFGS", "AABP", "AAKNN", "PTBayes", "PTSVM", "SAIIS"]
