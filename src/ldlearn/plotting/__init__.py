"""Pictures: Display classes over fitted estimators, distributions or records of experiments."""

from ldlearn.errors import import_optional

import_optional("matplotlib", "plot", "Pictures")

from ldlearn.plotting.artificial import ArtificialPictureDisplay
from ldlearn.plotting.convergence import ConvergenceDisplay
from ldlearn.plotting.cooccurrence import CooccurrenceDisplay
from ldlearn.plotting.critical_difference import CriticalDifferenceDisplay
from ldlearn.plotting.differences import DifferencesDisplay
from ldlearn.plotting.display import Display
from ldlearn.plotting.distribution_bars import BarsPanel, DistributionBarsDisplay
from ldlearn.plotting.feature_influence import FeatureInfluenceDisplay
from ldlearn.plotting.reliability import ReliabilityDisplay
from ldlearn.plotting.sensitivity import SensitivityDisplay
from ldlearn.plotting.ternary import TernaryDisplay
from ldlearn.plotting.time_memory import TimeMemoryDisplay

__all__ = [
    "Display", "DistributionBarsDisplay", "BarsPanel", "ArtificialPictureDisplay", "TernaryDisplay",
    "ReliabilityDisplay", "CooccurrenceDisplay", "FeatureInfluenceDisplay", "ConvergenceDisplay", "SensitivityDisplay",
    "DifferencesDisplay", "CriticalDifferenceDisplay", "TimeMemoryDisplay",
]  # fmt: skip
