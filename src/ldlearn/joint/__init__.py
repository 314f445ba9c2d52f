"""Joint models: degrees for the training rows and a predictor, from one objective. One file per method."""

from ldlearn.joint.dldl import DLDL

__all__ = ["DLDL"]
