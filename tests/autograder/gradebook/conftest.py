from pathlib import Path

import pytest

from tests.homework.tables import load_homework, solved_notebook

HOMEWORK = "hw03-self-attention"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("source") / f"{HOMEWORK}.ipynb"
    path.write_bytes(solved_notebook(HOMEWORK))
    return path


@pytest.fixture(scope="module")
def homework():
    return load_homework(HOMEWORK)
