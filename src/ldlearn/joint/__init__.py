"""Joint models: degrees of the training rows and a predictor. One file per method."""

from ldlearn.joint.count_ldl import CountLDL as CountLDL
from ldlearn.joint.dldl import DLDL as DLDL
from ldlearn.joint.dldl_grid import dldl_path as dldl_path
from ldlearn.joint.l2 import L2 as L2
from ldlearn.joint.vote_ldl import VoteLDL as VoteLDL
from ldlearn.joint.vote_shares import VoteShares as VoteShares

__all__ = [*(name for name in dir() if name[0].isupper()), "dldl_path"]
