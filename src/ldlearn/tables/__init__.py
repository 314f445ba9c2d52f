"""Tables: files in and out, columns to features, label columns, models for tables and model files.

Public names are imported on first use: reading a file must not pay for scikit-learn.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldlearn.tables.ask import ask_table as ask_table
    from ldlearn.tables.comparison import Comparison as Comparison
    from ldlearn.tables.comparison import compare_tables as compare_tables
    from ldlearn.tables.description import describe_file as describe_file
    from ldlearn.tables.description import describe_model as describe_model
    from ldlearn.tables.description import write_card as write_card
    from ldlearn.tables.embedding import NamedEmbedding as NamedEmbedding
    from ldlearn.tables.embedding import import_embedding as import_embedding
    from ldlearn.tables.explanation import Explanation as Explanation
    from ldlearn.tables.explanation import explain_row as explain_row
    from ldlearn.tables.features import TablePreprocessing as TablePreprocessing
    from ldlearn.tables.labelled_table import PreparedTable as PreparedTable
    from ldlearn.tables.labelled_table import prepare_table as prepare_table
    from ldlearn.tables.model_files import load_model as load_model
    from ldlearn.tables.model_files import load_table_model as load_table_model
    from ldlearn.tables.model_files import save_model as save_model
    from ldlearn.tables.onnx_export import export_onnx as export_onnx
    from ldlearn.tables.suggestions import write_suggestions as write_suggestions
    from ldlearn.tables.table_files import Evaluation as Evaluation
    from ldlearn.tables.table_files import enhance_table as enhance_table
    from ldlearn.tables.table_files import evaluate_table as evaluate_table
    from ldlearn.tables.table_files import predict_table as predict_table
    from ldlearn.tables.table_fit import fit_and_check as fit_and_check
    from ldlearn.tables.table_fit import fit_table as fit_table
    from ldlearn.tables.table_model import TableModel as TableModel
    from ldlearn.tables.writing import WrittenTable as WrittenTable
else:
    from importlib import import_module

    _MODULES = {
        "ask": ("ask_table",),
        "comparison": ("Comparison", "compare_tables"),
        "description": ("describe_file", "describe_model", "write_card"),
        "embedding": ("NamedEmbedding", "import_embedding"),
        "explanation": ("Explanation", "explain_row"),
        "features": ("TablePreprocessing",),
        "labelled_table": ("PreparedTable", "prepare_table"),
        "model_files": ("load_model", "load_table_model", "save_model"),
        "onnx_export": ("export_onnx",),
        "suggestions": ("write_suggestions",),
        "table_files": ("Evaluation", "enhance_table", "evaluate_table", "predict_table"),
        "table_fit": ("fit_and_check", "fit_table"),
        "table_model": ("TableModel",),
        "writing": ("WrittenTable",),
    }
    _HOME = {name: module for module, names in _MODULES.items() for name in names}
    __all__ = sorted(_HOME)

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'ldlearn.tables' has no attribute {name!r}")
        return getattr(import_module(f"ldlearn.tables.{_HOME[name]}"), name)
