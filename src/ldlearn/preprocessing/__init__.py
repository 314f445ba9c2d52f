"""Tables made ready for an estimator: what each column is, its labels, its numbers."""

from ldlearn.preprocessing.embedding import NamedEmbedding, import_embedding
from ldlearn.preprocessing.features import TablePreprocessing
from ldlearn.preprocessing.prepared_table import PreparedTable, prepare_table

__all__ = ["prepare_table", "PreparedTable", "TablePreprocessing", "import_embedding", "NamedEmbedding"]
