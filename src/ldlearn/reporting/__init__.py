"""Figures (Display classes), the report of a run, and the browse page."""

from ldlearn._optional_imports import import_optional

import_optional("matplotlib", "plot", "Figures")

from ldlearn.reporting.browse import write_browse_page as write_browse_page
from ldlearn.reporting.display import Display as Display
from ldlearn.reporting.experiment_displays import *  # noqa: F403
from ldlearn.reporting.model_displays import *  # noqa: F403
from ldlearn.reporting.report import Report as Report
from ldlearn.reporting.report import write_report as write_report

__all__ = [name for name in dir() if name[0].isupper() or name.startswith("write_")]
