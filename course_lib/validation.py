"""Validation: configs and arguments are of their types, strictly, and in range.

``True`` is no int, 8.0 is none either, "3" is no number and NaN is in no range. Imports only the
standard library.
"""

import math
from collections.abc import Collection
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Literal, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from torch import Tensor


def check_fields(
    config: object,
    *,
    zero: Collection[str] = (),
    positive: Collection[str] = (),
    shares: Collection[str] = (),
) -> None:
    """Check the fields of a dataclass by the types that it declares.

    An int is at least 1, a float finite and at least 0, a Literal one of its values. Fields of
    other types than these, bool, str and dataclasses are not checked.

    Args:
        config: The dataclass.
        zero: Names of ints that may be 0 too.
        positive: Names of floats that may not be 0.
        shares: Names of floats that are below 1.

    Raises:
        TypeError: A value is of another type; the message names the field.
        ValueError: A value is out of range; likewise.
    """
    for name, kind in get_type_hints(type(config)).items():
        value = getattr(config, name)
        if get_origin(kind) is Literal:
            if value not in get_args(kind):
                raise ValueError(f"{name} must be one of {get_args(kind)}, got {value!r}")
        elif kind is int:
            check_at_least(0 if name in zero else 1, **{name: value})
        elif kind is float:
            _check_type(name, value, int, float)
            if name in shares and not 0 <= value < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {value}")
            if name in positive and not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value}")
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {value}")
        elif kind in (bool, str) or is_dataclass(kind):
            _check_type(name, value, kind)


def check_at_least(least: int, **values: int) -> None:
    """Check sizes and counts.

    Args:
        least: What each must be at least.
        values: The values, by what the caller calls them.

    Raises:
        TypeError: A value is no int; the message names it.
        ValueError: A value is smaller; likewise.
    """
    for name, value in values.items():
        _check_type(name, value, int)
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def check_divisible(**values: int) -> None:
    """Check that the first of two values is divisible by the second.

    Args:
        values: Both, by what the caller calls them.

    Raises:
        ValueError: It is not.
    """
    (name, value), (divisor_name, divisor) = values.items()
    if value % divisor != 0:
        raise ValueError(f"{name}={value} must be divisible by {divisor_name}={divisor}")


def check_not_string(**values: object) -> None:
    """Check that a caller gives several strings: one string is taken for its letters otherwise.

    Args:
        values: The values, by what the caller calls them.

    Raises:
        TypeError: A value is a string; the message names it.
    """
    for name, value in values.items():
        if isinstance(value, str):
            raise TypeError(f"{name} must hold strings, got the string {value!r:.60}")


def check_batch(**tensors: "Tensor") -> None:
    """Check that tensors are batches of sequences of vectors, as many in each.

    Args:
        tensors: The tensors, ``(batch, length, width)`` each, by what the caller calls them.

    Raises:
        ValueError: One is of other dimensions, or they differ in batch; the message says which.
    """
    for name, tensor in tensors.items():
        if len(tensor.shape) != 3:
            raise ValueError(
                f"{name} must have shape (batch, length, width), got {tuple(tensor.shape)}; "
                f"{name}[None] is a batch of one"
            )
    sizes = [tensor.shape[0] for tensor in tensors.values()]
    if any(size != sizes[0] for size in sizes):
        raise ValueError(f"{', '.join(tensors)} must agree in batch, got {sizes}")


def check_width(x: "Tensor", **width: int) -> None:
    """Check that a tensor's vectors have the width of a layer: one of 1 would be broadcast.

    Args:
        x: A tensor, its vectors along the last dimension.
        width: The layer's width, by what the layer calls it.

    Raises:
        ValueError: The vectors are of another width; the message names both.
    """
    for name, size in width.items():
        if len(x.shape) < 1 or x.shape[-1] != size:
            raise ValueError(f"x must have shape (..., {name}={size}), got {tuple(x.shape)}")


def _check_type(name: str, value: object, *kinds: type) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{name} must be of type {kinds[-1].__name__}, got {value!r}")
