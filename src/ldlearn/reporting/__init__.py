"""Reports: the records of a run as one HTML page, Markdown, LaTeX and figures."""

# Part of this package before they had their own.
from ldlearn.paper import Finding, audit_paper  # noqa: F401
from ldlearn.reporting.report import Report, write_report

__all__ = ["write_report", "Report"]
