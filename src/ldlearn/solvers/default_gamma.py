"""Default penalty of a linear predictor, independent of the number and the units of the features."""

import numpy as np

from ldlearn.solvers.features import Features


def default_gamma(features: Features) -> float:
    """0.03 times the sum of the variances of the features: 0.03 n_features if they are standardised.

    Corresponds to a prior on W under which the variance of the logits does not depend on the number and the units of
    the features. The objective is a sum over rows; empirically the best penalty does not depend on their number.
    """
    gamma = float(0.03 * features.spread.sum() / features.total)
    if not np.isfinite(gamma):
        raise OverflowError("The squares of the features overflow.")
    return gamma
