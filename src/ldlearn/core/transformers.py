"""Transformers that users bring: copies of them that give arrays."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline


def clone_for_arrays(transformer: Any) -> Any:
    """A copy that gives arrays or sparse matrices, though the transformer may have been told to give data frames.

    The steps of a pipeline before the last keep what they were told: a later one may choose columns by name.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> clone_for_arrays(StandardScaler().set_output(transform="pandas")).fit_transform([[1.0], [3.0]])
    array([[-1.],
           [ 1.]])
    """
    copy = clone(transformer)
    last = copy
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if hasattr(last, "set_output"):
        # A union of transformers sets itself first, and then refuses if one of its parts cannot be set.
        with suppress(ValueError):
            last.set_output(transform="default")
    return copy
