"""The small book, published at an address, which its tests share."""

from pathlib import Path

import pytest

from tests.book.small_book import build_small_book

BASE = "https://course.example.org/book-site"
REPOSITORY = "https://github.com/some-school/the-course"


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its pages."""
    return build_small_book(
        tmp_path_factory.mktemp("published") / "book",
        base=BASE,
        repository=REPOSITORY,
        colab_url="https://colab.research.google.com",
        jupyterhub_url="https://hub.example.org/",
    )
