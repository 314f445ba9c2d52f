"""The error of the data layer, under the name it has had since 0.1.0."""

from ldlearn.errors import DatasetError

__all__ = ["DatasetError"]
