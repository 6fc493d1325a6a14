"""Which pages the book has: those of its table of contents, of which a fork may have fewer."""

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
    """Mark a test that has to do with a page which a fork may have left out.

    Args:
        page: Such as ``bleu``.
    """
    return pytest.mark.skipif(page not in book_pages(), reason=f"{page} is not in _toc.yml")
