"""SA-BFGS on Dask collections: the W-step of DLDL with given degrees."""

from ldlearn import learning
from ldlearn.base.parameters import estimator_dataclass
from ldlearn.dask.estimator import DaskEstimator
from ldlearn.dask.rows import BlockMatrix, BlockObjective
from ldlearn.dask.training import TrainingBlocks
from ldlearn.exceptions import ParameterError
from ldlearn.solvers.softmax_regression import minimize_softmax


@estimator_dataclass
class DaskSABFGS(DaskEstimator, learning.SABFGS):
    """`ldlearn.SABFGS` on Dask arrays and data frames, their rows in blocks.

    The same problem, solved by the same steps: the result is that of `ldlearn.SABFGS` on all rows
    in memory, to 1e-6, however they are divided into blocks. See `ldlearn.dask.DaskDLDL` for how it
    works.

    Parameters
    ----------
    l2, fit_intercept, tol, max_iter
        Those of `ldlearn.SABFGS`. ``solver`` is "newton".
    client : distributed.Client, default=None
        The cluster to use; None takes the current one.

    Attributes
    ----------
    coef_, intercept_, objective_, coef_gap_, n_iter_, converged_, label_names_
        Those of `ldlearn.SABFGS`.
    n_rounds_ : int
        Number of rounds over all blocks.
    """

    def _check_block_params(self) -> None:
        if self.solver != "newton":
            raise ParameterError(
                f"On Dask collections the solver is 'newton', not {self.solver!r}."
            )

    def _fit(self, training: TrainingBlocks) -> None:  # type: ignore[override]
        columns = BlockMatrix(training, training.X, training.sums, self.fit_intercept)
        objective = BlockObjective(columns, training.targets)
        fit = minimize_softmax(
            objective, l2=self.l2, start=None, tol=self.tol, max_iter=self.max_iter
        )
        self.coef_ = fit.coef.T
        self.intercept_ = fit.intercept
        self.objective_ = fit.loss
        self.coef_gap_ = fit.gap
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
