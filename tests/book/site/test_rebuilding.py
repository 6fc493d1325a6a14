"""Builds after a failed or killed build are whole, and repeat its warnings."""

import json

import pytest
import yaml

from tests.book.builds import start_sphinx
from tests.book.small_book import PAGES, depends_on_small_book, run_jupyter_book, write_small_book

pytestmark = depends_on_small_book
KILLER = """
import os, signal
from pathlib import Path

def setup(app):
    if Path("kill").exists():
        app.connect("html-page-context", kill_at_the_last_page)

def kill_at_the_last_page(app, pagename, *others):
    if pagename == "book/intro":
        os.killpg(0, signal.SIGKILL)  # with KaTeX's server, which would outlive the build
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The small book, with an extension that can kill a build in the middle of writing."""
    book = tmp_path_factory.mktemp("killed") / "book"
    write_small_book(book)
    config = yaml.safe_load((book / "_config.yml").read_text())
    config["sphinx"]["local_extensions"]["killer"] = "."
    config["sphinx"]["config"]["extensions"].append("killer")
    (book / "_config.yml").write_text(yaml.safe_dump(config))
    (book / "killer.py").write_text(KILLER)
    return book


def is_whole(book):
    """Return whether a book's site has a title page, and all pages in its search."""
    site = book / "_build" / "html"
    script = (site / "_static" / "search-entries.js").read_text()
    entries = json.loads(script.partition(" = ")[2].rstrip(";\n"))
    pages = {f"book/{name}.html" for name in PAGES}
    return {entry["page"] for entry in entries} == pages and (site / "index.html").is_file()


@pytest.mark.proof
def test_the_build_after_a_killed_one_is_whole(book):
    (book / "kill").touch()
    assert run_jupyter_book(book)[0] == -9
    (book / "kill").unlink()
    assert run_jupyter_book(book)[0] == 0
    assert is_whole(book)

    (book / "kill").touch()
    (book / "book" / "intro.md").write_text(f"{PAGES['intro']}\nOne more line.\n")
    assert run_jupyter_book(book)[0] == -9
    assert not (book / "_build" / "html" / "index.html").exists()
    (book / "kill").unlink()


def test_a_warning_is_repeated_until_its_reason_is_gone(tmp_path):
    (tmp_path / "course_lib").mkdir()
    (tmp_path / "index.md").write_text("# Index\n\n```{toctree}\nother\n```\n")
    page = tmp_path / "other.md"
    page.write_text("# Page\n\nSee {doc}`missing`.\n")
    command = ("-W", "--keep-going", ".", "out")
    for _ in range(2):
        status, log = start_sphinx(*command, folder=tmp_path).wait()
        assert status != 0
        assert "unknown document" in log
    page.write_text("# Page\n")
    assert start_sphinx(*command, folder=tmp_path).wait()[0] == 0
