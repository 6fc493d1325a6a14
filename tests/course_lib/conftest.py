"""What decides how the library's tests end: the library and the tests, but for real data."""

from pathlib import Path

import pytest

from course_lib.models.pretrained.installed import minilm_folder, smollm2_file


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The GGUF file of SmolLM2."""
    try:
        return smollm2_file()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of MiniLM."""
    try:
        return minilm_folder()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let each be left out while nothing of that has changed."""
    if "course_data" not in item.fixturenames:
        item.add_marker(pytest.mark.depends_on("course_lib", "tests/course_lib"))
