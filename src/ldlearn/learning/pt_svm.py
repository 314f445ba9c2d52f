"""PT-SVM: support vector machines between pairs of labels, coupled to distributions."""

from itertools import combinations
from math import isqrt
from typing import Any, Literal

import numpy as np
from scipy.special import expit
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from ldlearn.base import (
    AtLeastTwo,
    Capabilities,
    Learner,
    Positive,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.kernels import rbf_blocks
from ldlearn.core.logical import draw_labels
from ldlearn.core.simplex import (
    Array,
    Indices,
    SampleWeight,
    clip_degrees,
    row_weights,
)
from ldlearn.solvers.pairwise_coupling import couple_pairs, platt_sigmoid


@estimator_dataclass
class PTSVM(Learner):
    r"""Support vector machines between pairs of labels, with coupled probabilities (PT-SVM).

    Single-label examples are drawn from the distributions; a kernel machine separates each pair of
    labels, a sigmoid turns its score into a probability (Platt), and pairwise coupling makes a
    distribution of these. The same row is drawn with several labels, so the classes overlap by
    construction and most rows become support vectors. It is here for comparison: try `AAKNN` or
    `AABP` first, which are as flexible and far faster.

    .. math::

        \min_p \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2, \qquad
        r_{ij}(x) = \frac{1}{1 + \exp(A_{ij} f_{ij}(x) + B_{ij})}, \qquad
        f_{ij}(x) = \sum_l \beta_l\, e^{-\gamma |x - x_l|^2} + b_{ij}

    Parameters
    ----------
    C : float, default=1.0
        Price of an example on the wrong side of its margin.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the kernel: 1 / (sum of the features' variances), 1 / m (the published form; the
        same for standardised features), or a number.
    n_draws : int, default=None
        Single-label examples to draw; None draws n c, the published number. The time grows about
        with its square.
    cv : int, default=5
        Folds whose held-out scores the sigmoids are fitted to. At least 2.
    tol : float, default=1e-3
        Tolerance of the machines.
    cache_size : float, default=200
        Megabytes of kernel cache for each machine that is being trained. Where the kernel of all
        rows fits, about 2,500 of them by default, it is evaluated once for all machines.
    n_jobs : int, default=None
        Threads that train machines at the same time; None is one, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws and of the folds.

    Attributes
    ----------
    drawn_labels_ : ndarray
        Labels that were drawn at least once; the others get the baseline 1e-9.
    pairs_ : list of tuple of int
        The pairs (i, j) of drawn labels, i < j.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Rows that matter to any machine.
    dual_coef_ : ndarray of shape (n_support, len(pairs_))
        :math:`\beta` of each machine.
    intercept_ : ndarray of shape (len(pairs_),)
    sigmoids_ : ndarray of shape (len(pairs_), 2)
        A and B of each pair.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Heavy by nature: (cv + 1) c (c - 1) / 2 machines on up to 2 n different examples each, and the
    time of one grows with the square of that. Five labels take some ten seconds at n = 2,000 and
    more than a minute at n = 5,000. ``n_draws``, ``n_jobs`` and a smaller ``cv`` help, in this
    order. Repeated draws of the same example are one example with a weight, which changes nothing
    but the time.

    Departures from the paper: ``gamma="scale"`` by default (``"auto"`` is the published form);
    columns follow the labels, where the published code leaves them in the order in which the labels
    were first drawn; coupling by the linear system instead of an iteration; degrees raised to at
    least 1e-9. Confidence: certain.

    References
    ----------
    X. Geng, "Label Distribution Learning", IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import PTSVM
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> D = np.hstack([0.5 - 0.4 * X, 0.5 + 0.4 * X])
    >>> P = PTSVM(random_state=0).fit(X, D).predict([[-0.8], [0.8]])
    >>> bool(P[0, 0] > 0.6 > 0.4 > P[1, 0])
    True
    """

    learned = {
        "_gamma": "float",
        "drawn_labels_": "int (n_drawn)",
        "pairs_": "any",
        "sigmoids_": "float (n_pairs, 2)",
        "support_vectors_": "float (n_vectors, n_features)",
        "dual_coef_": "float (n_vectors, n_pairs)",
        "intercept_": "float (n_pairs)",
    }

    float32_tolerance = 1e-2
    _test_params = ({"random_state": 0, "cv": 2, "n_draws": 60},)

    C: Positive = 1.0
    gamma: Literal["scale", "auto"] | Positive = "scale"
    n_draws: PositiveInt | None = None
    cv: AtLeastTwo = 5
    tol: Positive = 1e-3
    cache_size: Positive = 200
    n_jobs: int | None = None
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # Draws depend on the order of rows and labels, and are another sample for other rows.
        tags.order_invariant = False
        tags.label_invariant = False
        tags.weight_equals_repetition = False
        return tags

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        mean = np.average(X, axis=0, weights=sample_weight)
        D = D * row_weights(D, sample_weight)[:, None]  # a row is drawn as often as it counts
        X = X - mean  # distances stay, and LIBSVM's lose no digits to an offset
        rng = check_random_state(self.random_state)
        counts = draw_labels(D, self.n_draws or D.size, rng)
        self._gamma = self._find_gamma(X, sample_weight)
        self.drawn_labels_ = np.flatnonzero(counts.any(axis=0))
        self.pairs_ = list(combinations(self.drawn_labels_.tolist(), 2))
        # Platt's sigmoid is fitted to scores of held-out draws; those of training draws are too
        # large.
        held_out = [_split_draws(counts[:, pair], self.cv, rng) for pair in self.pairs_]
        dual_coef, intercept = self._train_machines(X, counts, held_out)
        decisions = self._decisions(X, X, dual_coef[:, :, 1:], intercept[:, 1:])
        self.sigmoids_ = np.zeros((len(held_out), 2))
        for p, folds in enumerate(held_out):
            fold, row = np.nonzero(folds.any(axis=2))
            self.sigmoids_[p] = platt_sigmoid(decisions[row, p, fold], *folds[fold, row].T)
        support = dual_coef[:, :, 0].any(axis=1)
        self.support_vectors_ = X[support] + mean
        self.dual_coef_ = dual_coef[support, :, 0]
        self.intercept_ = intercept[:, 0]

    def _find_gamma(self, X: Array, weights: SampleWeight | None) -> float:
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        if self.gamma == "scale":
            return 1.0 / (np.average(X**2, axis=0, weights=weights).sum() or X.shape[1])
        return self.gamma

    def _train_machines(
        self,
        X: Array,
        counts: Indices,
        held_out: list[Indices],
    ) -> tuple[Array, Array]:
        """For each pair the machine on all its examples, then one per fold on the rest.

        Returns coefficients (n, pairs, cv + 1) and intercepts (pairs, cv + 1).
        """
        kernel = self._kernel_matrix(X)
        train = delayed(self._train_machine)
        jobs = []
        for pair, folds in zip(self.pairs_, held_out, strict=True):
            jobs.append(train(X, kernel, counts[:, pair]))
            jobs += [train(X, kernel, counts[:, pair] - fold) for fold in folds]
        # On few rows scikit-learn would check rows and parameters, which are ours, for longer than
        # it fits.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            machines = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        shape = (len(self.pairs_), self.cv + 1)
        betas = np.reshape([beta for beta, _ in machines], (*shape, len(X)))
        return betas.transpose(2, 0, 1), np.reshape([b for _, b in machines], shape)

    def _kernel_matrix(self, X: Array) -> Array | None:
        """Between all rows; None if a machine with two examples of each row has too large a one."""
        if 8 * (2 * len(X)) ** 2 > self.cache_size * 2**20:
            return None
        return rbf_kernel(X.astype(np.float64), gamma=self._gamma)

    def _train_machine(
        self,
        X: Array,
        kernel: Array | None,
        counts: Indices,
    ) -> tuple[Array, float]:
        """Coefficients of the rows and intercept of a machine between two columns of counts."""
        beta = np.zeros(len(X))
        first, second = np.any(counts, axis=0)
        if not (first and second):
            return beta, float(first) - float(second)  # LIBSVM's answer to a single class
        column, row = np.nonzero(counts.T)
        # Repeated draws are one example with a larger C: the same dual problem, whose box they
        # share. The seed is for probabilities, which are not used; without one SVC takes it from
        # numpy's global generator.
        machine = SVC(
            C=self.C,
            kernel="rbf" if kernel is None else "precomputed",
            gamma=self._gamma,
            shrinking=False,
            tol=self.tol,
            cache_size=self.cache_size,
            random_state=0,
        )
        examples = X[row] if kernel is None else kernel[np.ix_(row, row)]
        machine.fit(examples, 1 - column, sample_weight=counts[row, column].astype(np.float64))
        # A row may have been drawn with both labels: its two coefficients add up.
        np.add.at(beta, row[machine.support_], machine.dual_coef_[0])
        return beta, machine.intercept_[0]

    def _decisions(self, X: Array, centres: Array, dual_coef: Array, intercept: Array) -> Array:
        """Scores of all machines, whose kernel is evaluated once: shape (n, *intercept.shape)."""
        scores = np.zeros((len(X), *intercept.shape))
        if len(centres):
            width = (2.0 * self._gamma) ** -0.5
            for block, kernel in rbf_blocks(X, centres, width=width):
                scores[block] = np.tensordot(kernel, dual_coef, axes=1)
        return scores + intercept

    def _predict(self, X: Array) -> Array:
        decisions = self._decisions(X, self.support_vectors_, self.dual_coef_, self.intercept_)
        slopes, offsets = self.sigmoids_.T
        probabilities = expit(-(decisions * slopes + offsets)).clip(1e-7, 1.0 - 1e-7)
        # From the number of pairs, so that a model file bounds the memory.
        n_drawn = (1 + isqrt(1 + 8 * probabilities.shape[1])) // 2
        first, second = np.triu_indices(n_drawn, k=1)
        R = np.zeros((len(X), n_drawn, n_drawn))
        R[:, first, second] = probabilities
        R[:, second, first] = 1.0 - probabilities
        P = np.zeros((len(X), len(self.label_names_)))
        P[:, self.drawn_labels_] = couple_pairs(R)
        return clip_degrees(P)


def _split_draws(counts: Indices, n_folds: int, rng: Any) -> Indices:
    """Draws dealt out at random to folds of equal size: (n_folds, n, 2), summing to ``counts``."""
    draws = np.repeat(np.arange(counts.size), counts.ravel())
    fold = rng.permutation(len(draws)) % n_folds
    dealt = np.zeros((n_folds, counts.size), dtype=np.int64)
    np.add.at(dealt, (fold, draws), 1)
    return dealt.reshape(n_folds, *counts.shape)
