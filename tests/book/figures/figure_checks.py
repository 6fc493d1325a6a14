"""What the tests of figures share: their data models by name, and numbers as pages write them."""

from collections.abc import Callable
from typing import Any

import pytest


def model_of(name: str) -> Any:
    """The class that checks the data of the figure of this name."""
    from course_book.figures.registry import FIGURES

    return FIGURES[name].model


def table_of(name: str, data: dict[str, Any]) -> str:
    """The table that stands for a figure where no script runs."""
    return model_of(name).from_json(data).table()


def refuses(
    name: str, data: dict[str, Any], *cases: tuple[dict[str, Any], str]
) -> Callable[[dict[str, Any], str], None]:
    """A test that a figure's model refuses good data with each of these changes, or with more.

    Args:
        name: The figure.
        data: What is accepted.
        cases: What is changed, and a pattern of what is said of it.
    """

    surplus = ({"surplus": 1}, "expected an object with")

    @pytest.mark.parametrize(("changes", "message"), [surplus, *cases])
    def test(changes: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            model_of(name).from_json(data | changes)

    return test


def as_number(text: str) -> float:
    """A number as figures write it."""
    return float(text.replace("\N{MINUS SIGN}", "-"))
