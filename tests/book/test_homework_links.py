"""Homework and feedback link to the book."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r'(?:\bread="|\(book:)([a-z-]+)(?:#([a-z0-9-]+))?')


def test_links_from_homework_and_feedback_lead_to_places_in_the_book(site):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*.py")]
    links = {link for source in sources for link in LINK.findall(source)}
    assert len(links) > 30
    for chapter, anchor in links:
        page = (site / "book" / f"{chapter}.html").read_text(encoding="utf-8")
        assert not anchor or f'id="{anchor}"' in page, (chapter, anchor)
