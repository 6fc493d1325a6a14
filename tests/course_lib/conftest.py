"""Fixtures for the library's tests, and a mark of the files that they depend on."""

from pathlib import Path

import pytest

from course_lib.models.pretrained.installed import minilm_folder, smollm2_file


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The GGUF file of SmolLM2; tests are skipped if it is missing."""
    try:
        return smollm2_file()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of MiniLM; tests are skipped if it is missing."""
    try:
        return minilm_folder()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test without the fixture ``course_data`` as dependent on library and tests only."""
    if "course_data" not in item.fixturenames:
        item.add_marker(pytest.mark.depends_on("course_lib", "tests/course_lib"))
