"""The names of the book's pages, from its table of contents; a fork's book may have fewer."""

from functools import cache
from pathlib import Path

import pytest

from scripts import contents

ROOT = Path(__file__).parents[2]


@cache
def book_pages() -> tuple[str, ...]:
    """Return the names of all pages, such as ``masking``, in order."""
    return tuple(contents.book_pages(ROOT))


@cache
def pages_with_code() -> tuple[str, ...]:
    """Return the names of the pages that the build runs as notebooks."""
    texts = {name: (ROOT / "book" / f"{name}.md").read_text("utf-8") for name in book_pages()}
    return tuple(name for name, text in texts.items() if "kernelspec:" in text)


def chapters() -> list[str]:
    """Return the names of the chapters, without pages such as the glossary."""
    return contents.chapters((ROOT / "_toc.yml").read_text("utf-8"))


def in_book(page: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if the book has no page of this name, as in a fork."""
    return pytest.mark.skipif(page not in book_pages(), reason=f"{page} is not in _toc.yml")
