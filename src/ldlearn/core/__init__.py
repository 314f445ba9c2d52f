"""Geometry of label distributions: pure functions on arrays."""

from ldlearn.core.graph import knn_graph, laplacian
from ldlearn.core.logical import binarize
from ldlearn.core.simplex import log_softmax, normalize_rows, project_simplex, softmax
from ldlearn.core.targets import votes_to_degrees

__all__ = [
    "binarize",
    "knn_graph",
    "laplacian",
    "log_softmax",
    "normalize_rows",
    "project_simplex",
    "softmax",
    "votes_to_degrees",
]
