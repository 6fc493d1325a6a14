"""The book's pages, from its table of contents; a fork may have fewer."""

from functools import cache
from pathlib import Path

import pytest

from scripts import contents

ROOT = Path(__file__).parents[2]


@cache
def book_pages() -> tuple[str, ...]:
    """Return the names of all pages, such as ``masking``, in order."""
    return tuple(contents.book_pages(ROOT))


def in_book(page: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if the book has no such page, as in a fork.

    Args:
        page: The page's name, such as ``bleu``.
    """
    return pytest.mark.skipif(page not in book_pages(), reason=f"{page} is not in _toc.yml")
