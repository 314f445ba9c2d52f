"""Parameters of estimators, declared once: name, valid values and default."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from inspect import get_annotations
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from ldlearn.base.estimator import LabelEstimator
from ldlearn.base.sklearn_private import HasMethods, Interval, StrOptions
from ldlearn.core.simplex import OUTPUT_MAPS

Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
NonNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
Fraction = Annotated[float, Interval(Real, 0, 1, closed="left")]
AtLeastOne = Annotated[float, Interval(Real, 1, None, closed="left")]
AboveOne = Annotated[float, Interval(Real, 1, None, closed="neither")]
PositiveInt = Annotated[int, Interval(Integral, 1, None, closed="left")]
AtLeastTwo = Annotated[int, Interval(Integral, 2, None, closed="left")]
OutputMap = Annotated[str, StrOptions(set(OUTPUT_MAPS))]
RandomState = Annotated[Any, "random_state"]
Transformer = Annotated[Any, HasMethods(["fit_transform", "transform"])]

_CONSTRAINTS: dict[type, Any] = {bool: "boolean", float: Real, int: Integral, NoneType: None}
_Class = TypeVar("_Class", bound=type[LabelEstimator])


@dataclass_transform(kw_only_default=True)
def estimator_dataclass(cls: _Class) -> _Class:
    """Make the annotated attributes of an estimator its parameters.

    `fit` validates them by their types. Types are those of Python (``int``, ``bool``, ``None``,
    ``Literal["a", "b"]``), or ``Annotated`` with a constraint of scikit-learn, such as `Positive`;
    ``|`` combines them. Parameters of other types are not validated.

    Examples
    --------
    >>> from ldlearn.base import Learner
    >>> @estimator_dataclass
    ... class Ridge(Learner):
    ...     l2: NonNegative = 1.0
    ...     solver: Literal["newton", "lbfgs"] = "newton"
    >>> Ridge(l2=2.0)
    Ridge(l2=2.0)
    """
    dataclass(eq=False, repr=False, kw_only=True)(cls)  # BaseEstimator has the first two
    for field in fields(cls):
        if field.name in vars(cls):
            delattr(cls, field.name)  # the constructor has the default
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if "__dataclass_params__" in vars(base):
            hints |= get_annotations(base, eval_str=True)
    declared = {field.name: list(_constraints(hints[field.name])) for field in fields(cls)}
    cls._parameter_constraints = cls._parameter_constraints | {
        name: each for name, each in declared.items() if each
    }
    cls.__init__.__annotations__ = get_type_hints(cls.__init__)  # without constraints, for `help`
    return cls


def _constraints(hint: Any) -> Iterator[Any]:
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        yield from arguments[1:]
    elif origin is Literal:
        yield StrOptions(set(arguments))
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from _constraints(argument)
    elif isinstance(hint, type) and hint is not Any:
        yield _CONSTRAINTS.get(hint, hint)
