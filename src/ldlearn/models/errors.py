"""The errors of tables and model files, under the names they have had since 0.1.0."""

from ldlearn.errors import ModelFileError, TableError

__all__ = ["ModelFileError", "TableError"]
