"""What all kinds of estimator share: one way to validate, fit and name things."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, validate_data

from ldlearn.base.frames import OutputMixin, default_output
from ldlearn.base.sklearn_private import InvalidParameterError, check_sample_weight
from ldlearn.core.targets import label_names, label_order
from ldlearn.exceptions import InputError, ParameterError, hint

RowData = dict[str, Any]
_LARGEST_ROOT = 1e75  # of a number whose square, summed over rows, is still finite


class LabelEstimator(OutputMixin, BaseEstimator):
    """What all kinds share: one way to validate, fit and name things.

    A method subclasses `Enhancer`, `Learner` or `Joint` and writes ``_fit(X, T)``, where X is a validated feature
    matrix (float64 or float32; CSR if the class accepts sparse input) and T the validated targets: a boolean array
    of logical labels or a float array of distributions. ``_fit`` sets the learned attributes.

    What else is known of the rows reaches ``_fit`` by name, and only if there is something to say: ``sample_weight``,
    positive, for a `SampleWeightMixin`, and ``known``, where T says anything, for methods that take unknown
    labels (``supports_unknown_labels``).
    """

    kind: ClassVar[str]
    _accepts_sparse: ClassVar[bool] = False
    # Parameters under which the method is small and quick; every check is run with each of them.
    _test_params: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    # Old names of parameters and the new ones: whoever uses an old one is told, files that hold it stay readable.
    _renamed_params: ClassVar[Mapping[str, str]] = {}
    _removed_params: ClassVar[tuple[str, ...]] = ()  # had a meaning once; plans and files that hold them stay readable
    # The end of the sentence that says that a fit stopped before it converged.
    _convergence_advice: ClassVar[str] = "raise max_iter, or loosen tol."
    # Facts about the method that the rest of the library asks for, instead of knowing methods by name.
    is_baseline: ClassVar[bool] = False  # a reference that looks at no feature, or does what anyone would do first
    can_enhance: ClassVar[bool] = False  # has `enhance` for new rows with known 0/1 labels
    supports_sample_weight: ClassVar[bool] = False  # has `sample_weight` in `fit`; see `SampleWeightMixin`
    supports_unknown_labels: ClassVar[bool] = False  # 0/1 labels may be NaN: neither ticked nor not
    path_params: ClassVar[tuple[str, ...]] = ()  # what `fit_path` varies at little cost
    # What the method promises; the contract checks hold it to that.
    order_invariant: ClassVar[bool] = True  # permuting the samples permutes the result
    label_invariant: ClassVar[bool] = True  # permuting the labels permutes the result
    weights_repeat_rows: ClassVar[bool] = True  # weight 2 is the row twice, if the method takes weights
    float32_tolerance: ClassVar[float] = 1e-3  # how far float32 input may move the result

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if (cls._renamed_params or cls._removed_params) and "__init__" in vars(cls):
            _tell_what_became_of_old_names(cls)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Looked up once: scikit-learn reads the signature anew for every copy, fit and check of parameters."""
        return super()._get_param_names()  # type: ignore[no-any-return]

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``step__name`` reaches into nested estimators.

        Parameters
        ----------
        **params
            Names and values.
        """
        valid = self.get_params(deep=False)
        for name in params:
            own = name.partition("__")[0]
            _refuse_old_name(type(self), own)
            if own not in valid:
                raise ParameterError(
                    f"Invalid parameter {own!r} for estimator {type(self).__name__}: there is none of this name; "
                    f"{hint(own, valid)}"
                )
        return super().set_params(**params)  # type: ignore[no-any-return]

    def fit(self, X: Any, y: Any, **row_data: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or (where supported) sparse matrix of shape (n, m)
            Features.
        y : array-like or data frame of shape (n, c)
            Targets: logical labels in {0, 1} for enhancers and joint models, label distributions for learners.
            Column names of a data frame are kept in ``label_names_``.
        **row_data
            Nothing: methods that can use more name it in their own ``fit``.

        Returns
        -------
        self
        """
        self._refuse_row_data(row_data)
        return self._fit_rows(X, y)

    def _refuse_row_data(self, row_data: RowData) -> None:
        for name in row_data:
            raise InputError(
                f"{type(self).__name__} cannot use {name!r} in fit; leave it out, or choose a method that can."
            )

    def _fit_rows(self, X: Any, y: Any, **row_data: Any) -> Self:
        """Validate, fit, finish; ``row_data`` is what else is given of each row, None where nothing is."""
        before = dict(self.__dict__)
        try:
            with raise_input_errors():
                self._validate_params()
            if row_data.get("sample_weight") is not None and not self.supports_sample_weight:
                raise InputError(f"{type(self).__name__} cannot use 'sample_weight' with the parts that it has.")
            features, targets = self._validate_training(X, y)
            given = {
                name: self._check_row_data(name, value, features)
                for name, value in row_data.items()
                if value is not None
            }
            with default_output(), explain_overflow(features):
                self._fit_validated(features, targets, given)
        except BaseException:
            # A failed fit leaves the object as it was: never half fitted.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._warn_unless_converged()
        return self

    def _check_row_data(self, name: str, value: Any, X: Any) -> Any:
        """One entry a row, checked; a method that takes more than weights checks that itself."""
        if name != "sample_weight":
            raise NotImplementedError(name)
        with raise_input_errors():
            weights = check_sample_weight(value, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():  # an older scikit-learn lets that pass
            raise InputError("Sample weights must contain at least one non-zero number.")
        return weights

    def _fit_validated(self, X: Any, T: NDArray[Any], row_data: dict[str, Any]) -> None:
        """Call ``_fit`` with the rows that count: weight 0 is as good as no row."""
        X, T, row_data, _ = drop_zero_weight_rows(X, T, row_data)
        self._fit(X, T, **row_data)
        self._finish(X, T, **row_data)

    def fit_path(self, X: Any, y: Any, points: Iterable[Mapping[str, Any]], **row_data: Any) -> Iterator[Self]:
        """Fitted copies of this estimator, one for each setting of some parameters.

        A method that can share work between settings names them in ``path_params`` and does so here; any other fits
        each copy by itself.

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

    def _warn_unless_converged(self) -> None:
        """The one way in which a fit says that it stopped early: iterative methods set ``converged_`` in ``_fit``."""
        if not getattr(self, "converged_", True):
            count = getattr(self, "n_iter_", None)
            after = "" if count is None else f" after {count} iteration{'' if count == 1 else 's'}"
            warnings.warn(
                f"{type(self).__name__} stopped{after} before it converged; {self._convergence_advice}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit(self, *rows: Any, **row_data: Any) -> None:
        raise NotImplementedError

    def _check_targets(self, y: Any) -> NDArray[Any]:
        raise NotImplementedError

    def _finish(self, X: Any, T: Any, **row_data: Any) -> None:
        """Hook after ``_fit``."""

    def _validate_training(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        features = self._validate_features(X, reset=True)
        targets = self._check_targets(y)
        with raise_input_errors():
            check_consistent_length(features, targets)
        self.label_names_ = label_names(y, targets.shape[1])
        return features, targets

    def _validate_features(self, X: Any, reset: bool = False) -> Any:
        with raise_input_errors():
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                accept_sparse="csr" if self._accepts_sparse else False,
            )

    def _match_labels(self, y: Any, check: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Checked targets with their columns in the order of the fit, by the names of y if it has any."""
        order, targets = label_order(y, self.label_names_), check(y)
        if order is not None:
            return targets[:, order]
        if targets.shape[1] != len(self.label_names_):
            raise InputError(
                f"y has {targets.shape[1]} label columns, but {type(self).__name__} was fitted with "
                f"{len(self.label_names_)}."
            )
        return targets

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.sparse = self._accepts_sparse
        return tags


class SampleWeightMixin(LabelEstimator):
    """Its objective is a sum over rows, each of which may count more or less than once.

    A method takes this as its first base and writes ``_fit(X, T, sample_weight=None)``.
    """

    supports_sample_weight = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **row_data: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or (where supported) sparse matrix of shape (n, m)
            Features.
        y : array-like or data frame of shape (n, c)
            Targets: logical labels in {0, 1} for enhancers and joint models, label distributions for learners.
            Column names of a data frame are kept in ``label_names_``.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts: 2 is the row twice, 0 no row at all. None counts every row once.
        **row_data
            Nothing: methods that can use more name it in their own ``fit``.

        Returns
        -------
        self
        """
        self._refuse_row_data(row_data)
        return self._fit_rows(X, y, sample_weight=sample_weight)


def drop_zero_weight_rows(X: Any, T: Any, row_data: RowData) -> tuple[Any, Any, RowData, NDArray[np.bool_] | None]:
    """Everything without the rows of weight 0, and which rows are left; None if all are."""
    weights = row_data.get("sample_weight")
    if weights is None or weights.all():
        return X, T, row_data, None
    kept = weights > 0
    return X[kept], T[kept], {name: value[kept] for name, value in row_data.items()}, kept


def _tell_what_became_of_old_names(cls: Any) -> None:
    """Let the constructor tell whoever uses an old parameter what it is called now, or that it is gone."""
    construct = cls.__init__

    @wraps(construct)
    def __init__(self: Any, *args: Any, **params: Any) -> None:
        for name in params:
            _refuse_old_name(cls, name)
        construct(self, *args, **params)

    cls.__init__ = __init__


def _refuse_old_name(cls: type[LabelEstimator], name: str) -> None:
    if name in cls._renamed_params:
        raise ParameterError(f"The parameter {name!r} of {cls.__name__} is now called {cls._renamed_params[name]!r}.")
    if name in cls._removed_params:
        raise ParameterError(f"{cls.__name__} has no parameter {name!r} any more; leave it out.")


@contextmanager
def raise_input_errors() -> Iterator[None]:
    """scikit-learn's own complaints about parameters and features, as errors of our family."""
    try:
        yield
    except InvalidParameterError as error:
        raise ParameterError(str(error)) from None
    except ValueError as error:
        raise InputError(_in_short(str(error))) from None


@contextmanager
def explain_overflow(X: Any) -> Iterator[None]:
    """Where a computation fails because squares of the features overflow, say so."""
    try:
        yield
    except (np.linalg.LinAlgError, OverflowError):
        largest = float(abs(X).max())
        if largest**0.5 < _LARGEST_ROOT:
            raise
        raise InputError(
            f"X holds {largest:.2g}, too large to compute with: divide its column, or correct it."
        ) from None


def _in_short(complaint: str) -> str:
    """Without the whole array, and without advice to use another library's classifier."""
    first, _, rest = complaint.partition("\n")
    if first == "Complex data not supported":
        return f"{first}: X must hold real numbers."
    if first.endswith("contains NaN."):
        return f"{first[:-1]}: fill such cells (sklearn.impute does), or leave their rows out."
    return f"{first[:-1]}. {rest[rest.find('Reshape') :]}" if first.endswith("array instead:") else complaint
