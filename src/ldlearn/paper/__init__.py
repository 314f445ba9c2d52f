"""What the DLDL paper prints: its tables, read, audited, and set beside a run."""

from ldlearn.paper.audit import audit_paper
from ldlearn.paper.comparison import paired_tables
from ldlearn.paper.finding import Finding
from ldlearn.paper.printed_tables import printed_cells
from ldlearn.paper.ranks import ranked_tables

__all__ = ["audit_paper", "Finding", "printed_cells", "ranked_tables", "paired_tables"]
