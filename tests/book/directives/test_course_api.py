"""The library's reference in the book: every public name, from the docstrings."""

import importlib
import inspect
import re
from pathlib import Path

import lxml.html
import pytest
from course_book.directives.api import (
    hide_first_colon,
    link_chapter,
    package_modules,
    show_commands,
)

ROOT = Path(__file__).parents[3]
PAGES = {
    file.stem: re.findall(r"\{course-api\} (.+)", file.read_text(encoding="utf-8"))[0].split()
    for file in sorted((ROOT / "book").glob("api-*.md"))
}


def modules_on(page):
    """Return the names of the library's modules that a page of the reference describes."""
    return [m for name in PAGES[page] for m in package_modules(ROOT / "course_lib", name)]


def test_the_pages_hold_each_module_of_the_library_once():
    every = (file.relative_to(ROOT / "course_lib") for file in ROOT.glob("course_lib/**/*.py"))
    modules = [".".join(file.with_suffix("").parts) for file in every if file.stem[0] != "_"]
    described = [module for page in PAGES for module in modules_on(page)]
    assert sorted(m for m in described if m in modules) == sorted(modules)
    with pytest.raises(ValueError, match="no package 'x'"):
        package_modules(ROOT / "course_lib", "x")


def test_a_source_is_one_paragraph_with_its_chapter_linked():
    lines = ["Do it.", "", "Source: Somebody (2017), section 3;", '    chapter "BLEU".', ""]
    link_chapter(lines, {"bleu": "BLEU"})
    source = "Source: Somebody (2017), section 3; chapter :doc:`BLEU </book/bleu>`."
    assert lines[2:] == [source, ""]


def test_words_before_a_colon_are_no_type():
    lines = ["Count.", "", "Returns:", "    Bytes: two a number.", ""]
    hide_first_colon(lines, "function")
    assert lines[3] == "    : Bytes: two a number."
    lines = ["The folder: on the disk."]
    hide_first_colon(lines, "property")
    assert lines == [": The folder: on the disk."]


def test_commands_in_a_modules_docstring_are_a_literal_block():
    lines = ["Run it.", "", "    run --all", "    run --one", "", "Then::", "", "    as it is", ""]
    show_commands(lines, "module")
    assert lines[2:6] == [".. code-block:: text", "", "    run --all", "    run --one"]
    assert lines[6:] == ["", "Then::", "", "    as it is", ""]


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_every_public_name_of_a_module_has_its_entry(site, page):
    html = (site / "book" / f"{page}.html").read_text()
    for name in modules_on(page):
        module = importlib.import_module(f"course_lib.{name}")
        for name, thing in vars(module).items():
            made_here = getattr(thing, "__module__", None) == module.__name__
            if made_here and (inspect.isclass(thing) or inspect.isfunction(thing)):
                expected = f'id="{module.__name__}.{name}"'
                assert (expected in html) is not name.startswith("_"), expected


def test_constants_are_described_without_their_values(site):
    described = "//dl[contains(@class, 'py data') or contains(@class, 'py attribute')]/dt"
    signatures = [
        signature.text_content()
        for page in PAGES
        for signature in lxml.html.parse(site / "book" / f"{page}.html").xpath(described)
    ]
    assert len(signatures) > 20
    assert not [signature for signature in signatures if "=" in signature]
