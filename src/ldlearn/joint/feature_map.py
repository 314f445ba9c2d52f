"""What a linear predictor works on: the features, Nystroem features of a Gaussian kernel, or a transformer's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from ldlearn.core.neighbors import clone_for_arrays


def make_feature_map(feature_map: Any, X: Any, random_state: Any) -> Any:
    """The transformer that ``feature_map`` asks for, not fitted yet; None for the features themselves."""
    if feature_map is None:
        return None
    if not isinstance(feature_map, str):
        return clone_for_arrays(feature_map)
    rng = check_random_state(random_state)
    n = X.shape[0]
    sample = X[np.sort(rng.permutation(n)[:1000])]
    # The mean distance between different rows of the sample; where all rows are equal any width will do.
    width = float(euclidean_distances(sample).sum()) / max(sample.shape[0] * (sample.shape[0] - 1), 1) or 1.0
    return Nystroem(gamma=1.0 / width**2, n_components=min(500, n), random_state=rng.randint(2**31 - 1))
