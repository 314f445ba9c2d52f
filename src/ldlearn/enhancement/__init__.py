"""Label enhancement: degrees for the training rows from their 0/1 labels. One file per method."""

from ldlearn.enhancement.floors import PriorLE, ProjectedPriorLE, UniformLE

__all__ = ["PriorLE", "ProjectedPriorLE", "UniformLE"]
