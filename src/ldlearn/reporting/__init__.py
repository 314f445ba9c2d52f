"""Reports: the records of a run as one HTML page, Markdown, LaTeX and figures; and the audit of the paper."""

from ldlearn.reporting.audit import audit_paper
from ldlearn.reporting.findings import Finding
from ldlearn.reporting.report import Report, write_report

__all__ = ["write_report", "Report", "audit_paper", "Finding"]
