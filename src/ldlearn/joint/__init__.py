"""Joint models: degrees for the training rows and a predictor, from one objective. One file per method."""

from ldlearn.joint.dldl import DLDL
from ldlearn.joint.dldl_path import dldl_path
from ldlearn.joint.l2 import L2

__all__ = ["DLDL", "L2", "dldl_path"]
