"""Looks at what a student's code returned before a test computes with it.

Each function gives back what it was given, once it is known to be of the right kind; whether the
values are right is for the test to say.
"""

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from course_lib.testing import CheckFailure, assert_close, assert_shape

_NO_RETURN = "nothing is returned: is a return missing?"


def checked(
    actual: Any,
    shape: Iterable[int],
    *,
    dtype: torch.dtype = torch.float32,
    what: str = "output",
    hint: str = "",
) -> Tensor:
    """Give back a tensor, once its shape and its dtype are right and its entries finite.

    Args:
        actual: What the code under test returned.
        shape: The expected size of each dimension.
        dtype: The expected dtype.
        what: What to call it in the message.
        hint: What to look at when it differs.

    Returns:
        The same tensor.

    Raises:
        CheckFailure: It is no tensor, of another shape or dtype, or holds NaN or infinity.
    """
    assert_shape(actual, shape, what=what, hint=hint)
    tensor: Tensor = actual
    if tensor.dtype != dtype or not tensor.isfinite().all():
        assert_close(tensor, tensor.detach().nan_to_num().to(dtype), what=what, hint=hint)
    return tensor


def checked_number(actual: Any, *, what: str) -> float:
    """Give back a number, once it is Python's own and finite.

    Args:
        actual: What the code under test returned.
        what: What to call it in the message.

    Returns:
        The same number.

    Raises:
        CheckFailure: It is a tensor, a bool or no number at all, or NaN or infinite.
    """
    if isinstance(actual, bool) or not isinstance(actual, int | float):
        hint = "a tensor is no plain number; .item() gives the number that it holds"
        if actual is None:
            hint = _NO_RETURN
        raise CheckFailure(f"{what} is no plain number", hint=hint)
    if not math.isfinite(actual):
        raise CheckFailure(f"{what} is NaN or infinite")
    return actual


def as_number(actual: Any, *, what: str, hint: str = "") -> Tensor:
    """Give a number as a tensor, where a tensor that holds one number will do too.

    Args:
        actual: What the code under test returned.
        what: What to call it in the message.
        hint: What to look at when it is no number.

    Returns:
        The number, float32, without dimensions.

    Raises:
        CheckFailure: It is no number.
    """
    if isinstance(actual, Tensor) and actual.numel() == 1:
        actual = actual.item()
    if not isinstance(actual, Real):
        raise CheckFailure(f"{what} is no number", hint=hint)
    return torch.tensor(float(actual))


def as_pair(actual: Any, summary: str, *, hint: str = "") -> tuple[Any, Any]:
    """Give both parts of a pair.

    Args:
        actual: What the code under test returned.
        summary: What to say when it is no pair.
        hint: What to look at then.

    Returns:
        The first part and the second.

    Raises:
        CheckFailure: It is one tensor, a text or a mapping, or has not two parts.
    """
    try:
        first, second = actual
    except (TypeError, ValueError):
        hint = _NO_RETURN if actual is None else hint
        raise CheckFailure(summary, hint=hint) from None
    if isinstance(actual, Tensor | str | Mapping):
        raise CheckFailure(summary, hint=hint)
    return first, second


__all__ = ["as_number", "as_pair", "checked", "checked_number"]
