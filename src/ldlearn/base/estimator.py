"""What all kinds of estimator share: validation, the walk of a fit, capabilities and output
containers."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, validate_data

from ldlearn._messages import check_choice, suggest_name
from ldlearn.base.sklearn_private import (
    ADAPTERS_MANAGER,
    InvalidParameterError,
    check_sample_weight,
    get_container_adapter,
)
from ldlearn.core.simplex import Array, Indices
from ldlearn.core.targets import label_names, label_order
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.solvers.lbfgs import LbfgsFit, LossAndGradient, minimize_lbfgs

RowData = dict[str, Any]
_Estimator = TypeVar("_Estimator")
_Method = TypeVar("_Method", bound=Callable[..., Any])


class Capabilities(NamedTuple):
    """What an estimator, with the parameters that it has, accepts and promises;
    `tests/test_contract.py` checks all."""

    sparse: bool = False  # X may be a sparse matrix
    sample_weight: bool = False  # ``fit`` uses ``sample_weight``
    # ``fit`` uses ``groups``: rows of a group are never training and validation rows at once
    groups: bool = False
    missing_values: bool = False  # X may contain NaN
    unknown_labels: bool = False  # 0/1 labels may be NaN: neither positive nor negative
    incomplete_degrees: bool = (
        False  # training degrees may be NaN: a learner uses those that are known
    )
    keeps_zeros: bool = False  # negative labels get degree 0
    order_invariant: bool = True  # permuting the samples permutes the result
    label_invariant: bool = True  # permuting the labels permutes the result
    weight_equals_repetition: bool = (
        True  # sample weight 2 is the row twice, if sample weights are used
    )


def set_output(self: _Estimator, *, transform: str | None = None) -> _Estimator:
    """Choose what `predict`, `enhance`, `fit_enhance` and intervals of these return.

    Without a choice, `sklearn.set_config(transform_output=...)` applies, as for any transformer of
    scikit-learn.

    Parameters
    ----------
    transform : {"default", "pandas", "polars"}, optional
        Arrays, or data frames of that library: one column per label, named as in ``fit``; a pandas
        frame keeps the index of X. None changes nothing.
    """
    if transform is not None:
        supported = sorted(ADAPTERS_MANAGER.supported_outputs)
        check_choice("transform", transform, supported)
        vars(self)["_sklearn_output_config"] = {
            "transform": transform
        }  # scikit-learn's `clone` copies this name
    return self


def array_output() -> AbstractContextManager[None]:
    """Context in which inner transformers and estimators return arrays, though scikit-learn is set
    to data frames."""
    return cast(AbstractContextManager[None], config_context(transform_output="default"))


def wrap_output(method: _Method) -> _Method:
    """Convert what a method returns, one array of shape (n_samples, n_labels) or several, as
    `set_output` asks."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **params: Any) -> Any:
        with array_output():
            degrees = method(self, X, *args, **params)
        adapter = get_container_adapter("transform", self)
        if adapter is None:
            return degrees
        wrap = partial(
            adapter.create_container, X_original=X, columns=list(self.label_names_), inplace=False
        )
        return tuple(map(wrap, degrees)) if isinstance(degrees, tuple) else wrap(degrees)

    return cast(_Method, wrapped)


class LabelEstimator(BaseEstimator):
    """Base of all estimators: parameters, validation, and ``fit``, which calls ``_fit``.

    A method subclasses `Enhancer`, `Learner` or `JointModel` and defines ``_fit(X, T)``, where X is
    a validated feature matrix (float64 or float32; CSR if the class accepts sparse input) and T the
    validated targets: a boolean array of logical labels or a float array of distributions. ``_fit``
    sets the learned attributes.

    What else is known about the rows reaches ``_fit`` by name, and only if it is given:
    ``sample_weight``, positive, for a `SampleWeightMixin`, ``groups``, an integer for each row, and
    ``observed``, the mask of labels that are not NaN, for methods whose `capabilities` include
    groups and unknown labels.
    """

    # Types and shapes of the attributes that ``fit`` sets, private ones too: model files hold these
    # and no others. A class declares those that its bases do not; see `ldlearn.tables.model_schema`.
    learned: ClassVar[Mapping[str, str]] = {
        "n_features_in_": "size n_features",
        "feature_names_in_": "names (n_features)",
        "label_names_": "names (n_labels)",
        "converged_": "bool",
        "n_iter_": "int",
        "objective_": "float",
        "objective_path_": "float (n_steps)",
        "_sklearn_output_config": "dict of str",
    }

    kind: ClassVar[str]
    label_names_: Array
    tol: float  # of iterative methods, as is `max_iter`
    max_iter: int
    _fit: Callable[..., None]
    _predict: Callable[..., Array]  # of learners and joint models
    _check_targets: Callable[[Any], Array]
    is_baseline: ClassVar[bool] = False  # uses no features, or is a simple standard approach
    can_enhance: ClassVar[bool] = False  # has `enhance` for new rows with 0/1 labels
    path_params: ClassVar[tuple[str, ...]] = ()  # what `fit_path` varies at little cost
    float32_tolerance: ClassVar[float] = 1e-3  # how far float32 input may move the result
    _capabilities: ClassVar[Capabilities] = (
        Capabilities()
    )  # those that hold whatever the parameters are
    # Parameters under which the method is small and quick; every check is run with each of them.
    _test_params: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    _parameter_constraints: ClassVar[
        dict[str, list[Any]]
    ] = {}  # what parameters may be; see `estimator_dataclass`
    _convergence_advice: ClassVar[str] = "raise max_iter, or loosen tol."  # the end of the warning

    set_output = set_output

    def capabilities(self) -> Capabilities:
        """What the estimator accepts and promises with its current parameters."""
        return self._capabilities

    def _validate_params(self) -> None:
        with raise_input_errors():
            super()._validate_params()

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``step__name`` reaches into nested estimators.

        Parameters
        ----------
        **params
            Names and values.
        """
        valid = self._get_param_names()
        for name in params:
            own = name.partition("__")[0]
            if own not in valid:
                problem = f"Invalid parameter {own!r} for estimator {type(self).__name__}"
                raise ParameterError(
                    f"{problem}: there is none of this name; {suggest_name(own, valid)}"
                )
        return super().set_params(**params)  # type: ignore[no-any-return]

    def fit(self, X: Any, y: Any, **row_data: Any) -> Self:
        """Fit the model. If that fails, the object is left as it was.

        Parameters
        ----------
        X : array-like, data frame or (where supported) sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like or data frame of shape (n_samples, n_labels)
            Targets: logical labels in {0, 1} for enhancers and joint models, label distributions
            for learners. Column names of a data frame are kept in ``label_names_``.
        **row_data
            Nothing: methods that can use more name it in their own ``fit``.

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        try:
            self._validate_params()
            with array_output():
                given = {name: value for name, value in row_data.items() if value is not None}
                self._fit_rows(*self._validate_rows(X, y, given))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        # DLDL stops its outer iteration early by design: only its steps are meant to converge.
        if not getattr(self, "steps_converged_", getattr(self, "converged_", True)):
            n_iter = getattr(self, "n_iter_", None)
            after = (
                "" if n_iter is None else f" after {n_iter} iteration{'' if n_iter == 1 else 's'}"
            )
            message = f"{type(self).__name__} stopped{after} before it converged; {self._convergence_advice}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def fit_path(
        self, X: Any, y: Any, points: Iterable[Mapping[str, Any]], **row_data: Any
    ) -> Iterator[Self]:
        """Fitted copies of this estimator, one for each setting of some parameters.

        A method that can share work between settings names them in ``path_params`` and does so
        here; any other fits each copy by itself.

        Parameters
        ----------
        X, y
            As for ``fit``.
        points : iterable of mapping
            Parameters to set, by name.
        **row_data
            What else ``fit`` takes, such as ``sample_weight``.

        Yields
        ------
        fitted estimators, in the order of the points
        """
        for point in points:
            yield clone(self).set_params(**point).fit(X, y, **row_data)

    def _validate_rows(self, X: Any, y: Any, row_data: RowData) -> tuple[Any, Any, RowData]:
        """Features, targets and row data of the training rows."""
        X, T = self._validate_features(X, reset=True), self._check_targets(y)
        with raise_input_errors():
            check_consistent_length(X, T)
        self.label_names_ = label_names(y, T.shape[1])
        return (
            X,
            T,
            {name: self._check_row_data(name, value, X) for name, value in row_data.items()},
        )

    def _fit_rows(self, X: Any, T: Any, row_data: RowData) -> None:
        """Call ``_fit`` with validated rows; a kind of estimator adds what comes before or
        after."""
        with explain_overflow(X):
            self._fit(X, T, **row_data)

    def _should_iterate(self, path: list[float]) -> bool:
        """Whether a method with ``tol`` and ``max_iter`` should go on, given its objective at the
        start and since then.

        It sets ``converged_``, ``n_iter_``, ``objective_`` and ``objective_path_``.
        """
        self.objective_path_, self.objective_, self.n_iter_ = (
            np.array(path[1:]),
            path[-1],
            len(path) - 1,
        )
        self.converged_ = self.n_iter_ > 0 and path[-2] - path[-1] <= self.tol * abs(path[-1])
        return not self.converged_ and self.n_iter_ < self.max_iter

    def _iterations(self) -> Iterator[int]:
        """Count iterations in ``n_iter_`` until ``max_iter``, or until one of them sets
        ``converged_``."""
        self.n_iter_ = 0
        self.converged_ = False
        while not self.converged_ and self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            yield self.n_iter_

    def _minimize_lbfgs(
        self, loss: LossAndGradient, start: Sequence[Array], memory: int = 10
    ) -> LbfgsFit:
        """Minimise with ``tol`` and ``max_iter``; it sets ``objective_``, ``n_iter_`` and
        ``converged_``."""
        fit = minimize_lbfgs(loss, start, max_iter=self.max_iter, tol=self.tol, memory=memory)
        self.objective_ = fit.loss
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        return fit

    def _validate_features(self, X: Any, reset: bool = False) -> Any:
        accepted: dict[str, Any] = {
            "accept_sparse": "csr" if self.capabilities().sparse else False,
            "ensure_all_finite": "allow-nan" if self.capabilities().missing_values else True,
        }
        with raise_input_errors():
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], **accepted)

    def _check_row_data(self, name: str, value: Any, X: Any) -> Any:
        """Validated ``sample_weight`` or ``groups``; a method that takes more checks that
        itself."""
        validate = _ROW_DATA.get(name)
        if validate is None or not getattr(self.capabilities(), name):
            advice = "leave it out, or choose a method that can."
            raise InputError(f"{type(self).__name__} cannot use {name!r} in fit; {advice}")
        return validate(value, X)

    def _match_labels(self, y: Any, check: Callable[[Any], Array]) -> Array:
        """Checked targets with their columns in the order of the fit, by the names of y if it has
        any."""
        order, targets = label_order(y, self.label_names_), check(y)
        if order is not None:
            return targets[:, order]
        if targets.shape[1] != len(self.label_names_):
            fitted = f"{type(self).__name__} was fitted with {len(self.label_names_)}"
            raise InputError(f"y has {targets.shape[1]} label columns, but {fitted}.")
        return targets

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = tags.target_tags.multi_output = True
        tags.input_tags.sparse = self.capabilities().sparse
        tags.input_tags.allow_nan = self.capabilities().missing_values
        return tags


class SampleWeightMixin(LabelEstimator):
    """For methods whose objective is a sum over rows, each of which may count more or less than
    once.

    A method takes this as its first base and defines ``_fit(X, T, sample_weight=None)``.
    """

    def capabilities(self) -> Capabilities:
        """What the estimator accepts and promises with its current parameters."""
        return super().capabilities()._replace(sample_weight=True)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **row_data: Any) -> Self:
        """Fit the model. If that fails, the object is left as it was.

        Parameters
        ----------
        X : array-like, data frame or (where supported) sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like or data frame of shape (n_samples, n_labels)
            Targets: logical labels in {0, 1} for enhancers and joint models, label distributions
            for learners. Column names of a data frame are kept in ``label_names_``.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: 2 is the row twice, 0 no row at all. None counts every row
            once.
        **row_data
            Nothing: methods that can use more name it in their own ``fit``.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight=sample_weight, **row_data)


def validate_sample_weight(sample_weight: Any, X: Any) -> Array:
    """One non-negative number for each row of X, not all of them 0."""
    with raise_input_errors():
        checked = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not checked.any():  # an older scikit-learn lets that pass
        raise InputError("Sample weights must contain at least one non-zero number.")
    return np.asarray(checked)


def validate_groups(groups: Any, X: Any) -> Indices:
    """The number of each row's group, in order of appearance; groups are any hashable values, one
    for each row of X."""
    values = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    if len(values) != X.shape[0]:
        raise InputError(
            f"groups must hold one value for each of the {X.shape[0]} rows, got {len(values)}."
        )
    numbers: dict[Any, int] = {}
    for row, value in enumerate(values):
        try:
            missing = value is None or bool(value != value)
            numbers.setdefault(value, len(numbers))
        except (
            TypeError,
            ValueError,
        ):  # not hashable, or pandas' NA, which is neither true nor false
            missing = True
        if missing:
            raise InputError(
                f"groups must hold a number, a text or another hashable value, got {value!r} at row {row}."
            )
    return np.array([numbers[value] for value in values])


_ROW_DATA: dict[str, Callable[[Any, Any], Array]] = {
    "sample_weight": validate_sample_weight,
    "groups": validate_groups,
}


@contextmanager
def raise_input_errors() -> Iterator[None]:
    """Raise scikit-learn's own complaints about parameters and features as errors of our family."""
    try:
        yield
    except InvalidParameterError as error:
        raise ParameterError(str(error)) from None
    except ValueError as error:
        raise InputError(_shorten_message(str(error))) from None


@contextmanager
def explain_overflow(X: Any) -> Iterator[None]:
    """Raise an error with the cause if a computation fails because sums of squares of the features
    overflow."""
    try:
        yield
    except (np.linalg.LinAlgError, OverflowError):
        largest = float(abs(X).max())
        if largest < 1e150:
            raise
        problem = f"X holds {largest:.2g}, too large to compute with"
        raise InputError(f"{problem}: divide its column, or correct it.") from None


def _shorten_message(message: str) -> str:
    """A message of scikit-learn without the whole array, and without advice to use another
    library's classifier."""
    first, _, rest = message.partition("\n")
    if first == "Complex data not supported":
        return f"{first}: X must hold real numbers."
    if first.endswith("contains NaN."):
        return f"{first[:-1]}: fill such cells (sklearn.impute does), or leave their rows out."
    return (
        f"{first[:-1]}. {rest[rest.find('Reshape') :]}"
        if first.endswith("array instead:")
        else message
    )
