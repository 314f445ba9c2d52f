"""scikit-learn's errors and those of linear algebra as sentences that say what to correct."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ldlearn.base.sklearn_private import InvalidParameterError
from ldlearn.exceptions import InputError, ParameterError


@contextmanager
def raise_input_errors() -> Iterator[None]:
    """Raise scikit-learn's own complaints about parameters and features as errors of our family."""
    try:
        yield
    except InvalidParameterError as error:
        raise ParameterError(str(error)) from None
    except ValueError as error:
        raise InputError(_shorten_message(str(error))) from None


def explain_overflow(X: Any) -> None:
    """Raise an error if features are so large that sums of their squares overflow."""
    largest = float(abs(X).max())
    if largest >= 1e150:
        problem = f"X holds {largest:.2g}, too large to compute with"
        raise InputError(f"{problem}: divide its column, or correct it.") from None


def _shorten_message(message: str) -> str:
    """A message of scikit-learn without the whole array and without advice to use a classifier."""
    first, _, rest = message.partition("\n")
    if first == "Complex data not supported":
        return f"{first}: X must hold real numbers."
    if first.endswith("contains NaN."):
        return f"{first[:-1]}: fill such cells (sklearn.impute does), or leave their rows out."
    if first.endswith("array instead:"):
        return f"{first[:-1]}. {rest[rest.find('Reshape') :]}"
    return message
