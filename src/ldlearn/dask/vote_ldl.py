"""VoteLDL on Dask collections: the likelihood of 0/1 labels, summed over rows in blocks."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ldlearn import joint
from ldlearn.base.parameters import estimator_dataclass
from ldlearn.core.negative_labels import PositiveLabels, mix, prediction_weight
from ldlearn.core.simplex import Array
from ldlearn.core.targets import check_labels_seen, positive_rates
from ldlearn.core.votes import label_counts
from ldlearn.dask.estimator import DaskJointModel, array_of_blocks
from ldlearn.dask.rows import BlockColumns, BlockObjective
from ldlearn.dask.training import BlockTargets, TrainingBlocks
from ldlearn.solvers import softmax_regression
from ldlearn.solvers.features import CentredColumns, Features
from ldlearn.solvers.vote_regression import Competing, Derivatives, Design, Labels, Point, minimize


@estimator_dataclass
class DaskVoteLDL(DaskJointModel, joint.VoteLDL):
    """`ldlearn.VoteLDL` on Dask arrays and data frames, their rows in blocks.

    The same problem, solved by the same steps: the result is that of `ldlearn.VoteLDL` on all rows in memory, to 1e-6,
    however they are divided into blocks. See `ldlearn.dask.DaskDLDL` for how it works. Every conjugate gradient step
    takes a round, so there are more rounds than in DLDL.

    Parameters
    ----------
    gamma, fit_intercept, feature_map, max_iter, tol, random_state
        Those of `ldlearn.VoteLDL`. ``feature_map`` is None or "rbf".
    client : distributed.Client, default=None
        The cluster to use; None takes the current one.

    Attributes
    ----------
    label_distributions_ : Dask array of shape (n_samples, n_labels)
        The recovered degrees, on the cluster.
    coef_, intercept_, lambda_, gamma_, objective_, objective_path_, n_iter_, converged_, feature_map_, label_names_
        Those of `ldlearn.VoteLDL`.
    n_rounds_ : int
        Number of rounds over all blocks.
    """

    _row_attributes: ClassVar[tuple[str, ...]] = ("label_distributions_",)

    def enhance(self, X: Any, y: Any, n_raters: Any = None) -> Any:
        """Recover the degrees of new rows from their logical labels, lazily.

        Parameters
        ----------
        X, y : Dask arrays or data frames
            As for `ldlearn.dask.DaskDLDL.enhance`.
        n_raters : None
            Only supported by `ldlearn.VoteLDL`.
        """
        if n_raters is not None:
            self._check_row_data("n_raters", n_raters, X)
        return super().enhance(X, y)

    def _fit(self, training: TrainingBlocks) -> None:  # type: ignore[override]
        self._fitted_with_raters, self._typical_offset = False, 0.0
        columns = BlockColumns(training, *self._map_features(training), self.fit_intercept)
        self.gamma_ = self._select_gamma(*columns.selection_rows()) if self.gamma is None else float(self.gamma)
        votes = _BlockVotes(columns, self.label_names_)
        design = _BlockDesign(columns, len(self.label_names_))
        fit = minimize(votes, design, l2=self.gamma_, tol=self.tol, max_iter=self.max_iter)
        self.coef_, self.intercept_, self.lambda_ = fit.coef.T, fit.intercept, float(np.exp(fit.log_rate))
        moments = training.runner.map_sum(BlockTargets.count_moments, training.targets, common=votes.rates)
        positive = PositiveLabels.of(*moments)
        self.kappa_, self.n_votes_ = positive.concentration(self.zeros, self.kappa), positive.per_row
        if self.kappa_:
            common = self._block_model(), positive.shares
            targets = training.runner.map_persist(_smoothed, columns.blocks, training.targets, common=common)
            W = softmax_regression.minimize(BlockObjective(columns, targets), l2=self.gamma_, start=None, tol=self.tol)
            self.coef_, self.intercept_ = W.coef.T, W.intercept
        self.objective_, self.objective_path_ = fit.loss, fit.path
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        degrees = training.runner.map_persist(_degrees, columns.blocks, training.targets, common=self._block_model())
        self.label_distributions_ = array_of_blocks(
            degrees, training.lengths, (len(self.label_names_),), training.dtype
        )


class _Parameters(NamedTuple):
    """The message to the blocks: the parameters at which the loss is evaluated."""

    columns: CentredColumns
    W: Array
    b: Array
    log_rate: float


class _BlockDesign(Design):
    """Scores stay in the blocks: here they are represented by their coefficients, and so are gradients in scores."""

    def apply(self, v: Any) -> tuple[Any, float]:
        """The coefficients, and ln(lambda)."""
        return v[:-1], float(v[-1])

    def adjoint(self, R: Any, rate: float) -> Any:
        """The gradient in the coefficients, which the blocks have computed, and in ln(lambda)."""
        return np.append(R, rate)


class _BlockVotes:
    """Competing labels in blocks, and the pseudo-row that `vote_regression` adds to the data."""

    def __init__(self, columns: BlockColumns, label_names: Any) -> None:
        self.columns, self.runner, self.targets = columns, columns.training.runner, columns.training.targets
        positives, counts = self.runner.map_sum(BlockTargets.count_positives, self.targets)
        check_labels_seen(label_names, counts)
        # As `Labels.total`, including the pseudo-row.
        self.c, self.total = len(counts), float(counts.max()) + 1.0
        self.rates = positive_rates(positives, counts)
        self.votes = -np.log1p(-self.rates)
        self.added = Competing(Labels(np.full((1, self.c), 0.5), None), 0.0)

    def constant(self) -> tuple[Any, float]:
        """The best intercepts and ln(lambda) without features."""
        return np.log(self.votes / self.votes.sum()), float(np.log(self.votes.sum()))

    def at(self, Z: Any, log_rate: float) -> Point:
        """The loss and its derivatives at given coefficients, in one round."""
        W, b = self._split(Z)
        parameters = _Parameters(self.columns.message(), W, b, log_rate)
        loss, gW, gb, rate_slope, curvature = self.runner.map_sum(
            _point, self.columns.blocks, self.targets, common=parameters
        )
        added = self.added.at(b[None], log_rate)
        own = added.derivatives()

        def hessian_times(dZ: Any, drate: float) -> tuple[Any, float]:
            direction = (*self._split(dZ), drate)
            hW, hb, h = self.runner.map_sum(
                _hessian_times, self.columns.blocks, self.targets, common=(parameters, direction)
            )
            extra, extra_rate = own.hessian_times(direction[1][None], drate)
            return self._joined(hW, hb, extra), float(h) + extra_rate

        mean = (curvature + own.mean_curvature) / self.total
        found = Derivatives(self._joined(gW, gb, own.slope), float(rate_slope) + own.rate_slope, hessian_times, mean)
        return Point(float(loss) + added.loss, lambda: found)

    def _split(self, Z: Any) -> tuple[Array, Array]:
        return Z[: -self.c].reshape(-1, self.c), Z[-self.c :]

    def _joined(self, gW: Array, gb: Array, added: Array) -> Any:
        """Gradient in the coefficients; the pseudo-row has centred features 0, so it only affects intercepts."""
        return np.concatenate([gW.ravel(), gb + added[0] * self.columns.fit_intercept])


# Functions of a block.


def _at(X: Array, targets: BlockTargets, parameters: _Parameters) -> tuple[Features, Competing, Point]:
    features = Features(X, block_of=parameters.columns)
    link = Competing(Labels(targets.T.astype(np.float64), label_counts(targets.weights, targets.observed)), 0.0)
    return features, link, link.at(features.times(parameters.W, parameters.b), parameters.log_rate)


def _point(X: Array, targets: BlockTargets, parameters: _Parameters) -> Sequence[Any]:
    features, link, point = _at(X, targets, parameters)
    found = point.derivatives()
    gradient = features.transpose_times(found.slope)
    # Back from a mean to a sum: means of blocks of different lengths do not add up.
    return [point.loss, *gradient, found.rate_slope, link.labels.total * found.mean_curvature]


def _hessian_times(
    X: Array, targets: BlockTargets, common: tuple[_Parameters, tuple[Array, Array, float]]
) -> Sequence[Any]:
    parameters, (W, b, rate) = common
    features, _, point = _at(X, targets, parameters)
    curved, curved_rate = point.derivatives().hessian_times(features.times(W, b), rate)
    return [*features.transpose_times(curved), curved_rate]


def _smoothed(X: Array, targets: BlockTargets, common: tuple[joint.VoteLDL, Array]) -> BlockTargets:
    """The targets of the predictor if ``zeros="less"``."""
    model, mean = common
    scores = np.asarray(X @ model.coef_.T + model.intercept_, dtype=np.float64)
    D = model._vote_shares(scores, targets.T, 0.0, targets.observed)
    return BlockTargets(mix(D, mean, prediction_weight(model.kappa_, model.n_votes_) ** 2), weights=targets.weights)


def _degrees(X: Array, targets: BlockTargets, model: joint.VoteLDL) -> Array:
    scores = np.asarray(X @ model.coef_.T + model.intercept_, dtype=np.float64)
    return np.ascontiguousarray(model._degrees(scores, targets.T, 0.0, targets.observed), dtype=X.dtype)
