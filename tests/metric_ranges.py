"""Lowest and highest value of every metric for two distributions over c labels."""

import math

_HIGHEST = {
    "clark": math.sqrt,
    "canberra": float,
    "wave_hedges": float,
    "kl_divergence": lambda c: math.inf,
    "cross_entropy": lambda c: math.inf,
    "euclidean": lambda c: math.sqrt(2),
    "squared_chi2": lambda c: 2.0,
    "squared_chord": lambda c: 2.0,
    "jensen_shannon": lambda c: math.log(2),
    "mean_squared_error": lambda c: 2.0 / c,
    "mean_absolute_error": lambda c: 2.0 / c,
    "expected_label_absolute_error": lambda c: c - 1.0,
    "expected_label_squared_error": lambda c: (c - 1.0) ** 2,
    "manhattan": lambda c: 2.0,
    "wasserstein": lambda c: c - 1.0,
    "cad": lambda c: c - 1.0,
    "qfd2": lambda c: 2.0 * (c - 1.0) / c,
    "cjs": lambda c: (c - 1.0) * math.log(2) / 2,
    "vote_likelihood": lambda c: 0.0,
}
_LOWEST = {"spearman": -1.0, "kendall": -1.0, "vote_likelihood": -math.inf}


def value_range(name, c):
    """Lowest and highest value; 0 and 1 unless listed above."""
    return _LOWEST.get(name, 0.0), _HIGHEST.get(name, lambda c: 1.0)(c)
