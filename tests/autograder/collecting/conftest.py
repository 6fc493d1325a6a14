"""Where a class is collected into."""

from pathlib import Path

import pytest


@pytest.fixture
def into(tmp_path) -> Path:
    return tmp_path / "class"
