"""Homework and feedback send students to places in the book: are they there?"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r'(?:\bread="|\(book:)([a-z-]+)(?:#([a-z0-9-]+))?')


def links() -> list[tuple[str, str]]:
    """Every chapter and anchor that a homework names."""
    found = set()
    for path in (ROOT / "solutions").glob("*.py"):
        found |= set(LINK.findall(path.read_text(encoding="utf-8")))
    return sorted(found)


def test_homework_does_link_to_the_book():
    assert len(links()) > 30


@pytest.mark.parametrize(("chapter", "anchor"), links(), ids=lambda part: part or "top")
def test_the_place_is_there(site, chapter, anchor):
    page = (site / "book" / f"{chapter}.html").read_text(encoding="utf-8")
    assert not anchor or f'id="{anchor}"' in page
