"""Predictors that are a softmax of linear scores, of the features or of a map of them."""

from typing import Any, ClassVar

from ldlearn.core.graph import common_offsets, subtract_offsets
from ldlearn.core.kernels import make_feature_map
from ldlearn.core.simplex import Array
from ldlearn.solvers.linear_predictor import linear_scores, linear_softmax


class LinearPredictorMixin:
    """Adds the prediction ``softmax(W x + b)``, x being the features or a map of them.

    ``_fit`` sets ``coef_``, ``intercept_`` and ``feature_map_``.
    """

    learned: ClassVar = {
        "_offsets": "float (n_features) | None",
        "feature_map_": "any",
        "coef_": "float (n_labels, n_inputs)",
        "intercept_": "float (n_labels)",
    }

    feature_map: Any
    feature_map_: Any
    coef_: Array
    intercept_: Array
    _offsets: Array | None = None  # common to all rows, subtracted where distances are computed

    def _fit_feature_map(self, X: Any) -> tuple[Any, Any]:
        """The fitted feature map and the mapped features; None and X if there is no map."""
        if self.feature_map is None:
            return None, X
        if isinstance(self.feature_map, str):
            self._offsets = common_offsets(X)
        inputs = self._map_input(X)
        feature_map = make_feature_map(self.feature_map, inputs)
        return feature_map, feature_map.fit_transform(inputs)

    def _map_input(self, X: Any) -> Any:
        """Input of the feature map; without common offsets if the map is a kernel of distances."""
        if self._offsets is None or not isinstance(self.feature_map, str):
            return X
        return subtract_offsets(X, self._offsets)

    def _apply_feature_map(self, X: Any) -> Any:
        return X if self.feature_map_ is None else self.feature_map_.transform(self._map_input(X))

    def _scores(self, X: Any) -> Array:
        return linear_scores(self._apply_feature_map(X), self.coef_.T, self.intercept_)

    def _predict(self, X: Any) -> Array:
        return linear_softmax(self._apply_feature_map(X), self.coef_.T, self.intercept_)
