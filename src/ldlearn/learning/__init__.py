"""Label distribution learning: predict degrees from features. One file per method."""

from ldlearn.learning.aa_bp import AABP
from ldlearn.learning.aa_knn import AAKNN
from ldlearn.learning.baselines import MeanLDL
from ldlearn.learning.boosted_ldl import BoostedLDL
from ldlearn.learning.cdl_ld import CDLLD
from ldlearn.learning.cpnn import CPNN
from ldlearn.learning.df_ldl import DFLDL
from ldlearn.learning.incom_ldl import IncomLDL
from ldlearn.learning.lalot import LALOT
from ldlearn.learning.ld_svr import LDSVR
from ldlearn.learning.ldl_dpa import LDLDPA
from ldlearn.learning.ldl_forest import LDLForest
from ldlearn.learning.ldl_hr import LDLHR
from ldlearn.learning.ldl_lclr import LDLLCLR
from ldlearn.learning.ldl_lrr import LDLLRR
from ldlearn.learning.ldl_scl import LDLSCL
from ldlearn.learning.ldllc import LDLLC
from ldlearn.learning.ldlm import LDLM
from ldlearn.learning.ldlsf import LDLSF
from ldlearn.learning.lse_ldl import LSELDL
from ldlearn.learning.mlp_ldl import MLPLDL
from ldlearn.learning.oldl import OLDL
from ldlearn.learning.pt_bayes import PTBayes
from ldlearn.learning.pt_svm import PTSVM
from ldlearn.learning.sa_bfgs import SABFGS
from ldlearn.learning.sa_iis import SAIIS
from ldlearn.learning.sce_ldl import SCELDL
from ldlearn.learning.win_ldl import WInLDL

__all__ = [
    "MeanLDL",
    "SABFGS",
    "AABP",
    "MLPLDL",
    "BoostedLDL",
    "AAKNN",
    "PTBayes",
    "PTSVM",
    "SAIIS",
    "SCELDL",
    "LSELDL",
    "LDLForest",
    "LALOT",
    "LDLSF",
    "CDLLD",
    "CPNN",
    "DFLDL",
    "LDSVR",
    "IncomLDL",
    "WInLDL",
    "LDLDPA",
    "LDLHR",
    "LDLLCLR",
    "LDLLRR",
    "LDLSCL",
    "LDLLC",
    "LDLM",
    "OLDL",
]
