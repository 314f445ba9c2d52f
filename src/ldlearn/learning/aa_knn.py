"""AA-kNN: the mean distribution of the nearest training rows."""

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from ldlearn.base import (
    Capabilities,
    Learner,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.scaling import row_batches
from ldlearn.core.simplex import Array, Indices
from ldlearn.exceptions import InputError


@estimator_dataclass
class AAKNN(Learner):
    r"""Mean distribution of the k nearest neighbours (AA-kNN).

    Assumes that similar rows have similar distributions, and nothing else. A good first choice
    where the features have a meaningful distance and there are many rows; scale the features first.

    .. math:: p(x) = \frac{1}{k} \sum_{i \in N_k(x)} d_i

    Parameters
    ----------
    n_neighbors : int, default=10
        k. The published code has 4, which loses to the mean distribution where features say little;
        later papers use 5 or 10, or choose among 3 to 11.
    metric : {"euclidean", "manhattan", "angle"}, default="euclidean"
        Distance that defines the neighbours :math:`N_k(x)`. ``"angle"`` is the arc cosine of the
        cosine similarity.

    Attributes
    ----------
    training_distributions_ : ndarray of shape (n_samples, n_labels)
        The training distributions, which is all there is to learn.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Among rows at the same distance those that come first in the training set are taken.

    Departures from the paper: ten neighbours instead of four by default. Confidence: certain.

    References
    ----------
    X. Geng, "Label Distribution Learning", IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> from ldlearn.learning import AAKNN
    >>> X = [[0.0], [1.0], [5.0]]
    >>> D = [[0.8, 0.2], [0.6, 0.4], [0.0, 1.0]]
    >>> AAKNN(n_neighbors=2).fit(X, D).predict([[0.2], [4.0]])
    array([[0.7, 0.3],
           [0.3, 0.7]])
    """

    learned = {
        "_mean": "float (n_features)",
        "_rows": "float (n_samples, n_features) | csr (n_samples, n_features)",
        "_index": "NearestNeighbors",
        "training_distributions_": "float (n_samples, n_labels)",
    }

    _test_params = (
        {"n_neighbors": 1},
        {"n_neighbors": 3, "metric": "manhattan"},
        {"n_neighbors": 3, "metric": "angle"},
    )

    n_neighbors: PositiveInt = 10
    metric: Literal["euclidean", "angle", "manhattan"] = "euclidean"

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, D: Array) -> None:
        n = len(D)
        if self.n_neighbors > n:
            raise InputError(
                f"AAKNN averages n_neighbors={self.n_neighbors} training rows but got "
                f"n_samples={n}; lower n_neighbors or add rows."
            )
        # Angles are measured at the origin, and a centred sparse row would not stay sparse.
        self._mean = np.zeros(X.shape[1])
        if self.metric != "angle" and not sparse.issparse(X):
            self._mean = X.mean(axis=0, dtype=np.float64)
        self._rows = self._centred(X)
        # The angle is a monotone function of the cosine distance, so both have the same neighbours.
        metric = "cosine" if self.metric == "angle" else self.metric
        # One neighbour more than needed shows whether the last one is tied.
        self._index = NearestNeighbors(n_neighbors=min(self.n_neighbors + 1, n), metric=metric)
        self._index.fit(self._rows)
        self.training_distributions_ = D

    def _predict(self, X: Any) -> Array:
        X = self._centred(X)
        distances, indices = self._index.kneighbors(X)
        chosen = indices[:, : self.n_neighbors]
        if distances.shape[1] > self.n_neighbors:
            radius = distances[:, self.n_neighbors - 1]
            tolerance = 1e-12 * radius
            if self.metric == "angle":
                tolerance = np.maximum(tolerance, 1e-12)
            if self.metric == "euclidean":
                # Computed from inner products, which lose digits relative to the lengths.
                tolerance += 1e-7 * row_norms(X)
            tied = np.flatnonzero(distances[:, self.n_neighbors] - radius <= tolerance)
            if len(tied):
                chosen[tied] = self._break_ties(X[tied], radius[tied], tolerance[tied])
        return self.training_distributions_[chosen].mean(axis=1)

    def _centred(self, X: Any) -> Any:
        """Rows minus the mean: rounding errors of distances do not grow with an offset."""
        if sparse.issparse(X):
            # A matrix takes 32-bit indices if they suffice, unlike an array; Manhattan distances
            # are implemented for no others.
            parts = (X.data.astype(np.float64), X.indices, X.indptr)
            return sparse.csr_array(sparse.csr_matrix(parts, shape=X.shape))
        return X - self._mean

    def _break_ties(self, X: Any, radius: Array, tolerance: Array) -> Indices:
        """The k nearest rows of queries with several k-th neighbours, at distance ``radius``."""
        chosen = np.empty((len(radius), self.n_neighbors), dtype=np.intp)
        for block in row_batches(len(radius), self._rows.shape[0]):
            distances = pairwise_distances(X[block], self._rows, metric=self._index.metric)
            away = distances - radius[block, None]
            # Strictly nearer rows, then rows at the radius, then the rest; each group in the order
            # of the rows.
            away[np.abs(away) <= tolerance[block, None]] = 0.0
            order = np.argsort(np.sign(away), axis=1, kind="stable")
            chosen[block] = order[:, : self.n_neighbors]
        return chosen
