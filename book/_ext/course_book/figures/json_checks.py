"""Checks of data that come as JSON; what is wrong is said with its name and what was found.

All raise ValueError, and return what they were given once it is right: lists as tuples.
"""

import math
from collections.abc import Iterable, Sequence
from reprlib import repr as short_repr
from typing import Any

Matrix = tuple[tuple[float, ...], ...]


def require_fields(data: Any, names: Iterable[str], where: str = "") -> dict[str, Any]:
    """Check that data are an object with these fields and no other.

    Args:
        data: Anything that ``json.loads`` may return.
        names: Names of the fields.
        where: What the object is called; empty for the data as a whole.

    Returns:
        The object.

    Raises:
        ValueError: It is no object, or fields are missing or surplus.
    """
    expected = set(names)
    message = f"{where and f'{where}: '}expected an object with {sorted(expected)}, "
    if not isinstance(data, dict):
        raise ValueError(f"{message}got {type(data).__name__}")
    differences = {"missing": expected - data.keys(), "surplus": data.keys() - expected}
    if any(differences.values()):
        found = "; ".join(f"{kind}: {sorted(some)}" for kind, some in differences.items() if some)
        raise ValueError(f"{message}{found}")
    return data


def require_list(
    name: str, values: Any, items: str, fewest: int = 1, most: int | None = None
) -> list[Any]:
    """Check that values are a list of a length.

    Args:
        name: What the list is called.
        values: The list.
        items: What it holds, in the plural.
        fewest: Least number of items.
        most: Largest number of items; None for any.

    Returns:
        The list.

    Raises:
        ValueError: It is no list, or too short or too long.
    """
    if (
        not isinstance(values, list)
        or len(values) < fewest
        or (most is not None and len(values) > most)
    ):
        count = f"at least {fewest}" if most is None else f"{fewest} to {most}"
        count = str(fewest) if fewest == most else count
        raise ValueError(f"{name} must hold {count} {items}, got {short_repr(values)}")
    return values


def require_texts(
    name: str, values: Any, fewest: int = 1, most: int | None = None
) -> tuple[str, ...]:
    """Check that values are a list of texts, of a length as in ``require_list``."""
    require_list(name, values, "texts", fewest, most)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} must hold texts, got {short_repr(values)}")
    return tuple(values)


def require_model(value: Any) -> str:
    """Check that a figure's ``model`` is the name of data that the page fetches later."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"model must name the deferred data, got {value!r}")
    return value


def require_whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Check that a value is a whole number from ``low``, and up to ``high`` if that is given."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        limit = "" if high is None else f" to {high}"
        raise ValueError(f"{name} must be a whole number from {low}{limit}, got {value!r}")
    return value


def require_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: float = -math.inf,
) -> float:
    """Check that a value is a finite number from ``low`` to ``high``, and larger than ``above``."""
    if not _is_number(value, low, high, above):
        limits = _limits(low, high, above)
        raise ValueError(f"{name} must be a finite number{limits}, got {value!r}")
    return value


def require_numbers(
    name: str,
    values: Any,
    fewest: int = 1,
    most: int | None = None,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
) -> tuple[float, ...]:
    """Check that values are a list as in ``require_list``, of numbers as in ``require_number``."""
    require_list(name, values, "numbers", fewest, most)
    if not all(_is_number(value, low, high, above) for value in values):
        limits = _limits(low, high, above)
        raise ValueError(f"{name} must hold finite numbers{limits}, got {short_repr(values)}")
    return tuple(values)


def require_ascending(name: str, numbers: Sequence[float]) -> None:
    """Check that each number is larger than the one before."""
    if list(numbers) != sorted(set(numbers)):
        raise ValueError(f"{name} must hold ascending numbers, got {short_repr(list(numbers))}")


def require_matrix(name: str, rows: Any, height: int, width: int | None = None) -> Matrix:
    """Check that rows are a list of so many rows of finite numbers.

    Args:
        name: What the matrix is called.
        rows: The rows, lists of numbers.
        height: Number of rows, at least one.
        width: Numbers in each row; None for as many as the first one has, at least one.

    Returns:
        The rows.

    Raises:
        ValueError: There are more or fewer rows, or one of another width, or no numbers in it.
    """
    require_list(name, rows, "rows", height, height)
    each = f"each row of {name}"
    width = len(require_numbers(each, rows[0])) if width is None else width
    return tuple(require_numbers(each, row, width, width) for row in rows)


def require_pairs(name: str, pairs: Any, first: int, second: int) -> None:
    """Check that pairs are positions in two sequences of these lengths; there may be none."""
    for pair in require_list(name, pairs, "pairs of positions", 0):
        require_list(name, pair, "positions", 2, 2)
        for position, length in zip(pair, (first, second), strict=True):
            require_whole(name, position, 0, length - 1)


def _is_number(value: Any, low: float, high: float, above: float) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and low <= value <= high and value > above


def _limits(low: float, high: float, above: float) -> str:
    limits = {"above": above, "from": low, "to": high}
    return "".join(f" {word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit))
