"""The same estimators on Dask collections: rows in blocks, on as many machines as there are workers."""

from ldlearn.exceptions import import_optional

import_optional("dask", "dask", "Collections")
import_optional("distributed", "dask", "Clusters")

from ldlearn.dask.cluster import ClusterError, Rounds, check_workers, connect, versions_of_workers
from ldlearn.dask.dldl import DLDL
from ldlearn.dask.sa_bfgs import SABFGS
from ldlearn.dask.vote_ldl import VoteLDL

__all__ = ["DLDL", "SABFGS", "ClusterError", "Rounds", "VoteLDL", "check_workers", "connect", "versions_of_workers"]
