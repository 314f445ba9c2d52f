"""Geometry of label distributions and agreement of raters: pure functions on arrays."""

from ldlearn.core.agreement import Alpha, RaterVotes, krippendorff_alpha
from ldlearn.core.graph import knn_graph, laplacian
from ldlearn.core.logical import binarize
from ldlearn.core.raters import RaterAgreement, compare_raters
from ldlearn.core.simplex import log_softmax, normalize_rows, project_simplex, softmax
from ldlearn.core.targets import votes_to_degrees

__all__ = [
    "Alpha",
    "RaterAgreement",
    "RaterVotes",
    "binarize",
    "compare_raters",
    "knn_graph",
    "krippendorff_alpha",
    "laplacian",
    "log_softmax",
    "normalize_rows",
    "project_simplex",
    "softmax",
    "votes_to_degrees",
]
