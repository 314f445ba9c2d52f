"""What estimators return: arrays, or the data frames that `set_output` asks for."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from sklearn import config_context

from ldlearn._messages import check_choice
from ldlearn.base.sklearn_private import ADAPTERS_MANAGER, get_container_adapter

_Estimator = TypeVar("_Estimator")
_Method = TypeVar("_Method", bound=Callable[..., Any])


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
        check_choice("transform", transform, sorted(ADAPTERS_MANAGER.supported_outputs))
        # scikit-learn's `clone` copies this name.
        vars(self)["_sklearn_output_config"] = {"transform": transform}
    return self


def wrap_output(method: _Method) -> _Method:
    """Convert the array or arrays that a method returns, one column per label, to data frames."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **params: Any) -> Any:
        with config_context(transform_output="default"):  # inner transformers return arrays
            degrees = method(self, X, *args, **params)
        adapter = get_container_adapter("transform", self)
        if adapter is None:
            return degrees

        def to_frame(D: Any) -> Any:
            return adapter.create_container(D, X, columns=list(self.label_names_), inplace=False)

        return tuple(map(to_frame, degrees)) if isinstance(degrees, tuple) else to_frame(degrees)

    return cast(_Method, wrapped)
