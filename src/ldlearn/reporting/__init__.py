"""Figures (Display classes) and the report of a run: one HTML page, Markdown, LaTeX; the browse page."""

from ldlearn.exceptions import import_optional

import_optional("matplotlib", "plot", "Figures")

from ldlearn.reporting.browse import write_browse_page
from ldlearn.reporting.display import Display
from ldlearn.reporting.experiment_displays import (
    ConvergenceDisplay,
    CriticalDifferenceDisplay,
    DifferencesDisplay,
    SensitivityDisplay,
    TimeMemoryDisplay,
)
from ldlearn.reporting.model_displays import (
    ArtificialPictureDisplay,
    BarsPanel,
    CooccurrenceDisplay,
    DistributionBarsDisplay,
    FeatureInfluenceDisplay,
    ReliabilityDisplay,
    TernaryDisplay,
)
from ldlearn.reporting.report import Report, write_report

__all__ = [
    "Display", "DistributionBarsDisplay", "BarsPanel", "ArtificialPictureDisplay", "TernaryDisplay",
    "ReliabilityDisplay", "CooccurrenceDisplay", "FeatureInfluenceDisplay", "ConvergenceDisplay", "SensitivityDisplay",
    "DifferencesDisplay", "CriticalDifferenceDisplay", "TimeMemoryDisplay", "Report", "write_report",
    "write_browse_page",
]  # fmt: skip
