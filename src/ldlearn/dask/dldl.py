"""DLDL on Dask collections: the same problem, solved by the same steps, over rows in blocks."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ldlearn import joint
from ldlearn.base.parameters import estimator_dataclass
from ldlearn.core.negative_labels import concentration, mean_positives
from ldlearn.core.prototypes import fewest_positives, prototype_sums, pseudo_distributions
from ldlearn.core.simplex import Array, SampleWeight, log_softmax, normalize_rows, positive_or_one
from ldlearn.core.targets import RowTargets, fill_unknown, positive_rates, possible_labels
from ldlearn.dask.estimator import DaskJointModel, array_of_blocks
from ldlearn.dask.rows import BlockMatrix, BlockObjective, Coefficients
from ldlearn.dask.training import TrainingBlocks
from ldlearn.exceptions import ParameterError
from ldlearn.joint.dldl_steps import DegreeRows, DegreeStep, DegreeTerms
from ldlearn.joint.hyperparameters import select_hyperparameters
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.softmax_regression import SoftmaxFit, minimize_softmax


class _Degrees(NamedTuple):
    """Degrees and sample weights of a block, and the D-step that led to them (None at first)."""

    values: Array
    sample_weight: SampleWeight | None
    step: DegreeStep | None = None


@estimator_dataclass
class DaskDLDL(DaskJointModel, joint.DLDL):
    """`ldlearn.DLDL` on Dask arrays and data frames, their rows in blocks.

    The same problem, solved by the same steps: the result is that of `ldlearn.DLDL` on all rows in
    memory, to 1e-6, however they are divided into blocks. A round sends coefficients to the blocks
    and returns sums over them; rows, their degrees and their predictions stay on the workers.
    Rounds are ordinary tasks, pinned to no worker: if one is lost, its blocks are computed again
    elsewhere. The features and labels are persisted on the cluster during the fit; workers that are
    short of memory spill them to disk.

    Parameters
    ----------
    alpha, beta, gamma, label_model, zeros, ordered, ...
        Those of `ldlearn.DLDL`. ``alpha`` must be 0, and ``feature_map`` None, "rbf" or a
        `Nystroem` transformer.
    client : distributed.Client, default=None
        The cluster to use; None takes the current one.

    Attributes
    ----------
    label_distributions_ : Dask array of shape (n_samples, n_labels)
        D, the recovered degrees, on the cluster.
    gap_ : Dask array of shape (n_samples,)
    n_rounds_ : int
        Number of rounds over all blocks.
    coef_, intercept_, objective_, objective_path_, coef_gap_, converged_, alpha_, beta_, gamma_,
    ...
        Those of `ldlearn.DLDL`.

    See Also
    --------
    ldlearn.DLDL : On data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from ldlearn.core import binarize
    >>> from ldlearn.datasets import load_vader_tweets
    >>> from ldlearn.dask import DaskDLDL
    >>> tweets = load_vader_tweets()
    >>> X = da.from_array(tweets.X[:600], chunks=(200, -1))
    >>> Y = da.from_array(binarize(tweets.D[:600]), chunks=(200, -1))
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     model = DaskDLDL(beta=1.0, gamma=10.0).fit(X, Y)
    ...     predicted = model.predict(X)  # nothing is computed yet
    ...     print(predicted.shape, predicted.chunksize)
    ...     model.to_local()  # the ordinary estimator
    (600, 9) (200, 9)
    DLDL(beta=1.0, gamma=10.0)
    """

    _row_attributes = ("label_distributions_", "gap_")

    def _check_block_params(self) -> None:
        if self.alpha > 0:
            reason = "the graph needs all rows, which lie in blocks"
            raise ParameterError(f"On Dask collections alpha must be 0: {reason}.")
        super()._check_block_params()

    def _fit(self, training: TrainingBlocks) -> None:  # type: ignore[override]
        columns = BlockMatrix(training, *self._map_features(training), self.fit_intercept)
        counts = training.count_positives(self.label_names_)
        self.n_votes_ = mean_positives(*counts, training.total)
        self.kappa_ = concentration(self.zeros, self.n_votes_)
        needed = self.beta is None or self.gamma is None or self.ordered is True
        selected = select_hyperparameters(
            *columns.selection_rows(needed),
            beta=self.beta,
            gamma=self.gamma,
            ordered=self.ordered,
            label_model=self.label_model,
            max_iter=self.max_iter,
        )
        self._set_penalties(selected)
        # The initial value of unknown labels is their rate of positives.
        start = self._class_prototypes(training), positive_rates(*counts)
        degrees = training.runner.map_persist(
            _initial_degrees, training.X, training.targets, common=start
        )
        steps = _BlockSteps(columns, degrees, self._degree_terms(), self.gamma_, self.tol)
        self._alternate(steps)
        self.graph_ = self.sigma_ = self._index = None
        self._set_degrees(training, _add_prediction, training.X, steps.D)
        gaps = [block.step.gap for block in steps.D]
        self.gap_ = array_of_blocks(gaps, training.lengths, (), np.dtype(np.float64))

    def _class_prototypes(self, training: TrainingBlocks) -> Array | None:
        """Class prototypes, for ``init="pseudo"``."""
        if self.init == "uniform":
            return None
        # The smallest number of positive labels has to be found over all blocks first.
        of_blocks = training.runner.map_compute(
            lambda targets: fewest_positives(targets.values), training.targets
        )
        fewest = np.min(of_blocks, axis=0)

        def sum_purest(X: Array, targets: RowTargets) -> tuple[Array, Array]:
            return prototype_sums(X, targets.values, fewest, targets.sample_weight)

        sums, counts = training.runner.map_sum(sum_purest, training.X, training.targets)
        return sums / positive_or_one(counts)[:, None]


@dataclass
class _BlockSteps:
    """The two steps of the alternation on rows in blocks, where the degrees stay."""

    features: BlockMatrix
    D: Any
    degree_terms: DegreeTerms
    gamma: float
    tol: float

    def terms(self) -> float:
        training = self.features.training
        (value,) = training.runner.map_sum(
            lambda D, targets, terms: [terms.value(D.values, _degree_rows(targets))],
            self.D,
            training.targets,
            common=self.degree_terms,
        )
        return value

    def update_W(self, start: SoftmaxFit | None, rtol: float) -> SoftmaxFit:
        objective = BlockObjective(self.features, self.D)
        return minimize_softmax(objective, l2=self.gamma, start=start, tol=self.tol, rtol=rtol)

    def update_D(self, W: SoftmaxFit) -> DegreeStep:
        training = self.features.training
        # Blocks centre their features, and so need the intercept at the mean.
        centred = W.intercept + self.features.mean @ W.coef
        coefficients = Coefficients(self.features.columns, W.coef, centred)
        self.D = training.runner.map_persist(
            _update_degrees,
            self.features.blocks,
            training.targets,
            self.D,
            common=(self.degree_terms, coefficients, self.tol),
        )
        steps = training.runner.map_compute(
            lambda block: replace(block.step, D=None, gap=np.empty(0)), self.D
        )
        return DegreeStep(
            D=None,
            gap=np.empty(0),
            objective=sum(step.objective for step in steps),
            n_iter=max(step.n_iter for step in steps),
            converged=all(step.converged for step in steps),
            terms=sum(step.terms for step in steps),
            change=max(step.change for step in steps),
        )


# Functions of a block.


def _initial_degrees(X: Array, targets: RowTargets, common: tuple[Array | None, Any]) -> _Degrees:
    prototypes, rates = common
    D = fill_unknown(*targets, rates)
    if prototypes is not None:
        D = pseudo_distributions(X, targets.values, prototypes=prototypes) * D
    return _Degrees(normalize_rows(D), targets.sample_weight)


def _degree_rows(targets: RowTargets) -> DegreeRows:
    Y, observed, weights = targets
    return DegreeRows(possible_labels(Y, observed), sample_weight=weights)


def _update_degrees(X: Array, targets: RowTargets, degrees: _Degrees, common: Any) -> _Degrees:
    terms, (columns, W, b, exact), tol = common
    logits = CentredMatrix(X, columns=columns).linear_predictor(W, b, exact=exact)
    step = terms.minimize(log_softmax(logits), _degree_rows(targets), degrees.values, tol)
    return _Degrees(step.D, targets.sample_weight, step)


def _add_prediction(X: Array, degrees: _Degrees, model: joint.DLDL) -> Array:
    return np.ascontiguousarray(model._add_prediction(degrees.values, X, None), dtype=X.dtype)
