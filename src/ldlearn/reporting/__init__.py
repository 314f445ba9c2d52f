"""Reports: the records of a run as one HTML page, Markdown, LaTeX and figures."""

from ldlearn.reporting.report import Report, write_report

__all__ = ["write_report", "Report"]
