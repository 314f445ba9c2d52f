"""Reports: the records of a run as one HTML page, Markdown, LaTeX and figures; and the audit of the paper."""

from typing import TYPE_CHECKING

from ldlearn.reporting.audit import audit_paper
from ldlearn.reporting.findings import Finding

if TYPE_CHECKING:
    from ldlearn.reporting.report import Report, write_report
else:

    def __getattr__(name: str) -> object:
        """What draws, and therefore needs matplotlib, is imported when it is asked for: the audit does without."""
        if name not in ("Report", "write_report"):
            raise AttributeError(f"module 'ldlearn.reporting' has no attribute {name!r}")
        from ldlearn.reporting import report

        return getattr(report, name)


__all__ = ["write_report", "Report", "audit_paper", "Finding"]
