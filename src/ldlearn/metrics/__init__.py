"""Metrics between true and predicted label distributions, and of predictions against 0/1 labels.

Distributions must be finite and not negative, and their rows must sum to one, up to rounding of printed shares. The
`convention` says how zeros are treated. "exact": 0/0 and 0 ln 0 count as 0. "pyldl": both matrices are clipped to
[epsilon, 1] by the metrics that divide or take logarithms. "dldl": the demo of the DLDL paper for predictions, which
adds machine epsilon to both. "dldl-recovery": its demo for recovered distributions, which adds it once to the truth
and twice to the result. Metrics against 0/1 labels ignore it; there NaN is a label that was not observed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ldlearn.metrics.against_labels import (
    average_precision,
    positive_mass,
    ranking_loss,
    top_label_error,
    vote_likelihood,
)
from ldlearn.metrics.distributions import (
    canberra,
    chebyshev,
    clark,
    cosine,
    delta_ldl,
    euclidean,
    fidelity,
    intersection,
    jensen_shannon,
    kl_divergence,
    manhattan,
    mean_absolute_error,
    mean_squared_error,
    po_jsd,
    soft_micro_f1,
    sorensen,
    squared_chi2,
    squared_chord,
    wave_hedges,
)
from ldlearn.metrics.inputs import CONVENTIONS
from ldlearn.metrics.labels import (
    error_probability,
    kendall,
    spearman,
    threshold_agreement,
    threshold_error,
    zero_one_loss,
)
from ldlearn.metrics.ordinal import (
    cad,
    cjs,
    expected_label_absolute_error,
    expected_label_squared_error,
    qfd2,
    wasserstein,
)
from ldlearn.metrics.registry import (
    HEADLINE_METRICS,
    LABEL_HEADLINE,
    LABEL_METRICS,
    METRICS,
    USUAL_METRICS,
    Metric,
    get_metric,
    get_scorer,
    per_row,
    score_all,
)

SCORERS: Mapping[str, Any] = MappingProxyType({name: get_scorer(name) for name in METRICS})

__all__ = ["CONVENTIONS", "METRICS", "LABEL_METRICS", "USUAL_METRICS", "HEADLINE_METRICS", "LABEL_HEADLINE"]
__all__ += ["Metric", "SCORERS", "get_metric", "get_scorer", "per_row", "score_all"]
__all__ += ["chebyshev", "clark", "canberra", "kl_divergence", "cosine", "intersection", "euclidean", "sorensen"]
__all__ += ["squared_chi2", "fidelity", "squared_chord", "wave_hedges", "jensen_shannon"]
__all__ += ["mean_squared_error", "mean_absolute_error", "manhattan", "po_jsd", "soft_micro_f1", "delta_ldl"]
__all__ += ["zero_one_loss", "error_probability", "threshold_error", "threshold_agreement"]
__all__ += ["expected_label_absolute_error", "expected_label_squared_error", "spearman", "kendall"]
__all__ += ["wasserstein", "cad", "qfd2", "cjs"]
__all__ += ["average_precision", "ranking_loss", "top_label_error", "positive_mass", "vote_likelihood"]
