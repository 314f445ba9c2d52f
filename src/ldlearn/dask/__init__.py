"""Estimators on Dask collections, whose rows are in blocks on the workers of a cluster."""

from ldlearn._optional_imports import import_optional

import_optional("dask", "dask", "Collections")
import_optional("distributed", "dask", "Clusters")

from ldlearn.dask.cluster import BlockRunner, ClusterError, check_workers, connect
from ldlearn.dask.dldl import DaskDLDL
from ldlearn.dask.sa_bfgs import DaskSABFGS
from ldlearn.dask.vote_ldl import DaskVoteLDL

__all__ = [
    "DaskDLDL",
    "DaskSABFGS",
    "ClusterError",
    "BlockRunner",
    "DaskVoteLDL",
    "check_workers",
    "connect",
]
