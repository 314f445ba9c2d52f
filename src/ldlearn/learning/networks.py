"""What neural networks share: the sizes of their hidden layers."""

from collections.abc import Iterable
from numbers import Integral
from typing import Annotated

from ldlearn.base import PositiveInt
from ldlearn.exceptions import InputError

LayerSizes = PositiveInt | Annotated[Iterable[int], "array-like"]


def check_layer_sizes(hidden_layer_sizes: int | Iterable[int]) -> list[int]:
    """Units of each hidden layer; an integer is a single layer."""
    if not isinstance(hidden_layer_sizes, Iterable):
        return [hidden_layer_sizes]
    sizes = list(hidden_layer_sizes)
    if not sizes or any(not isinstance(size, Integral) or size < 1 for size in sizes):
        raise InputError(
            f"hidden_layer_sizes must hold one or more integers from 1 up, got {sizes}."
        )
    return sizes


def check_single_layer(hidden_layer_sizes: int | Iterable[int]) -> int:
    """Units of the hidden layer of a network that has only one."""
    sizes = check_layer_sizes(hidden_layer_sizes)
    if len(sizes) > 1:
        raise InputError(
            f"hidden_layer_sizes must hold one integer, got {sizes}: there is one hidden layer."
        )
    return sizes[0]
