"""Figures (Display classes) and the report of a run: one HTML page, Markdown, LaTeX."""

from ldlearn.exceptions import import_optional

import_optional("matplotlib", "plot", "Figures")

from ldlearn.reporting.convergence import ConvergenceDisplay
from ldlearn.reporting.cooccurrence import CooccurrenceDisplay
from ldlearn.reporting.critical_difference import CriticalDifferenceDisplay
from ldlearn.reporting.differences import DifferencesDisplay
from ldlearn.reporting.display import Display
from ldlearn.reporting.distribution_bars import BarsPanel, DistributionBarsDisplay
from ldlearn.reporting.feature_influence import FeatureInfluenceDisplay
from ldlearn.reporting.reliability import ReliabilityDisplay
from ldlearn.reporting.report import Report, write_report
from ldlearn.reporting.sensitivity import SensitivityDisplay
from ldlearn.reporting.three_labels import ArtificialPictureDisplay, TernaryDisplay
from ldlearn.reporting.time_memory import TimeMemoryDisplay

__all__ = [
    "Display", "DistributionBarsDisplay", "BarsPanel", "ArtificialPictureDisplay", "TernaryDisplay",
    "ReliabilityDisplay", "CooccurrenceDisplay", "FeatureInfluenceDisplay", "ConvergenceDisplay", "SensitivityDisplay",
    "DifferencesDisplay", "CriticalDifferenceDisplay", "TimeMemoryDisplay", "Report", "write_report",
]  # fmt: skip
