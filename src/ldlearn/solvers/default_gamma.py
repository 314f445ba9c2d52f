"""The weight of a linear predictor's penalty that suits features of any number and unit."""

from __future__ import annotations

import numpy as np

from ldlearn.solvers.features import Features


def default_gamma(features: Features) -> float:
    """0.03 times the sum of the features' variances: 0.03 m if they are standardised.

    A prior on W that lets the logits vary by the same amount whatever the number and the unit of the features. The
    objective sums over rows, and the best weight was found not to depend on their number.
    """
    gamma = float(0.03 * features.spread.sum() / features.total)
    if not np.isfinite(gamma):
        raise OverflowError("The squares of the features overflow.")
    return gamma
