"""DLDL on Dask collections: the same problem, solved by the same steps, over rows in blocks."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from dask import delayed
from numpy.typing import NDArray
from scipy import sparse

from ldlearn import joint
from ldlearn.core.graph import laplacian, neighbor_graph
from ldlearn.core.prototypes import fewest_positives, pseudo_distributions, purest_sums
from ldlearn.core.simplex import Array, log_softmax, normalize_rows
from ldlearn.core.simplex import SampleWeight as RowWeights
from ldlearn.core.targets import check_labels_seen, count_ticks, shares_of_ticks
from ldlearn.dask.cluster import Rounds
from ldlearn.dask.estimator import JointOnBlocks
from ldlearn.dask.rows import BlockColumns, BlockObjective, Weights
from ldlearn.dask.training import Given, Training
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.solvers.features import Features
from ldlearn.solvers.newton_simplex import newton_simplex
from ldlearn.solvers.softmax_regression import SoftmaxFit, minimize


class Degrees(NamedTuple):
    """The degrees of a block of rows, and what the D-step says of them."""

    D: Array
    gap: NDArray[np.float64]  # of each row
    objective: float
    n_iter: int
    converged: bool
    weights: RowWeights | None  # how often the rows count


class DLDL(JointOnBlocks, joint.DLDL):
    """`ldlearn.DLDL` on Dask arrays and data frames, their rows in blocks.

    The same problem, solved by the same steps: without a graph the result is that of `ldlearn.DLDL` on all rows in one
    place, to 1e-6, however they are cut into blocks. A round sends weights to the blocks and brings sums back; rows,
    their degrees and their predictions stay where they are. Rounds are ordinary tasks, pinned to no worker: if one is
    lost, its blocks are made again elsewhere. The features and labels are kept on the cluster while the fit lasts;
    workers that are short of memory put them on disk.

    Parameters
    ----------
    alpha, beta, gamma, label_model, n_neighbors, sigma, ...
        Those of `ldlearn.DLDL`, which has their meaning. With a graph (``alpha > 0``) the neighbours of a row are found
        among the rows of its block, so the result depends on the blocks. ``feature_map`` is None or "rbf".
    client : distributed.Client, default=None
        The cluster to use; None takes the current one.

    Attributes
    ----------
    label_distributions_ : Dask array of shape (n, c)
        D, the recovered degrees, on the cluster.
    gap_ : Dask array of shape (n,)
    graph_ : list of delayed csr_array, or None
        The similarity graph of each block that has rows; None if alpha is 0.
    n_rounds_ : int
        How often something was asked of all blocks.
    coef_, intercept_, objective_, objective_path_, weights_gap_, converged_, alpha_, beta_, gamma_, choice_, ...
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
    >>> from ldlearn.dask import DLDL
    >>> tweets = load_vader_tweets()
    >>> X = da.from_array(tweets.X[:600], chunks=(200, -1))
    >>> Y = da.from_array(binarize(tweets.D[:600]), chunks=(200, -1))
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     model = DLDL(beta=1.0, gamma=10.0).fit(X, Y)
    ...     model.predict(X)  # nothing is computed yet
    ...     model.to_local()  # the ordinary estimator
    dask.array<concatenate, shape=(600, 9), dtype=float64, chunksize=(200, 9), chunktype=numpy.ndarray>
    DLDL(beta=1.0, gamma=10.0)
    """

    _of_rows: ClassVar[tuple[str, ...]] = ("label_distributions_", "gap_")
    _left_behind: ClassVar[tuple[str, ...]] = ("graph_",)

    def _check_new_rows(self, X: Any) -> None:
        if self._index is not None:
            self._index.kneighbors(X)

    def to_local(self, training_rows: bool = True) -> Any:
        """The ordinary estimator, fitted, for data in memory.

        Parameters
        ----------
        training_rows : bool, default=True
            Whether to bring along what there is for each training row: ``label_distributions_`` and ``gap_``. Without
            them the estimator is small, and predicts and enhances all the same. The graph of a fit with ``alpha > 0``
            stays behind: such an estimator predicts, but cannot enhance.
        """
        local = super().to_local(training_rows)
        local.graph_ = None
        return local

    def _check_for_blocks(self) -> None:
        if sparse.issparse(self.neighbors):
            raise ParameterError(
                "A graph given as neighbors ties rows of different blocks; give a transformer, which finds neighbours "
                "within each block, or leave it out."
            )
        super()._check_for_blocks()

    def _fit(self, training: Training) -> None:  # type: ignore[override]
        self.alpha_ = float(self.alpha)
        graphs = self._link_rows(training)
        columns = BlockColumns(training, *self._map_features(training), self.fit_intercept)
        to_choose_by = (None, None, None) if self._are_weights_given else columns.to_choose_by()
        choice = self._choose_weights(*to_choose_by)
        self.beta_, self.gamma_, self.choice_ = choice.beta, choice.gamma, choice.message
        self.ordered_ = self._choose_ordered(*to_choose_by)
        start = self._prototypes(training), self._tick_shares(training)
        degrees = training.rounds.keep(_first_degrees, training.X, training.given, common=start)
        self._alternate_blocks(training, columns, graphs, degrees)

    def _alternate_blocks(
        self, training: Training, columns: BlockColumns, graphs: list[Any], degrees: list[Any]
    ) -> None:
        """Algorithm 2."""
        rounds = training.rounds
        self.objective_path_ = np.empty(0)
        self.n_newton_ = []
        self.n_iter_ = 0
        W: SoftmaxFit | None = None
        terms, _ = self._outcome(rounds, degrees, graphs)
        while self.n_iter_ < self.max_iter and not self._has_settled(training.total):
            self.n_iter_ += 1
            rows = BlockObjective(columns, degrees)
            W = minimize(rows, l2=self.gamma_, start=W, tol=self.tol, rtol=self._rough_rtol)  # Eq. 8
            self._record("W", W.loss + terms)
            # Blocks centre their features, and so need the intercept at the mean.
            step = self._to_send(), Weights(columns.message(), W.coef, W.intercept + columns.mean @ W.coef)
            degrees = rounds.keep(
                _update_degrees, columns.blocks, training.given, graphs, degrees, common=step
            )  # Eq. 11
            terms, (objective, n_newton, solved) = self._outcome(rounds, degrees, graphs)
            self.n_newton_.append(n_newton)
            self._record("D", objective + self.gamma_ * float(np.sum(W.coef**2)))
            self.coef_, self.intercept_ = W.coef.T, W.intercept
            self.weights_gap_ = W.gap
            self.converged_ = W.converged and solved
        self.objective_ = float(self.objective_path_[-1])
        self._keep_degrees(training, degrees)

    def _outcome(self, rounds: Rounds, degrees: list[Any], graphs: list[Any]) -> tuple[float, tuple[float, int, bool]]:
        """The terms of the objective in D alone; the objective of the D-step, its iterations, whether it is solved."""
        found = rounds.collect(_summary, degrees, graphs, common=self._to_send())
        terms, objectives, n_iters, solved = zip(*found, strict=True)
        return sum(terms), (sum(objectives), max(n_iters), all(solved))

    def _keep_degrees(self, training: Training, degrees: list[Any]) -> None:
        c = len(self.label_names_)
        names = ("label_distributions_", _only_degrees, (c,), training.dtype), ("gap_", _only_gap, (), np.float64)
        for name, function, width, kind in names:
            parts = [delayed(function, pure=False)(block, training.dtype) for block in degrees]
            setattr(self, name, self._array_of_rows(training, parts, width, kind))

    def _link_rows(self, training: Training) -> list[Any]:
        """The Laplacian of each block's similarity graph (Eq. 2); nothing if alpha is 0."""
        self.graph_, self.sigma_, self._index = None, None, None
        if self.alpha == 0:
            return [None] * len(training.X)
        smallest = int(np.argmin(training.lengths))
        if training.lengths[smallest] <= self.n_neighbors:
            raise InputError(
                f"With a graph, neighbours are found within blocks, and a block of {training.lengths[smallest]} rows "
                f"has no {self.n_neighbors} neighbours for each; lower n_neighbors, or rechunk into larger blocks."
            )
        rounds = training.rounds
        graphs = rounds.keep(_graph, training.X, common=(self.n_neighbors, self.sigma, self.neighbors))
        # One width for all: the mean over rows of the statistics of their blocks.
        self.sigma_ = float(np.average(rounds.collect(_width, graphs), weights=training.lengths))
        self.graph_ = rounds.keep(_similarities, graphs, common=self.sigma_)
        self._index = _NeighborsLeftBehind()
        return rounds.keep(_laplacian, self.graph_)

    def _prototypes(self, training: Training) -> Array | None:
        """Those of the labels, for ``init="pseudo"``."""
        if self.init == "uniform":
            return None
        # Which rows are the purest is known only when all blocks have been asked.
        fewest = np.min(training.rounds.collect(_fewest, training.given), axis=0)
        sums, counts = training.rounds.total(_purest, training.X, training.given, common=fewest)
        return np.asarray(sums / np.where(counts > 0, counts, 1.0)[:, None])

    def _tick_shares(self, training: Training) -> Array | None:
        """The share of rows that have each label, for where it is unknown."""
        if not training.has_unknown:
            return None
        ticks, counts = training.rounds.total(_ticks, training.given)
        check_labels_seen(self.label_names_, counts)
        return shares_of_ticks(ticks, counts)

    @property
    def _are_weights_given(self) -> bool:
        return self.beta is not None and self.gamma is not None and self.ordered is not True


class _NeighborsLeftBehind:
    """Takes the place of an index of the training rows, which stay in their blocks."""

    def kneighbors(self, X: Any) -> Any:
        raise InputError(
            "With a graph, new rows need their neighbours among all training rows, which lie in blocks; fit "
            "ldlearn.DLDL on rows in memory, or leave the graph out (alpha=0)."
        )


# What is done to a block.


def _first_degrees(X: Array, given: Given, common: tuple[Array | None, Any]) -> Degrees:
    (Y, known, weights), (prototypes, shares) = given, common
    D = Y.astype(float) if known is None else np.where(known, Y, shares)
    if prototypes is not None:
        D = pseudo_distributions(X, Y, prototypes=prototypes) * D
    return Degrees(normalize_rows(D), np.zeros(len(Y)), 0.0, 0, True, weights)


def _update_degrees(X: Array, given: Given, graph: Any, degrees: Degrees, step: tuple[joint.DLDL, Weights]) -> Degrees:
    (Y, known, row_weights), (solver, weights) = given, step
    logP = log_softmax(Features(X, block_of=weights.columns).times(weights.W, weights.b, exact=True))
    problem = {"laplacian": graph, "alpha": solver.alpha_, "beta": solver.beta_, "sample_weight": row_weights}
    problem |= solver._between_labels(Y.shape[1])
    # A label that is unknown may have a share.
    found = newton_simplex(logP, Y if known is None else Y | ~known, start=degrees.D, **problem, tol=solver.tol)
    return Degrees(found.D, found.gap, found.objective, found.n_iter, found.converged, row_weights)


def _summary(degrees: Degrees, graph: Any, solver: joint.DLDL) -> tuple[float, float, int, bool]:
    terms = solver._terms_in_D(degrees.weights, graph, degrees.D)
    return terms, degrees.objective, degrees.n_iter, degrees.converged


def _only_degrees(degrees: Degrees, kind: Any) -> Array:
    return np.ascontiguousarray(degrees.D, dtype=kind)


def _only_gap(degrees: Degrees, _: Any) -> Array:
    return degrees.gap


def _graph(X: Array, common: tuple[int, Any, Any]) -> tuple[Any, float]:
    found = neighbor_graph(X, *common)
    return found.A, found.sigma


def _width(graph: tuple[Any, float], _: Any) -> float:
    return graph[1]


def _similarities(graph: tuple[Any, float], sigma: float) -> Any:
    """The same graph for another width: ``exp(-d^2 / (2 s^2))`` to the power of the squared ratio of the widths."""
    A, width = graph
    A = A.copy()
    A.data **= (width / sigma) ** 2
    return A


def _laplacian(A: Any, _: Any) -> Any:
    return laplacian(A)


def _fewest(given: Given, _: Any) -> NDArray[np.intp]:
    return fewest_positives(given.T)


def _purest(X: Array, given: Given, fewest: NDArray[np.intp]) -> tuple[Array, Array]:
    return purest_sums(X, given.T, fewest, given.weights)


def _ticks(given: Given, _: Any) -> tuple[Array, Array]:
    return count_ticks(*given)
