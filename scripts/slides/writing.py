"""Decks and their PDFs in a folder, measured and printed by Chromium."""

import html
from collections.abc import Sequence
from pathlib import Path

import yaml
from playwright.sync_api import Browser

from scripts import contents
from scripts.chromium import running_chromium
from scripts.slides.deck import HEIGHT, WIDTH, deck, draft, surroundings
from scripts.slides.lecture import read_lecture

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "book" / "_build" / "html"
TIMEOUT = 600_000  # milliseconds
_FITTING = Path(__file__).with_name("fitting.js")
_READY = "document.fonts.ready.then(() => true)"


def foot() -> str:
    """Return the foot of a deck's first slide as HTML: the course and its authors."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    title, author = (html.escape(str(config[key])) for key in ("title", "author"))
    return f"{title}, by {author} (CC BY 4.0)"


def write_deck(browser: Browser, site: Path, name: str, folder: Path) -> int:
    """Write the deck of the chapter ``name`` as a file in a folder; return the number of slides."""
    text = (site / "book" / f"{name}.html").read_text("utf-8")
    lecture, around = read_lecture(name, text), surroundings(site, text)
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    file = folder / f"{name}.html"
    file.write_text(draft(lecture, around), encoding="utf-8")
    page.goto(file.absolute().as_uri())
    page.evaluate(_READY)
    placed = page.evaluate(_FITTING.read_text("utf-8"))
    file.write_text(deck(lecture, around, placed, foot()), encoding="utf-8")
    context.close()
    return sum(map(len, placed))


def print_deck(browser: Browser, file: Path) -> None:
    """Print a deck ``NAME.html`` beside it as ``NAME.pdf`` and, with notes, ``NAME-notes.pdf``."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.set_default_timeout(TIMEOUT)
    for query, kind in (("", ""), ("&showNotes=separate-page", "-notes")):
        page.goto(f"{file.absolute().as_uri()}?view=print{query}")
        page.evaluate(_READY)
        # They come a frame after Reveal says that it is ready.
        page.wait_for_selector(".pdf-page", state="attached")
        page.pdf(
            path=file.with_name(f"{file.stem}{kind}.pdf"),
            prefer_css_page_size=True,
            print_background=True,
        )
    page.context.close()


def write_slides(folder: Path, names: Sequence[str] = (), site: Path = SITE) -> None:
    """Write the decks of chapters and their PDFs into a folder.

    Args:
        folder: The folder for all files.
        names: Names of the chapters; all chapters if empty.
        site: The folder of the built book.

    Raises:
        FileNotFoundError: A chapter is not built, or there is no Chromium.
    """
    names = names or contents.chapters((ROOT / "_toc.yml").read_text("utf-8"))
    for name in names:
        if not (site / "book" / f"{name}.html").is_file():
            raise FileNotFoundError(f"page {name!r} is not built in {site}; first: make book")
    folder.mkdir(parents=True, exist_ok=True)
    with running_chromium() as browser:
        for name in names:
            slides = write_deck(browser, site, name, folder)
            print_deck(browser, folder / f"{name}.html")
            print(f"{name}: {slides} slides", flush=True)
    print(f"{len(names)} decks in {folder}: NAME.html, NAME.pdf, and NAME-notes.pdf with the notes")
