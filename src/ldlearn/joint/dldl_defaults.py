"""The rules behind DLDL's defaults; docs/defaults.md has the measurements they come from."""

from __future__ import annotations

import numpy as np

from ldlearn.core.simplex import Mask
from ldlearn.solvers.features import Features

_LARGEST_BETA = 20.0


def default_beta(Y: Mask) -> float:
    """``0.6 (1/r - 1)^2 exp(10 s)``, at most 20: r the share of positive entries, s that of rows with a single one.

    A positive label says more where positives are rare, and where rows often have just one: there the labels were
    chosen, not swept up by stray votes, and equal shares are a good guess. Where most labels are positive they say
    little, and the model must be free to tell them apart.
    """
    share = float(np.mean(Y))
    single = float(np.mean(Y.sum(axis=1) == 1))
    return float(min(0.6 * (1.0 / share - 1.0) ** 2 * np.exp(10.0 * single), _LARGEST_BETA))


def default_gamma(features: Features) -> float:
    """0.03 times the sum of the features' variances: 0.03 m if they are standardised.

    A prior on W that lets the logits vary by the same amount whatever the number and the unit of the features. The
    objective sums over rows, and the best weight was found not to depend on their number.
    """
    return float(0.03 * features.spread.sum() / features.n)
