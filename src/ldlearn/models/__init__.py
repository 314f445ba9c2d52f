"""Models for tables with named columns, and files to keep and share them."""

from ldlearn.errors import ModelFileError, TableError
from ldlearn.models.files import load_model, save_model
from ldlearn.models.onnx_export import export_onnx
from ldlearn.models.quality_checks import fit_and_check
from ldlearn.models.table_model import TableModel

__all__ = ["TableModel", "fit_and_check", "save_model", "load_model", "export_onnx", "ModelFileError", "TableError"]
