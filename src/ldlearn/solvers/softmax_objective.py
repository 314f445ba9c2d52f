"""The objective of a softmax regression on rows in memory, computed by blocks and in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn.core.resources import sum_in_threads
from ldlearn.core.scaling import row_batches, to_dense
from ldlearn.core.simplex import Array
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.spd import reciprocal, squared_norm

MAX_HALVINGS = 30  # of a step in a line search
ROUNDING = 1e-15  # an increase of the loss by this, relative to its terms, is rounding


class SoftmaxObjective:
    """Divergence of the degrees D from the predictions, summed over the training rows.

    The solver uses nothing else of the rows, so they may be stored anywhere. ``at(W, b)`` is the
    objective at coefficients; ``logits`` are those of an `ObjectiveAt` at the same coefficients,
    and ``exact`` demands float64 throughout, for this one and for all that are derived from it.
    """

    has_many_labels = False  # whether second derivatives are approximated by `LabelCurvatures`
    degree_sums: Array  # column sums of D
    at: Callable[..., Any]

    def __init__(self, features: CentredMatrix) -> None:
        self.features = features
        self.n = features.total  # sum of the sample weights
        self.n_products = 0  # multiplications by X or its transpose so far


class ObjectiveAt:
    """The loss at some coefficients, without its penalty, and its derivatives: sums over rows.

    A subclass has the methods ``gradient()`` in W and b; ``mean_curvature()``, the mean over rows
    of ``diag(p) - p p'``, or `LabelCurvatures` if labels are many; and ``along(W, b)``, the
    objective at the coefficients plus t times a direction, as a function of t, with W = None if it
    stays.
    """

    objective: Any
    loss: float
    exact: bool  # computed in float64 throughout
    logits: Any  # state for a warm start, opaque to the solver
    sums: Array  # of the predictions of each label
    gradient: Callable[[], tuple[Array, Array]]
    mean_curvature: Callable[[], Any]
    along: Callable[..., Callable[[float], Any]]
    order: Literal["F", "C"]  # of a block of logits
    _block: Callable[..., Any]  # rows of X
    _predict: Callable[..., Array]  # the predictions of these rows

    def prediction_excess(self) -> Array:
        """Column sums of ``P - D``."""
        return self.sums - self.objective.degree_sums

    def hessian_product(self, W: Array, b: Array) -> tuple[Array, Array]:
        """The Hessian of the loss times a direction."""
        features = self.objective.features

        def block_product(rows: slice) -> tuple[Any, ...]:
            X = self._block(rows)
            P = self._predict(rows, X)
            U = features.block_linear_predictor(X, W, b, P.dtype, order=self.order)
            U -= np.einsum("ij,ij->i", P, U)[:, None]
            U *= P  # (diag(p) - p p') z
            U = features.apply_weights(U, rows)
            sums = U.sum(axis=0).astype(np.float64)
            return features.block_transpose_product(X, U), sums

        product, sums = sum_in_threads(block_product, self.objective.blocks)
        self.objective.n_products += 2
        return features.centre_product(product, sums)

    def balance(self, l2: float, goal: float) -> tuple[ObjectiveAt, Array, float]:
        """Change b so that predictions have the column sums of D, by damped Newton steps.

        Returns the objective there, the change of b, and what is added to the bound of the distance
        to the minimum: infinity if these sums are not reached.
        """
        at = self
        n = self.objective.n
        balanced = 1e-13 * n  # up to rounding
        total = np.zeros_like(self.prediction_excess())
        for _ in range(MAX_HALVINGS):
            excess = at.prediction_excess()
            if np.abs(excess).max() <= balanced:
                return at, total, 0.0
            values, U = np.linalg.eigh(at.mean_curvature())
            inverse = reciprocal(n * np.maximum(values, 0.0))
            step = -U @ (inverse * (excess @ U))
            highest = at.loss + ROUNDING * (abs(at.loss) + n)
            along = at.along(None, step)
            for t in 0.5 ** np.arange(MAX_HALVINGS):
                at = along(t)
                if at.loss <= highest:
                    break
            total += t * step
        return at, total, np.inf


class LocalObjective(SoftmaxObjective):
    """The divergence of degrees from predictions, as a function of coefficients.

    Parameters
    ----------
    features : CentredMatrix
    D : ndarray of shape (n_samples, n_labels)
        Rows sum to one; they are weighted by the sample weights of the features.
    """

    def __init__(self, features: CentredMatrix, D: Array) -> None:
        super().__init__(features)
        self.D = np.asfortranarray(features.apply_weights(D))  # a row with weight w sums to w
        self.degree_sums = self.D.sum(axis=0, dtype=np.float64)
        self.blocks = features.row_blocks(D.shape[1])

    def at(
        self,
        W: Array,
        b: Array,
        *,
        logits: Any = None,
        exact: bool = False,
    ) -> _LocalObjectiveAt:
        """The objective at coefficients; ``exact`` demands float64 throughout."""
        exact = exact or self.features.is_exact
        if logits is None:
            logits = self.logits(W, b, exact)
        Z = np.asarray(logits, dtype=_precision(exact), order="F")
        return _LocalObjectiveAt(self, Z, exact)

    def logits(self, W: Array, b: Array, exact: bool) -> Array:
        """Logits of all rows."""
        self.n_products += 1
        dtype = _precision(exact)
        return self.features.linear_predictor(W, b, exact=exact, dtype=dtype)


class _LocalObjectiveAt(ObjectiveAt):
    """Predictions of all rows are stored."""

    order = "F"

    def __init__(self, objective: LocalObjective, Z: Array, exact: bool) -> None:
        self.objective = objective
        self.Z = Z
        self.exact = exact
        self._block = objective.features.block
        self.P = np.empty_like(Z)
        self.loss, self.sums = sum_in_threads(self._fill_predictions, objective.blocks)

    def _fill_predictions(self, rows: slice) -> tuple[float, Array]:
        """Fill some rows of P; returns their loss and the sums of their predictions, in float64."""
        features = self.objective.features
        Z = self.Z[rows]
        P = self.P[rows]
        np.subtract(Z, Z.max(axis=1, keepdims=True), out=P)
        linear = np.einsum("ij,ij->i", self.objective.D[rows], P)
        normalisers = np.log(_softmax(P))[:, None]
        normalisers = features.apply_weights(normalisers, rows)
        loss = normalisers.sum(dtype=np.float64) - linear.sum(dtype=np.float64)
        sums = features.apply_weights(P, rows).sum(axis=0)
        return float(loss), sums.astype(np.float64)

    @property
    def logits(self) -> Array:
        return self.Z.astype(np.float64, copy=False)

    def _predict(self, rows: slice, X: Any) -> Array:
        return self.P[rows]

    def gradient(self) -> tuple[Array, Array]:
        features = self.objective.features

        def block_gradient(rows: slice) -> list[Array]:
            block = features.block(rows, self.exact)
            R = features.apply_weights(self.P[rows], rows) - self.objective.D[rows]
            return [features.block_transpose_product(block, R)]

        (product,) = sum_in_threads(block_gradient, self.objective.blocks)
        self.objective.n_products += 1
        return features.centre_product(product, self.prediction_excess())

    def mean_curvature(self) -> Array:
        outer = self.P.T @ self.objective.features.apply_weights(self.P)
        return (np.diag(self.sums) - outer) / self.objective.n

    def label_scatters(self) -> Iterable[Array]:
        features = self.objective.features
        # Weights rounded to single precision, summed in two ways, would make a nearly singular
        # matrix indefinite.
        P = self.P.astype(np.float64, copy=False)
        weights = features.apply_weights(P * (1.0 - P))
        return map(features.weighted_scatter, weights.T)

    def along(self, W: Array | None, b: Array) -> Callable[[float], _LocalObjectiveAt]:
        dZ = b if W is None else self.objective.logits(W, b, self.exact)
        dZ = dZ.astype(self.Z.dtype, copy=False)

        def at(t: float) -> _LocalObjectiveAt:
            Z = self.Z + dZ * float(t)
            return _LocalObjectiveAt(self.objective, Z, self.exact)

        return at


def _precision(exact: bool) -> Any:
    return np.float64 if exact else np.float32


_MAX_SWEEPS = 30  # of Sinkhorn's method
_SMALLEST_SUM = 1e-290  # of the predictions of a label; a ratio to it stays finite


class LabelCurvatures(NamedTuple):
    """Second derivatives of each label, without the terms quadratic in small predictions."""

    mean_predictions: Array  # (n_labels,)
    # (n_features, n_labels): centred features weighted by predictions; 0 without an intercept
    means: Array


class SparseObjective(SoftmaxObjective):
    """The divergence of degrees, stored for positive labels only, from predictions.

    Predictions are computed block by block, in single precision until a result is to be certified:
    products with X take most of the time, and half as much of it in single precision.

    Parameters
    ----------
    features : CentredMatrix
    D : csr_array of shape (n_samples, n_labels)
        Rows sum to one; they are weighted by the sample weights of the features. Every positive
        label is stored.
    """

    has_many_labels = True
    # Predictions in a block: enough that adding up the gradients of blocks costs little.
    block_entries = 2**20
    max_cached = 2**28  # predictions that are kept while a Newton system is solved
    # Largest excess of the predictions of a label, relative to the goal of a row.
    balance_accuracy = 0.01

    def __init__(self, features: CentredMatrix, D: sparse.csr_array) -> None:
        super().__init__(features)
        weights = features.apply_weights(np.ones((features.n, 1)))
        self.D = sparse.csr_array(D.multiply(weights))
        sums = np.asarray(self.D.sum(axis=0), dtype=np.float64)
        self.degree_sums = sums.ravel()
        # Single precision suffices for centred columns, not for columns far from zero or of extreme
        # scales.
        single = features.fit_intercept and features.fits_float32()
        self.precision: Any = _precision(not single)
        n, c = D.shape
        self.blocks = list(row_batches(n, c, self.block_entries))
        self.keeps_predictions = n * c <= self.max_cached

    @cached_property
    def target_products(self) -> Array:
        """``(X - mean)' D``."""

        def block_product(rows: slice) -> list[Array]:
            block = self.features.block(rows, exact=True)
            return [to_dense(self.D[rows].T @ block).T]

        (product,) = sum_in_threads(block_product, self.blocks)
        return self.features.centre_product(product, self.degree_sums)[0]

    def at(
        self,
        W: Array,
        b: Array,
        *,
        logits: Any = None,
        exact: bool = False,
    ) -> _SparseObjectiveAt:
        """The objective at coefficients; ``exact`` demands float64 throughout."""
        return _SparseObjectiveAt(self, W, b, exact or self.precision == np.float64)


class _SparseObjectiveAt(ObjectiveAt):
    """Loss and gradient come from one pass over the rows."""

    order = "C"

    def __init__(
        self,
        objective: SparseObjective,
        W: Array,
        b: Array,
        exact: bool,
    ) -> None:
        self.objective = objective
        self.W = W
        self.b = b
        self.exact = exact
        self.predictions: dict[int, Array] = {}  # of blocks, by their first row
        D = objective.D
        features = objective.features
        log_predictions = np.empty(D.nnz)

        def block_predictions(rows: slice) -> tuple[Any, ...]:
            X = self._block(rows, exact)
            Z = self._logits(X)
            pointers = D.indptr[rows.start : rows.stop + 1]
            entries = slice(pointers[0], pointers[-1])
            row = np.repeat(np.arange(len(Z)), np.diff(pointers))
            chosen = Z[row, D.indices[entries]]
            normalisers = np.log(_softmax(Z))
            log_predictions[entries] = chosen - normalisers[row]
            if objective.keeps_predictions and Z.dtype == objective.precision:
                self.predictions[rows.start] = Z
            P = features.apply_weights(Z, rows)
            sums = P.sum(axis=0).astype(np.float64)
            return features.block_transpose_product(X, P), sums

        self._product, self.sums = sum_in_threads(block_predictions, objective.blocks)
        # The loss and the D-step need them at the stored labels only.
        stored = (log_predictions, D.indices, D.indptr)
        self.logits = sparse.csr_array(stored, shape=D.shape)
        self.loss = -float(D.data @ log_predictions)
        objective.n_products += 2

    def _block(self, rows: slice, exact: bool = False) -> Any:
        dtype = np.float64 if exact else self.objective.precision
        return self.objective.features.block(rows).astype(dtype, copy=False)

    def _logits(self, X: Any) -> Array:
        """Logits of a block of X, in its precision, minus the largest of each row."""
        Z = self.objective.features.block_linear_predictor(
            X, self.W, self.b, X.dtype, order=self.order
        )
        Z -= Z.max(axis=1, keepdims=True)
        return Z

    def gradient(self) -> tuple[Array, Array]:
        features = self.objective.features
        predicted, _ = features.centre_product(self._product, self.sums)
        gb = self.prediction_excess() * features.fit_intercept
        return predicted - self.objective.target_products, gb

    def _predict(self, rows: slice, X: Any = None) -> Array:
        """Predictions of a block; cached if those of all rows take little memory."""
        P = self.predictions.get(rows.start)
        if P is None:
            P = self._logits(self._block(rows) if X is None else X)
            _softmax(P)
            if self.objective.keeps_predictions:
                self.predictions[rows.start] = P
        return P

    def mean_curvature(self) -> LabelCurvatures:
        features = self.objective.features
        predicted, _ = features.centre_product(self._product, self.sums)
        means = predicted * reciprocal(self.sums) * features.fit_intercept
        return LabelCurvatures(self.sums / self.objective.n, means)

    def along(self, W: Array | None, b: Array) -> Callable[[float], _SparseObjectiveAt]:
        # Rarely needed once a direction is found, and as large as the next ones.
        self.predictions.clear()

        def at(t: float) -> _SparseObjectiveAt:
            at_W = self.W if W is None else self.W + t * W
            return self.objective.at(at_W, self.b + t * b, exact=self.exact)

        return at

    def balance(self, l2: float, goal: float) -> tuple[_SparseObjectiveAt, Array, float]:
        """Change b so that predictions have nearly the column sums of D.

        A remaining excess, at most a part e of a label's predictions, is mixed away:
        ``Q = (1 - e) P + e E``, E being the same distribution in every row, has the column sums of
        D and, X being centred, ``X'Q = (1 - e) X'P``. Its entropy is at least 1 - e times P's.
        """
        at = self
        shift = np.zeros_like(at.b)
        degree_sums = self.objective.degree_sums
        present = degree_sums > 0
        accuracy = self.objective.balance_accuracy * goal / self.objective.n
        for _ in range(_MAX_SWEEPS):
            excess = at.prediction_excess() / np.maximum(at.sums, _SMALLEST_SUM)
            part = float(excess[present].max())
            if part <= accuracy:
                break
            step = at.balancing_shift(0.1 * accuracy)
            at = at.along(None, step)(1.0)
            shift += step
        part = min(max(part, 0.0), 1.0)
        gW, gb = at.gradient()
        entropy = at.loss - np.vdot(gW, at.W) - gb @ at.b
        mixed = (1.0 - part) * gW - part * self.objective.target_products
        change = squared_norm(mixed) - squared_norm(gW)
        # The gap has a term <gb, b>, which is 0 only in balance. As gb sums to 0, the mean of b can
        # be subtracted first.
        imbalance = gb @ (at.b - at.b.mean())
        return at, shift, part * entropy + change / (4.0 * l2) + imbalance

    def balancing_shift(self, accuracy: float) -> Array:
        """The change of b after which predictions have the column sums of D.

        Sinkhorn's method: each sweep multiplies the predictions of a label by the factor that its
        sum lacks. That needs no exponentials and no product with X; single precision suffices,
        because only the change of the sums is computed in it.
        """
        max_factor = 1e6  # of one call, for single precision; the next call continues from there
        present = self.objective.degree_sums > 0
        factors = np.ones_like(self.sums)
        for _ in range(_MAX_SWEEPS):
            before = factors
            sums = self.sums - self._decrease_by_normalisation(factors)
            missing = self.objective.degree_sums / np.maximum(sums, _SMALLEST_SUM)
            clipped = np.clip(missing, 1.0 / max_factor, max_factor)
            factors = np.where(present, clipped, 1.0)
            if np.abs(factors / before - 1.0).max() <= accuracy:
                break
        return np.log(factors)

    def _decrease_by_normalisation(self, factors: Array) -> Array:
        """Decrease of the sum of each label, before its own factor, by normalising rows again."""
        weights = self.objective.features.sample_weight
        change = (factors - 1.0).astype(self.objective.precision)

        def block_decrease(rows: slice) -> list[Array]:
            P = self._predict(rows)
            added = P @ change
            lost = added / (1.0 + added)
            if weights is not None:
                lost *= weights[rows].astype(P.dtype)
            return [(lost @ P).astype(np.float64)]

        return sum_in_threads(block_decrease, self.objective.blocks)[0]


def _softmax(Z: Array) -> Array:
    """Turn rows of non-positive logits into predictions in place; returns the normalisers."""
    np.exp(Z, out=Z)
    totals = Z.sum(axis=1)
    Z /= totals[:, None]
    return totals
