"""Models for tables with named columns, and files to keep and share them."""

from ldlearn.errors import ModelFileError, TableError
from ldlearn.models.card import write_card
from ldlearn.models.comparison import Comparison, compare_tables
from ldlearn.models.description import describe_file, describe_model
from ldlearn.models.files import load_model, load_table_model, save_model
from ldlearn.models.onnx_export import export_onnx
from ldlearn.models.table_files import Evaluation, enhance_table, evaluate_table, predict_table
from ldlearn.models.table_fit import fit_and_check, fit_table
from ldlearn.models.table_model import TableModel
from ldlearn.models.writing import WrittenTable

# Part of this package before they had their own.
from ldlearn.preprocessing import NamedEmbedding, PreparedTable, import_embedding, prepare_table  # noqa: F401

__all__ = [
    "TableModel",
    "fit_and_check",
    "save_model",
    "load_model",
    "load_table_model",
    "describe_model",
    "describe_file",
    "write_card",
    "export_onnx",
    "fit_table",
    "enhance_table",
    "predict_table",
    "WrittenTable",
    "evaluate_table",
    "Evaluation",
    "compare_tables",
    "Comparison",
    "ModelFileError",
    "TableError",
]
