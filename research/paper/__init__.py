"""The tables of the DLDL paper: reading, audit, and comparison with a run."""

from research.paper.audit import audit_paper, print_findings
from research.paper.comparison import paired_tables
from research.paper.finding import Finding
from research.paper.printed_tables import printed_cells
from research.paper.ranks import ranked_tables

__all__ = [
    "audit_paper",
    "print_findings",
    "Finding",
    "printed_cells",
    "ranked_tables",
    "paired_tables",
]
