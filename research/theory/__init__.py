"""The bounds of the DLDL paper, as printed and corrected: diagnostics, not guarantees."""

from research.theory.bounds import (
    CorrectedBound,
    PaperBound,
    corrected_bound,
    free_rows_complexity,
    paper_bound,
)
from research.theory.recovery import (
    RecoveryConditions,
    recovery_conditions,
    row_error,
    row_minimiser,
)

__all__ = [
    "CorrectedBound",
    "PaperBound",
    "RecoveryConditions",
    "corrected_bound",
    "free_rows_complexity",
    "paper_bound",
    "recovery_conditions",
    "row_error",
    "row_minimiser",
]
