"""Joint models: degrees for the training rows and a predictor, from one objective. One file per
method."""

from ldlearn.joint.dldl import DLDL, dldl_path
from ldlearn.joint.l2 import L2
from ldlearn.joint.vote_ldl import VoteLDL

__all__ = ["DLDL", "L2", "VoteLDL", "dldl_path"]
