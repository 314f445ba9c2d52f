"""Figures (Display classes) and the report of a run: one HTML page, Markdown, LaTeX; the browse page."""

from ldlearn.exceptions import import_optional

import_optional("matplotlib", "plot", "Figures")

from ldlearn.reporting.browse import write_browse_page as write_browse_page
from ldlearn.reporting.display import Display as Display
from ldlearn.reporting.experiment_displays import ConvergenceDisplay as ConvergenceDisplay
from ldlearn.reporting.experiment_displays import CriticalDifferenceDisplay as CriticalDifferenceDisplay
from ldlearn.reporting.experiment_displays import DifferencesDisplay as DifferencesDisplay
from ldlearn.reporting.experiment_displays import SensitivityDisplay as SensitivityDisplay
from ldlearn.reporting.experiment_displays import TimeMemoryDisplay as TimeMemoryDisplay
from ldlearn.reporting.model_displays import ArtificialPictureDisplay as ArtificialPictureDisplay
from ldlearn.reporting.model_displays import BarsPanel as BarsPanel
from ldlearn.reporting.model_displays import CooccurrenceDisplay as CooccurrenceDisplay
from ldlearn.reporting.model_displays import DistributionBarsDisplay as DistributionBarsDisplay
from ldlearn.reporting.model_displays import FeatureInfluenceDisplay as FeatureInfluenceDisplay
from ldlearn.reporting.model_displays import ReliabilityDisplay as ReliabilityDisplay
from ldlearn.reporting.model_displays import TernaryDisplay as TernaryDisplay
from ldlearn.reporting.report import Report as Report
from ldlearn.reporting.report import write_report as write_report

__all__ = [name for name in dir() if name[0].isupper() or name.startswith("write_")]
