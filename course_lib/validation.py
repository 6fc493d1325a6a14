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

    An int is at least 1, or 0 if named in ``zero``; a float finite and at least 0, above 0 if named
    in ``positive``, below 1 if named in ``shares``; a Literal one of its values. bool, str and
    dataclasses are checked for their types, other fields not at all. The TypeError or ValueError
    names the field.
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
    """Raise an error, which names the value, unless all are ints and at least ``least``."""
    for name, value in values.items():
        _check_type(name, value, int)
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def check_divisible(**values: int) -> None:
    """Raise a ValueError unless the first of two named values is divisible by the second."""
    (name, value), (divisor_name, divisor) = values.items()
    if value % divisor != 0:
        raise ValueError(f"{name}={value} must be divisible by {divisor_name}={divisor}")


def check_not_string(**values: object) -> None:
    """Raise a TypeError for a named value that is a string, not a collection of strings."""
    for name, value in values.items():
        if isinstance(value, str):
            raise TypeError(f"{name} must hold strings, got the string {value!r:.60}")


def check_batch(**tensors: "Tensor") -> None:
    """Raise a ValueError unless named tensors are ``(batch, length, width)`` and agree in batch."""
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
    """Raise a ValueError unless the last dimension of ``x`` has the width, given by its name."""
    for name, size in width.items():
        if len(x.shape) < 1 or x.shape[-1] != size:
            raise ValueError(f"x must have shape (..., {name}={size}), got {tuple(x.shape)}")


def _check_type(name: str, value: object, *kinds: type) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{name} must be of type {kinds[-1].__name__}, got {value!r}")
