"""VoteLDL on Dask collections: the likelihood of 0/1 labels, summed over rows in blocks."""

from typing import Any

import numpy as np

from ldlearn import joint
from ldlearn.base.parameters import estimator_dataclass
from ldlearn.core.negative_labels import concentration, mean_positives
from ldlearn.core.simplex import Array
from ldlearn.core.targets import RowTargets, positive_rates
from ldlearn.core.votes import label_weights
from ldlearn.dask.estimator import DaskJointModel, refuse_row_data
from ldlearn.dask.rows import BlockMatrix
from ldlearn.dask.training import TrainingBlocks
from ldlearn.solvers.centred_matrix import CentredMatrix, ColumnStatistics
from ldlearn.solvers.vote_regression import (
    CompetingLabels,
    Derivatives,
    VoteObjective,
    VoteObjectiveAt,
    minimize_votes,
)


@estimator_dataclass
class DaskVoteLDL(DaskJointModel, joint.VoteLDL):
    """`ldlearn.VoteLDL` on Dask arrays and data frames, their rows in blocks.

    The same problem, solved by the same steps: the result is that of `ldlearn.VoteLDL` on all rows
    in memory, to 1e-6, however they are divided into blocks. See `ldlearn.dask.DaskDLDL` for how it
    works. Every conjugate gradient step takes a round, so there are more rounds than in DLDL.

    Parameters
    ----------
    gamma, zeros, fit_intercept, feature_map, max_iter, tol
        Those of `ldlearn.VoteLDL`. ``feature_map`` is None or "rbf".
    client : distributed.Client, default=None
        The cluster to use; None takes the current one.

    Attributes
    ----------
    label_distributions_ : Dask array of shape (n_samples, n_labels)
        The recovered degrees, on the cluster.
    coef_, intercept_, lambda_, gamma_, objective_, objective_path_, n_iter_, converged_,
    feature_map_, label_names_
        Those of `ldlearn.VoteLDL`.
    n_rounds_ : int
        Number of rounds over all blocks.
    """

    _row_attributes = ("label_distributions_",)

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
            refuse_row_data("n_raters")
        return super().enhance(X, y)

    def _fit(self, training: TrainingBlocks) -> None:  # type: ignore[override]
        self._fitted_with_raters = False
        self._typical_offset = 0.0
        columns = BlockMatrix(training, *self._map_features(training), self.fit_intercept)
        self.gamma_ = self._select_gamma(*columns.selection_rows(needed=self.gamma is None))
        counts = training.count_positives(self.label_names_)
        votes = _BlockVotes(columns, *counts)
        fit = minimize_votes(votes, l2=self.gamma_, tol=self.tol, max_iter=self.max_iter)
        self._set_fit(columns, fit)
        self.n_votes_ = mean_positives(*counts, training.total)
        self.kappa_ = concentration(self.zeros, self.n_votes_)
        self._set_degrees(training, _recover_from_votes, columns.blocks, training.targets)


# The message to the blocks: statistics of the columns, W, b and ln(lambda).
_Parameters = tuple[ColumnStatistics, Array, Array, float]


class _BlockVotes(VoteObjective):
    """Competing labels in blocks, and the row that `vote_regression` adds to the data."""

    features: BlockMatrix

    def __init__(self, features: BlockMatrix, positives: Array, counts: Array) -> None:
        rates = positive_rates(positives, counts)
        super().__init__(features, CompetingLabels(rates[None], None).best_constant())
        self.added = CompetingLabels(np.full((1, self.c), 0.5), None)
        # As `CompetingLabels.largest_label_weight`, including the added row.
        self.largest_label_weight = float(counts.max()) + 1.0

    def at(self, v: Array) -> VoteObjectiveAt:
        """The loss and its derivatives at given parameters, in one round."""
        W, b, log_rate = self.split_parameters(v)
        parameters = self.features.columns, W, b, log_rate
        loss, gW, gb, rate_slope, curvature = self.features.sum_blocks(
            _vote_derivatives, parameters
        )
        added_loss, derivatives = self.added.at(b[None], log_rate)
        added = derivatives()

        def hessian_product(s: Array) -> Array:
            direction = self.split_parameters(s)
            hW, hb, h = self.features.sum_blocks(_vote_hessian_product, (parameters, direction))
            extra, extra_rate = added.hessian_product(direction[1][None], direction[2])
            return self.join_parameters(hW, hb + extra[0], h + extra_rate)

        slope, added_rate_slope = added.gradient
        gradient = self.join_parameters(gW, gb + slope[0], rate_slope + added_rate_slope)
        mean_curvature = (curvature + added.mean_curvature) / self.largest_label_weight
        found = Derivatives(gradient, hessian_product, mean_curvature)
        return VoteObjectiveAt(v, float(loss) + added_loss, lambda: found)


# Functions of a block.


def _evaluate_votes(X: Array, targets: RowTargets, parameters: _Parameters) -> tuple[Any, ...]:
    """Features, link, loss and derivatives in the scores."""
    columns, W, b, log_rate = parameters
    features = CentredMatrix(X, columns=columns)
    weights = label_weights(targets.sample_weight, targets.observed)
    link = CompetingLabels(targets.values.astype(np.float64), weights)
    loss, derivatives = link.at(features.linear_predictor(W, b), log_rate)
    return features, link, loss, derivatives()


def _vote_derivatives(X: Array, targets: RowTargets, parameters: _Parameters) -> list[Any]:
    features, link, loss, (gradient, _, curvature) = _evaluate_votes(X, targets, parameters)
    slope, rate_slope = gradient
    # Back from a mean to a sum: means of blocks of different lengths do not add up.
    total_curvature = link.largest_label_weight * curvature
    return [loss, *features.transpose_product(slope), rate_slope, total_curvature]


def _vote_hessian_product(
    X: Array, targets: RowTargets, common: tuple[_Parameters, Any]
) -> list[Any]:
    parameters, (W, b, rate) = common
    features, *_, derivatives = _evaluate_votes(X, targets, parameters)
    curved, curved_rate = derivatives.hessian_product(features.linear_predictor(W, b), rate)
    return [*features.transpose_product(curved), curved_rate]


def _recover_from_votes(X: Array, targets: RowTargets, model: joint.VoteLDL) -> Array:
    scores = np.asarray(X @ model.coef_.T + model.intercept_, dtype=np.float64)
    D = model._degrees(scores, targets.values, 0.0, targets.observed)
    return np.ascontiguousarray(D, dtype=X.dtype)
