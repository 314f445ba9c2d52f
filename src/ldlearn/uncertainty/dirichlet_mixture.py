"""Mixtures of Dirichlet distributions: what is known about the degrees of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, gammaln

from ldlearn.core.scaling import row_batches
from ldlearn.core.simplex import Array, softmax

Bounds = tuple[Array, Array]
_BISECTIONS = 30
_NEGLIGIBLE = 0.02  # weight, relative to the tail, of components that move no quantile


@dataclass(frozen=True)
class DirichletMixture:
    """For each row a mixture of Dirichlet distributions of its degrees.

    Attributes
    ----------
    log_weights : ndarray of shape (n_samples, n_components)
    parameters : ndarray of shape (n_samples, n_components, n_labels)
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> prior = DirichletMixture(np.zeros((1, 1)), np.array([[[1.0, 1.0]]]))
    >>> posterior = prior.given(np.array([[3.0, 0.0]]))
    >>> posterior.mean()
    array([[0.8, 0.2]])
    >>> lower, upper = posterior.interval(0.9)
    >>> lower.round(3), upper.round(3)
    (array([[0.473, 0.013]]), array([[0.987, 0.527]]))
    """

    log_weights: Array
    parameters: Array

    @property
    def weights(self) -> Array:
        """Probabilities of the components, of shape (n_samples, n_components)."""
        return softmax(self.log_weights)

    @property
    def _sizes(self) -> Array:
        return self.parameters.sum(axis=2)

    def log_likelihoods(self, counts: Array) -> Array:
        """Log-probability of votes, in their order, under each component."""
        sizes = self._sizes
        totals = counts.sum(axis=1)[:, None]
        likelihoods = gammaln(sizes) - gammaln(totals + sizes)
        rows, labels = np.nonzero(counts)
        parameters = self.parameters[rows, :, labels]
        by_label = gammaln(counts[rows, labels][:, None] + parameters) - gammaln(parameters)
        np.add.at(likelihoods, rows, by_label)
        return likelihoods

    def given(self, counts: Array) -> DirichletMixture:
        """The posterior, given the votes of each row."""
        log_weights = self.log_weights + self.log_likelihoods(counts)
        return DirichletMixture(log_weights, self.parameters + counts[:, None, :])

    def _component_means(self) -> Array:
        return self.parameters / self._sizes[:, :, None]

    def mean(self) -> Array:
        """Expected degrees."""
        return np.einsum("ik,ikj->ij", self.weights, self._component_means())

    def interval(self, coverage: float) -> Bounds:
        """Central credible intervals of the degrees: quantiles of a mixture of Beta distributions.

        Bisection, with an error of at most 1e-9, is rounded outwards: degrees may be smaller.
        """
        lower = np.empty(self.parameters[:, 0].shape)
        upper = np.empty(lower.shape)
        tail = (1.0 - coverage) / 2.0
        for rows in row_batches(len(lower), self.parameters[0].size):
            part = DirichletMixture(self.log_weights[rows], self.parameters[rows])
            lower[rows], _ = part._bracket_quantile(tail)
            _, upper[rows] = part._bracket_quantile(1.0 - tail)
        return lower, upper

    def _bracket_quantile(self, level: float) -> Bounds:
        """Values just below and just above the quantile of each degree."""
        all_weights = self.weights
        tail = min(level, 1.0 - level)
        used = all_weights > _NEGLIGIBLE * tail / all_weights.shape[1]
        row, component = np.nonzero(used)
        weights = all_weights[used][:, None]
        a = self.parameters[row, component]
        b = self._sizes[used][:, None] - a
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        total = np.add.reduceat(weights, starts)
        low = np.zeros((len(starts), a.shape[1]))
        high = np.ones_like(low)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2.0
            below = np.add.reduceat(weights * betainc(a, b, middle[row]), starts) < level * total
            low = np.where(below, middle, low)
            high = np.where(below, high, middle)
        return low, high

    def covariance(self) -> Array:
        """Covariance of the degrees of each row, of shape (n_samples, n_labels, n_labels)."""
        means = self._component_means()
        weights = self.weights / (self._sizes + 1.0)
        products = np.einsum("ik,ikj,ikl->ijl", weights * self._sizes, means, means)
        labels = np.arange(means.shape[2])
        products[:, labels, labels] += np.einsum("ik,ikj->ij", weights, means)
        mean = self.mean()
        return products - mean[:, :, None] * mean[:, None, :]

    def gain_of_a_vote(self) -> Array:
        """By how much one more vote is expected to reduce the variance of the degrees of each row.

        The variance is that of all degrees of the row, summed. A vote for label j moves the
        expected degrees by the j-th column of the covariance over the expected degree of j.
        """
        mean = self.mean()
        squared_moves = np.sum(self.covariance() ** 2, axis=2)
        return np.sum(squared_moves / np.maximum(mean, 1e-300), axis=1)
