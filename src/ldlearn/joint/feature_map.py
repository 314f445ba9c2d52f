"""Feature maps of linear predictors: none, Nystroem features of a Gaussian kernel, or a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from ldlearn.core.neighbors import clone_for_arrays, common_offsets, subtract_offsets
from ldlearn.uncertainty.intervals import IntervalMixin


class FeatureMapMixin(IntervalMixin):
    """A joint model whose predictor is linear in mapped features."""

    feature_map: Any
    random_state: Any
    _offsets: NDArray[np.float64] | None = None  # common to all rows, subtracted where distances are computed

    def _fit_feature_map(self, X: Any) -> tuple[Any, Any]:
        """The fitted feature map and the mapped features; None and X if there is no map."""
        if isinstance(self.feature_map, str):
            self._offsets = common_offsets(X)
        feature_map = make_feature_map(self.feature_map, self._map_input(X), self.random_state)
        return feature_map, X if feature_map is None else feature_map.fit_transform(self._map_input(X))

    def _map_input(self, X: Any) -> Any:
        """Input of the feature map; without common offsets if the map is a kernel of distances."""
        if self._offsets is None or not isinstance(self.feature_map, str):
            return X
        return subtract_offsets(X, self._offsets)

    def _mapped(self, X: Any) -> Any:
        return X if self.feature_map_ is None else self.feature_map_.transform(self._map_input(X))


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
