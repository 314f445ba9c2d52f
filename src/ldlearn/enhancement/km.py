"""KM: the kernel method, degrees from the distance to a label's centre in feature space."""

from typing import Literal

import numpy as np

from ldlearn.base import (
    Capabilities,
    Enhancer,
    OutputMap,
    Positive,
    estimator_dataclass,
)
from ldlearn.core.kernels import mean_distance, rbf_blocks
from ldlearn.core.simplex import (
    Array,
    Mask,
    SampleWeight,
    positive_or_one,
    row_weights,
    to_distributions,
)


@estimator_dataclass
class KM(Enhancer):
    r"""Kernel method (KM): the nearer a row is to a label's centre, the higher is the degree.

    Assumes that the rows which carry a label form a ball in the feature space of a Gaussian kernel,
    and that the degree falls linearly from its centre to its rim. Labels do not inform each other
    and negative labels get nothing. Use it as a baseline; its degrees hardly differ from equal
    shares when rows are far apart.

    .. math::

        f_{il} = y_{il} \left( 1 - \sqrt{\frac{s^2_{il}}{r_l^2 + \delta}} \right), \qquad
        s^2_{il} = \Big| \phi(x_i) - \frac{1}{n_l} \sum_{k : y_{kl} = 1} \phi(x_k) \Big|^2, \qquad
        r_l^2 = \max_{i : y_{il} = 1} s^2_{il}

    where :math:`\phi` is the feature map of :math:`\exp(-|x - z|^2 / 2 \sigma^2)`.

    Parameters
    ----------
    sigma : "mean" or float, default="mean"
        Width of the kernel; the mean distance between rows, or a number.
    delta : float, default=1e-7
        Keeps the row on the rim from getting exactly 0; a larger number flattens the degrees.
    normalize : {"l1", "softmax", "shift_l1"}, default="l1"
        How scores become distributions; only ``"l1"`` keeps negative labels at degree 0.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, n_labels)
        The memberships f.
    radii_ : ndarray of shape (n_labels,)
        The radii r; 0 for a label without positive rows.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Time grows with n^2, but the n x n kernel is summed in blocks and never kept. A row with no
    membership in any of its labels gets equal shares.

    Departures from the paper: None known. The radius is taken over the rows that carry the label;
    some code takes it over all rows. Confidence: inferred (the output map from published numbers).

    References
    ----------
    X. Jiang, Z. Yi, J. C. Lv, "Fuzzy SVM with a new fuzzy membership function", Neural Computing
    and Applications 15(3), 2006.
    N. Xu, A. Tao, X. Geng, "Label Enhancement for Label Distribution Learning", IJCAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import KM
    >>> X = np.array([[0.0], [1.0], [2.0], [8.0]])
    >>> Y = np.array([[1, 0], [1, 1], [1, 1], [1, 1]])
    >>> KM().fit_enhance(X, Y).round(2)
    array([[1.  , 0.  ],
           [0.6 , 0.4 ],
           [0.55, 0.45],
           [0.43, 0.57]])
    """

    learned = {
        "radii_": "float (n_labels)",
        "scores_": "float (n_samples, n_labels)",
    }

    _test_params = ({}, {"sigma": 1.5, "delta": 0.1, "normalize": "softmax"})

    sigma: Literal["mean"] | Positive = "mean"
    delta: Positive = 1e-7
    normalize: OutputMap = "l1"

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # Only ``normalize="l1"`` keeps the degree of negative labels at 0.
        tags.keeps_zeros = self.normalize == "l1"
        return tags

    def _fit(self, X: Array, Y: Mask, sample_weight: SampleWeight | None = None) -> None:
        counted = Y * row_weights(Y, sample_weight)[:, None]
        squares = self._squared_distances_to_centres(X, counted, sample_weight)
        radii = np.where(counted, squares, 0.0).max(axis=0)
        self.radii_ = np.sqrt(radii)
        # delta is for labels of a single row, which is its own centre: 0 / 0 must be no distance.
        self.scores_ = np.where(Y, 1.0 - np.sqrt(squares / (radii + self.delta)), 0.0)
        # On the rim of all of its labels a row has no membership left to share out.
        outside = self.scores_.max(axis=1, keepdims=True) <= 1e-9
        scores = np.where(outside, Y, self.scores_)
        self.label_distributions_ = to_distributions(scores, self.normalize)

    def _squared_distances_to_centres(
        self,
        X: Array,
        Y: Array,
        weights: SampleWeight | None,
    ) -> Array:
        """``s^2 = 1 - 2 (K Y) / n_l + diag(Y' K Y) / n_l^2``: only sums over the kernel are needed.

        The entries of Y are the weights of the rows that carry a label.
        """
        width = mean_distance(X, weights) if isinstance(self.sigma, str) else self.sigma
        KY = np.vstack([block @ Y for _, block in rbf_blocks(X, width=width)])
        # A label without rows has no centre, and its distances are not used.
        counts = positive_or_one(Y.sum(axis=0))
        within = np.einsum("il,il->l", Y, KY) / counts**2
        return np.maximum(1.0 - 2.0 * KY / counts + within, 0.0)
