"""A fixture for the tests of checkpoints."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(theirs, tmp_path) -> Path:
    """A folder with the test module's model ``theirs``, as `transformers` saves it."""
    theirs.save_pretrained(tmp_path)
    return tmp_path
