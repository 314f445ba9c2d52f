"""Degrees as data frames: scikit-learn's `set_output`, for what `predict`, `enhance` and their like give."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Self, TypeVar, cast

from sklearn import config_context

from ldlearn.base.sklearn_private import ADAPTERS_MANAGER, get_container_adapter
from ldlearn.exceptions import ParameterError

_Method = TypeVar("_Method", bound=Callable[..., Any])


class OutputMixin:
    """An estimator that gives degrees as arrays, or as data frames with the label names as columns."""

    label_names_: Any

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `predict`, `enhance`, `fit_enhance` and intervals of these give.

        Without a choice, `sklearn.set_config(transform_output=...)` holds, as for any transformer of scikit-learn; the
        default of that are arrays.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Arrays, or data frames of that library: one column a label, named as in ``fit``; a pandas frame keeps the
            index of X. None changes nothing.
        """
        if transform is not None:
            known = sorted(ADAPTERS_MANAGER.supported_outputs)
            if transform not in known:
                raise ParameterError(f"transform must be one of {', '.join(known)}, got {transform!r}.")
            self._sklearn_output_config = {"transform": transform}  # scikit-learn's `clone` copies this name
        return self


def default_output() -> AbstractContextManager[None]:
    """Where inner transformers and estimators give arrays, though scikit-learn is set to give data frames."""
    return cast(AbstractContextManager[None], config_context(transform_output="default"))


def wrap_output(method: _Method) -> _Method:
    """Give what a method returns, one array of shape (n, c) or several, in the container that `set_output` asks for."""

    @wraps(method)
    def wrapped(self: OutputMixin, X: Any, *args: Any, **params: Any) -> Any:
        with default_output():
            degrees = method(self, X, *args, **params)
        adapter = get_container_adapter("transform", self)
        if adapter is None:
            return degrees
        parts = degrees if isinstance(degrees, tuple) else (degrees,)
        names = list(self.label_names_)
        frames = tuple(adapter.create_container(part, X, columns=names, inplace=False) for part in parts)
        return frames if isinstance(degrees, tuple) else frames[0]

    return cast(_Method, wrapped)
