"""Models for tables with named columns, and files to keep and share them."""

from ldlearn.models.errors import ModelFileError, TableError
from ldlearn.models.files import load_model, save_model
from ldlearn.models.table_model import TableModel

__all__ = ["TableModel", "save_model", "load_model", "ModelFileError", "TableError"]
