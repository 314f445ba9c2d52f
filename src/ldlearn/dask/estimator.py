"""Base classes of estimators on Dask collections: client, lazy results, local estimators."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import LabelEstimator
from ldlearn.base.kinds import JointModel, vote_rows
from ldlearn.base.parameters import estimator_dataclass
from ldlearn.base.row_data import RowData
from ldlearn.core.graph import subtract_offsets
from ldlearn.core.kernels import make_feature_map
from ldlearn.core.scaling import column_sums
from ldlearn.core.simplex import Array, row_weights
from ldlearn.core.targets import label_names
from ldlearn.dask import training as tr
from ldlearn.dask.cluster import BlockRunner, check_workers, current_client
from ldlearn.dask.rows import BlockMatrix
from ldlearn.exceptions import InputError, ParameterError


@estimator_dataclass
class DaskEstimator(LabelEstimator):
    """Base class of estimators on Dask collections.

    A subclass inherits from this class and from the local estimator, and has the parameters of
    both.
    """

    client: Any = None

    _local_class: ClassVar[type[LabelEstimator]]
    # Fitted attributes with a row for each training row.
    _row_attributes: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if len(cls.__bases__) == 2:  # not an intermediate base class
            cls._local_class = cls.__bases__[1]

    def __sklearn_clone__(self) -> Self:
        # scikit-learn would copy the client, which is not possible.
        params = {name: clone(value, safe=False) for name, value in self._local_params().items()}
        return type(self)(**params, client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a client belongs to its process

    def _local_params(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        del params["client"]
        return params

    def _block_model(self) -> Any:
        """The local estimator to send to blocks: fitted if this one is, without the client."""
        sent = self._local_model()
        # Blocks are arrays; results get the kind of X.
        sent._sklearn_output_config = {"transform": "default"}
        return sent

    def _local_model(self) -> Any:
        """The local estimator, without the fitted attributes that have an entry for each row."""
        local = self._local_class(**self._local_params())
        fitted = self.__getstate__()
        for name in ("client", "n_rounds_", *self._row_attributes):
            fitted.pop(name, None)
        local.__dict__.update(fitted)
        return local

    def to_local(self, training_rows: bool = True) -> Any:
        """The fitted local estimator, for data in memory.

        It predicts, enhances and scores. Intervals and ``far_from_training`` raise an error: they
        need sums over the training rows that a fit in blocks does not compute.

        Parameters
        ----------
        training_rows : bool, default=True
            Whether to fetch the attributes with an entry for each training row, such as
            ``label_distributions_``. The estimator is smaller without them, and can still predict,
            enhance and score.
        """
        check_is_fitted(self)
        local = self._local_model()
        if training_rows:
            runner = BlockRunner(current_client(self.client))
            found = runner.compute([getattr(self, name) for name in self._row_attributes])
            local.__dict__.update(zip(self._row_attributes, found, strict=True))
        return local

    def predict(self, X: Any) -> Any:
        """Predict the label distributions of new rows, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        D : Dask array or data frame of shape (n_samples, n_labels)
            The same kind as X. Rows are non-negative and sum to one.
        """
        self._check_new_rows(X)
        return self._map_lazily("predict", X, tr.collection_blocks(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the local estimator: a mean over all rows.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array or data frame of shape (n_samples, n_labels)
        sample_weight : Dask array or series of shape (n_samples,), default=None
            Sample weights.
        """
        self._check_new_rows(X, y)
        runner = BlockRunner(current_client(self.client))
        of_X, of_y = tr.align_blocks(X, y)
        weights = tr.align_weights(X, sample_weight)
        total, n = runner.map_sum(_score_block, of_X, of_y, weights, common=self._block_model())
        return float(total / n)

    def _check_new_rows(self, X: Any, *targets: Any) -> None:
        """Raise InputError for other features than those of the fit, before any computation."""
        check_is_fitted(self)
        tr.check_collection(X, "X")
        for y in targets:
            tr.check_collection(y, "y")
        row: Any = np.zeros((1, int(X.shape[1])))
        if tr.is_frame(X):
            row = type(X._meta)(row, columns=X.columns)
        with warnings.catch_warnings():
            # An array is accepted after a fit on named columns, as for data in memory.
            warnings.simplefilter("ignore")
            self._block_model()._validate_features(row)

    def _map_lazily(self, method: str, X: Any, *blocks: list[Any]) -> Any:
        """A collection like X: a method of the local estimator applied to blocks, lazily."""
        model = delayed(self._block_model(), pure=False, traverse=False)
        apply = delayed(_degrees_of_block, pure=False)
        parts = [apply(method, model, *block) for block in zip(*blocks, strict=True)]
        names = list(self.label_names_)
        kind = tr.float_type(X)
        if tr.is_frame(X):
            import dask.dataframe as dd

            meta = type(X._meta)(np.empty((0, len(names)), dtype=kind), columns=names)
            return dd.from_delayed(parts, meta=meta, divisions=X.divisions, verify_meta=False)
        return array_of_blocks(parts, X.chunks[0], (len(names),), kind)

    def _validate_rows(self, X: Any, y: Any, given: RowData) -> tuple[Any, Any, RowData]:
        for name, value in given.items():
            if name != "sample_weight" and value is not None:
                refuse_row_data(name)
        self._check_block_params()
        runner = BlockRunner(current_client(self.client))
        check_workers(runner.client)
        training = tr.TrainingBlocks(runner, X, y, given["sample_weight"], self._block_model())
        self.n_features_in_ = training.m
        if tr.is_frame(X) and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.label_names_ = label_names(y, int(y.shape[1]))
        return training, None, {}

    def _fit_rows(self, X: Any, T: Any, row_data: RowData, **shared: Any) -> None:
        self._fit(X)
        if isinstance(self, JointModel):  # votes are fitted on the same sample of rows as in memory
            rows, targets = X.fetch_rows(vote_rows(X.n, len(self.label_names_)))
            self._keep_vote_sample(rows, *targets)
            self._total_weight = float(X.total)  # of all rows, not only of the sample
        self.n_rounds_ = X.runner.n_rounds

    def _validate_features(self, X: Any, reset: bool = False) -> Any:
        methods = "fit, predict, enhance and score"
        raise InputError(f"On Dask collections there are {methods}; otherwise use to_local().")

    def _check_block_params(self) -> None:
        """Raise ParameterError for parameters that need all rows in memory."""


class DaskJointModel(DaskEstimator):
    """Base class of the joint models: enhancement of new rows, and a feature map."""

    feature_map: Any

    def enhance(self, X: Any, y: Any) -> Any:
        """Recover the degrees of new rows from their logical labels, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array or data frame of shape (n_samples, n_labels)
            Logical labels of these rows; the columns of a data frame are matched by name.

        Returns
        -------
        D : Dask array or data frame of shape (n_samples, n_labels)
            The same kind as X.
        """
        self._check_new_rows(X, y)
        return self._map_lazily("enhance", X, *tr.align_blocks(X, y))

    def _set_degrees(
        self, training: tr.TrainingBlocks, function: Callable[..., Array], *blocks: Sequence[Any]
    ) -> None:
        """Recover the degrees of the training rows block by block."""
        degrees = training.runner.map_persist(function, *blocks, common=self._block_model())
        self.label_distributions_ = array_of_blocks(
            degrees, training.lengths, (len(self.label_names_),), training.dtype
        )

    def _check_block_params(self) -> None:
        if not (self.feature_map is None or isinstance(self.feature_map, str | Nystroem)):
            advice = "apply a transformer to X (map_blocks)"
            raise ParameterError(f"feature_map must be None, 'rbf' or Nystroem; {advice}.")

    def _map_features(self, training: tr.TrainingBlocks) -> tuple[list[Any], Array]:
        """Blocks of the mapped features, and their column sums."""
        self.feature_map_ = self._offsets = None
        if self.feature_map is None:
            return training.X, training.sums
        if isinstance(self.feature_map, str):
            columns = BlockMatrix(training, training.X, training.sums, True, weighted=False).columns
            self._offsets = columns.offsets
        sample = tr.LazyRows(training, training.X, training.m, self._offsets)
        unfitted = make_feature_map(self.feature_map, sample)
        if not isinstance(unfitted.random_state, Integral):  # used twice below
            unfitted.random_state = check_random_state(unfitted.random_state).randint(2**31 - 1)
        # Fetch only the rows that Nystroem would draw. It shuffles its input: rows are ordered so
        # that they come out in the order of the draw, which is that of the mapped columns.
        seed = unfitted.random_state
        drawn = check_random_state(seed).permutation(training.n)[: unfitted.n_components]
        shuffled = check_random_state(seed).permutation(len(drawn))
        self.feature_map_ = unfitted.fit(sample[drawn[np.argsort(shuffled)]])
        self.feature_map_.component_indices_ = drawn
        message = self._offsets, self.feature_map_
        X = training.runner.map_persist(_map_block, training.X, common=message)
        (sums,) = training.runner.map_sum(lambda block: [column_sums(block)[1]], X)
        return X, sums


def array_of_blocks(parts: list[Any], lengths: Any, row_shape: tuple[int, ...], kind: Any) -> Any:
    """A Dask array of blocks of rows."""
    arrays = []
    for part, n in zip(parts, lengths, strict=True):
        arrays.append(da.from_delayed(part, (n, *row_shape), dtype=kind))
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def refuse_row_data(name: str) -> None:
    """Raise InputError: only a fit on rows in memory can use this keyword."""
    advice = "leave it out, or fit on rows in memory."
    raise InputError(f"On Dask collections {name} cannot be given; {advice}")


# Functions of a block.


def _degrees_of_block(method: str, model: Any, X: Any, *y: Any) -> Any:
    """What a method of the model returns for a block, a frame if the block is one."""
    D = np.empty((0, len(model.label_names_)))
    if len(X):
        D = getattr(model, method)(X, *y)
    if not hasattr(X, "columns"):
        return D
    return type(X)(D, index=X.index, columns=list(model.label_names_))


def _score_block(X: Any, y: Any, weights: Any, model: Any) -> tuple[float, float]:
    """Weighted sum of the scores of the rows, and the sum of the weights."""
    count = np.asarray(row_weights(X, weights), dtype=np.float64)
    total = count.sum()
    if not total:
        return 0.0, 0.0
    return total * model.score(X, y, sample_weight=count), total


def _map_block(X: Array, common: tuple[Any, Any]) -> Array:
    offsets, feature_map = common
    near_zero = X if offsets is None else subtract_offsets(X, offsets)
    return np.asarray(feature_map.transform(near_zero), dtype=X.dtype)
