"""Metrics between true and predicted label distributions, and of predictions against 0/1 labels.

Distributions must be finite and not negative, and their rows must sum to one, up to rounding of
printed shares. The `convention` says how zeros are treated. "exact": 0/0 and 0 ln 0 count as 0.
"pyldl": both matrices are clipped to [epsilon, 1] by the metrics that divide or take logarithms.
"dldl": the demo of the DLDL paper for predictions, which adds machine epsilon to both.
"dldl-recovery": its demo for recovered distributions, which adds it once to the truth and twice to
the result. Metrics against 0/1 labels ignore it; there NaN is a label that was not observed.
"""

from ldlearn.metrics.against_labels import *  # noqa: F403
from ldlearn.metrics.distributions import *  # noqa: F403
from ldlearn.metrics.inputs import CONVENTIONS
from ldlearn.metrics.labels import *  # noqa: F403
from ldlearn.metrics.ordinal import *  # noqa: F403
from ldlearn.metrics.registry import (
    HEADLINE_METRICS,
    LABEL_HEADLINE,
    LABEL_METRICS,
    METRICS,
    SCORERS,
    USUAL_METRICS,
    Metric,
    get_metric,
    get_scorer,
    per_row,
    score_all,
)

__all__ = [
    "CONVENTIONS",
    "HEADLINE_METRICS",
    "LABEL_HEADLINE",
    "LABEL_METRICS",
    "METRICS",
    "SCORERS",
    "USUAL_METRICS",
    "Metric",
    "get_metric",
    "get_scorer",
    "per_row",
    "score_all",
    *METRICS,
    *LABEL_METRICS,
]
