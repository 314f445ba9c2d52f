"""Metrics between true and predicted label distributions, and of predictions against 0/1 labels."""

from ldlearn.metrics.against_labels import (
    average_precision,
    positive_mass,
    ranking_loss,
    top_label_error,
    vote_likelihood,
)
from ldlearn.metrics.conventions import CONVENTIONS
from ldlearn.metrics.distributions import (
    canberra,
    chebyshev,
    clark,
    cosine,
    euclidean,
    fidelity,
    intersection,
    jensen_shannon,
    kl_divergence,
    mean_absolute_error,
    mean_squared_error,
    sorensen,
    squared_chi2,
    squared_chord,
    wave_hedges,
)
from ldlearn.metrics.labels import error_probability, threshold_agreement, threshold_error, zero_one_loss
from ldlearn.metrics.ordinal import expected_label_absolute_error, expected_label_squared_error
from ldlearn.metrics.rankings import kendall, spearman
from ldlearn.metrics.registry import (
    HEADLINE_METRICS,
    LABEL_METRICS,
    METRICS,
    USUAL_METRICS,
    Metric,
    get_metric,
    per_row,
    score_all,
)
from ldlearn.metrics.scorers import SCORERS, get_scorer

__all__ = [
    "CONVENTIONS",
    "METRICS",
    "LABEL_METRICS",
    "USUAL_METRICS",
    "HEADLINE_METRICS",
    "Metric",
    "SCORERS",
    "get_metric",
    "get_scorer",
    "per_row",
    "score_all",
    "chebyshev",
    "clark",
    "canberra",
    "kl_divergence",
    "cosine",
    "intersection",
    "euclidean",
    "sorensen",
    "squared_chi2",
    "fidelity",
    "squared_chord",
    "wave_hedges",
    "jensen_shannon",
    "mean_squared_error",
    "mean_absolute_error",
    "zero_one_loss",
    "error_probability",
    "threshold_error",
    "threshold_agreement",
    "expected_label_absolute_error",
    "expected_label_squared_error",
    "spearman",
    "kendall",
    "average_precision",
    "ranking_loss",
    "top_label_error",
    "positive_mass",
    "vote_likelihood",
]
