"""Tables: files in and out, columns to features, label columns, models and their files."""

from ldlearn.tables.ask import ask_table, write_suggestions
from ldlearn.tables.comparison import TableComparison, compare_tables
from ldlearn.tables.description import (
    Explanation,
    describe_file,
    describe_model,
    explain_row,
    write_card,
)
from ldlearn.tables.embedding import NamedEmbedding, import_embedding
from ldlearn.tables.features import TablePreprocessing
from ldlearn.tables.files import Dialect, ReadingOptions
from ldlearn.tables.labelled_table import PreparedTable, prepare_table
from ldlearn.tables.model_files import load_model, load_table_model, save_model
from ldlearn.tables.onnx_export import export_onnx
from ldlearn.tables.options import ColumnOptions, WritingOptions
from ldlearn.tables.table_files import (
    Evaluation,
    enhance_table,
    evaluate_table,
    fit_enhance_table,
    predict_table,
)
from ldlearn.tables.table_fit import fit_table
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.writing import WrittenTable

__all__ = [
    "TableModel", "TablePreprocessing", "fit_table", "prepare_table", "PreparedTable",
    "predict_table", "enhance_table", "fit_enhance_table", "evaluate_table", "Evaluation",
    "WrittenTable", "save_model", "load_model", "load_table_model", "describe_file",
    "describe_model", "write_card", "export_onnx", "explain_row", "Explanation", "ask_table",
    "write_suggestions", "compare_tables", "TableComparison", "import_embedding", "NamedEmbedding",
    "ColumnOptions", "ReadingOptions", "Dialect", "WritingOptions",
]  # fmt: skip
