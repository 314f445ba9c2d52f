"""Label distribution learning: predict degrees from features. One file per method."""

from ldlearn.learning.aa_bp import AABP as AABP
from ldlearn.learning.aa_knn import AAKNN as AAKNN
from ldlearn.learning.baselines import MeanLDL as MeanLDL
from ldlearn.learning.boosted_ldl import BoostedLDL as BoostedLDL
from ldlearn.learning.cdl_ld import CDLLD as CDLLD
from ldlearn.learning.cpnn import CPNN as CPNN
from ldlearn.learning.df_ldl import DFLDL as DFLDL
from ldlearn.learning.incom_ldl import IncomLDL as IncomLDL
from ldlearn.learning.lalot import LALOT as LALOT
from ldlearn.learning.ld_svr import LDSVR as LDSVR
from ldlearn.learning.ldl_dpa import LDLDPA as LDLDPA
from ldlearn.learning.ldl_forest import LDLForest as LDLForest
from ldlearn.learning.ldl_hr import LDLHR as LDLHR
from ldlearn.learning.ldl_lclr import LDLLCLR as LDLLCLR
from ldlearn.learning.ldl_lrr import LDLLRR as LDLLRR
from ldlearn.learning.ldl_scl import LDLSCL as LDLSCL
from ldlearn.learning.ldllc import LDLLC as LDLLC
from ldlearn.learning.ldlm import LDLM as LDLM
from ldlearn.learning.ldlsf import LDLSF as LDLSF
from ldlearn.learning.lse_ldl import LSELDL as LSELDL
from ldlearn.learning.mlp_ldl import MLPLDL as MLPLDL
from ldlearn.learning.oldl import OLDL as OLDL
from ldlearn.learning.pt_bayes import PTBayes as PTBayes
from ldlearn.learning.pt_svm import PTSVM as PTSVM
from ldlearn.learning.sa_bfgs import SABFGS as SABFGS
from ldlearn.learning.sa_iis import SAIIS as SAIIS
from ldlearn.learning.sce_ldl import SCELDL as SCELDL
from ldlearn.learning.win_ldl import WInLDL as WInLDL

__all__ = [name for name in dir() if name[0].isupper()]
