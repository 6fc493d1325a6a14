"""What decides how the library's tests end: the library and the tests, but for real data."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let each be left out while nothing of that has changed."""
    if "course_data" not in item.fixturenames:
        item.add_marker(pytest.mark.depends_on("course_lib", "tests/course_lib"))
