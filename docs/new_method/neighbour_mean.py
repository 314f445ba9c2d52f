"""NeighbourMeanLE: a row's degrees are the labels of rows like it."""

from typing import Any, ClassVar

from sklearn.neighbors import NearestNeighbors

from ldlearn.base import Capabilities, Enhancer, PositiveInt, estimator_dataclass
from ldlearn.core.simplex import Mask, normalize_rows


@estimator_dataclass
class NeighbourMeanLE(Enhancer):
    r"""Mean of the nearest rows' labels, restricted to the row's own.

    Assumes that degrees are zero on negative labels, and that rows with similar features have
    similar degrees. Use it as a quick first look.

    .. math:: d_{ij} = \frac{y_{ij} s_{ij}}{\sum_l y_{il} s_{il}}, \qquad
        s_i = \frac{y_i}{|y_i|} + \sum_{l \in N(i)} \frac{y_l}{|y_l|}

    Parameters
    ----------
    n_neighbors : int, default=20
        Size of N(i), the nearest rows of row i; fewer if there are not so many.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        D, the recovered degrees.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: there is no paper; this is an example. Confidence: certain.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0]])
    >>> Y = np.array([[1, 1], [1, 0], [1, 0], [0, 1]])
    >>> NeighbourMeanLE(n_neighbors=2).fit_enhance(X, Y)[0].round(3)
    array([0.833, 0.167])
    """

    _test_params: ClassVar[tuple[dict[str, Any], ...]] = ({"n_neighbors": 2},)

    n_neighbors: PositiveInt = 20

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.keeps_zeros = True  # negative labels get degree 0
        return tags

    def _fit(self, X: Any, Y: Mask) -> None:
        shares = normalize_rows(Y.astype(float))
        k = min(self.n_neighbors, len(X) - 1)
        if k < 1:
            self.label_distributions_ = shares
            return
        nearest = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
        sums = shares + shares[nearest].sum(axis=1)
        self.label_distributions_ = normalize_rows(sums * Y)
