"""The same estimators on Dask collections: rows in blocks, on as many machines as there are workers."""

from ldlearn.errors import import_optional

import_optional("dask", "dask", "Collections")
import_optional("distributed", "dask", "Clusters")

from ldlearn.distributed.cluster import ClusterError, Rounds, check_workers, connect, versions_of_workers
from ldlearn.distributed.dldl import DLDL
from ldlearn.distributed.sa_bfgs import SABFGS
from ldlearn.distributed.vote_ldl import VoteLDL

__all__ = ["DLDL", "SABFGS", "ClusterError", "Rounds", "VoteLDL", "check_workers", "connect", "versions_of_workers"]
