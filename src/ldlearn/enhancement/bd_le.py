"""BD-LE: a bidirectional linear map between features and labels."""

from typing import Literal

import numpy as np
from scipy import linalg

from ldlearn.base import (
    Capabilities,
    Enhancer,
    NonNegative,
    OutputMap,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.graph import knn_graph, laplacian
from ldlearn.core.simplex import (
    Array,
    Mask,
    SampleWeight,
    row_weights,
    to_distributions,
)
from ldlearn.solvers.spd import solve_semidefinite


@estimator_dataclass
class BDLE(Enhancer):
    r"""Bidirectional label enhancement (BD-LE, a reconstruction).

    Assumes that one matrix W maps features to labels and, transposed, labels back to features;
    recovers the smooth linear fit of Y. The way back keeps information of the features which Y
    alone does not ask for. Use it when n is large and m moderate: no n x n array is made.

    **At its defaults it loses to equal shares** (`UniformLE`) where a 0 means a degree near 0: a
    softmax of scores between 0 and 1 gives no label less than 1/e of another's degree.
    ``normalize="l1"`` is nearer to such truths.

    .. math::

        \min_W\; |XW - Y|^2 + \alpha |Y W^\top - X|^2 + \lambda\, tr((XW)^\top G X W)

    where G is the Laplacian of the graph of nearest neighbours (`ldlearn.core.knn_graph`). With
    ``fit_intercept`` both maps have a free intercept, which is the same as centring X and Y.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the way back.
    lam : float, default=1e-2
        Weight of smoothness along the graph (lambda). 0 needs no graph.
    n_neighbors : int, default=20
        Neighbours of each row in the graph.
    sigma : float, "median" or "mean", default="median"
        Width of the similarity between neighbours.
    fit_intercept : bool, default=True
        Whether the maps have intercepts.
    normalize : {"softmax", "l1", "shift_l1"}, default="softmax"
        How scores become distributions.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        W. Columns of X may be of any scale; directions along which the objective does not change
        are left out.
    intercept_ : ndarray of shape (n_labels,)
    scores_ : ndarray of shape (n_samples, n_labels)
        ``X W + intercept``.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Setting the gradient to zero gives the Sylvester equation
    :math:`X^\top (I + \lambda G) X W + \alpha W Y^\top Y = (1 + \alpha) X^\top Y`. In the
    eigenvectors of :math:`Y^\top Y` it falls apart into c symmetric systems of size min(n, m).

    Departures from the paper: the full text was not at hand; the tied decoder and the graph term
    are reconstructed from the abstract and from memory, the defaults from the method's learning
    twin. Intercepts are an addition; ``fit_intercept=False`` omits them. Confidence: reconstructed.

    References
    ----------
    X. Liu, J. Zhu, Q. Zheng, Z. Li, R. Liu, J. Wang, "Bidirectional Loss Function for Label
    Enhancement and Distribution Learning", Knowledge-Based Systems 213, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import BDLE
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> BDLE(n_neighbors=2).fit_enhance(X, Y).round(2)
    array([[0.78, 0.22],
           [0.65, 0.35],
           [0.48, 0.52],
           [0.31, 0.69]])
    """

    learned = {
        "coef_": "float (n_labels, n_features)",
        "intercept_": "float (n_labels)",
        "scores_": "float (n_samples, n_labels)",
    }

    _test_params = (
        {"n_neighbors": 3},
        {"alpha": 0.5, "lam": 0.0, "fit_intercept": False, "normalize": "shift_l1"},
    )

    alpha: NonNegative = 1e-3
    lam: NonNegative = 1e-2
    n_neighbors: PositiveInt = 20
    sigma: Literal["median", "mean"] | Positive = "median"
    fit_intercept: bool = True
    normalize: OutputMap = "softmax"

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # In a graph a row given twice is its own neighbour.
        tags.weight_equals_repetition = self.lam == 0
        return tags

    def _fit(self, X: Array, Y: Mask, sample_weight: SampleWeight | None = None) -> None:
        w = row_weights(Y, sample_weight)
        mean_x = self.fit_intercept * np.average(X, axis=0, weights=w)
        mean_y = self.fit_intercept * np.average(Y, axis=0, weights=w)
        # Each intercept enters one squared error alone (the graph does not see it: G 1 = 0) and is
        # best where that error has mean zero, whatever W is: on centred data W is all that is left
        # to find.
        features = X - mean_x
        labels = Y - mean_y
        counted = w > 0
        # Both squared errors are sums over rows: a row that counts w times is one that is sqrt(w)
        # times as long.
        root = np.sqrt(w[counted, None])
        weighted = root * features[counted]
        smoothed = weighted
        if self.lam > 0:
            G = laplacian(knn_graph(X[counted], self.n_neighbors, self.sigma))
            rough = self.lam * (G @ features[counted])
            # The graph term counts no rows: what X' multiplies by the root again is divided by it
            # here.
            smoothed = weighted + rough / root  # (I + lambda G) X
        W = self._solve_sylvester(weighted, root * labels[counted], smoothed)
        self.coef_ = W.T
        self.intercept_ = mean_y - mean_x @ W
        self.scores_ = features @ W + mean_y
        self.label_distributions_ = to_distributions(self.scores_, self.normalize)

    def _solve_sylvester(self, X: Array, Y: Array, smoothed: Array) -> Array:
        """W of the Sylvester equation, solved in the row space of X, where W lies, if m > n."""
        if X.shape[1] > len(X):
            basis = linalg.qr(X.T, mode="economic")[0]
            return basis @ self._solve_sylvester(X @ basis, Y, smoothed @ basis)
        gram = X.T @ smoothed
        # Symmetric but for rounding, which the solver of semi-definite systems would not forgive.
        gram = (gram + gram.T) / 2.0
        # With Y'Y = V diag(values) V' the columns of W V do not see each other: column j has the
        # ridge alpha values_j.
        values, V = linalg.eigh(Y.T @ Y)
        # X'Y comes once from the way there and alpha times from the way back.
        targets = (1.0 + self.alpha) * (X.T @ (Y @ V))
        ridges = self.alpha * np.maximum(values, 0.0)
        columns = []
        for ridge, target in zip(ridges, targets.T, strict=True):
            columns.append(solve_semidefinite(gram + ridge * np.eye(len(gram)), target))
        return np.column_stack(columns) @ V.T
