"""The library's reference in the book: every public name, out of the docstrings."""

import importlib
import inspect
import re
from pathlib import Path

import lxml.html
import pytest
from course_book.directives.api import (
    hide_first_colon,
    link_chapter,
    room_modules,
    show_commands,
)
from course_book.directives.chapters import chapter_titles

ROOT = Path(__file__).parents[3]
BOOK = ROOT / "book"
PAGES = {
    file.stem: re.findall(r"\{course-api\} (.+)", file.read_text(encoding="utf-8"))[0].split()
    for file in sorted(BOOK.glob("api-*.md"))
}


def modules_on(page):
    return [m for room in PAGES[page] for m in room_modules(ROOT / "course_lib", room)]


def test_a_room_holds_its_modules_and_the_rooms_in_it():
    modules = room_modules(ROOT / "course_lib", "models")
    assert modules[0] == "models"
    assert {"models.bert", "models.pretrained", "models.pretrained.bert"} <= set(modules)
    assert room_modules(ROOT / "course_lib", "testing") == ["testing"]
    with pytest.raises(ValueError, match="no room 'x'"):
        room_modules(ROOT / "course_lib", "x")


def test_the_pages_hold_each_module_of_the_library_once():
    every = (file.relative_to(ROOT / "course_lib") for file in ROOT.glob("course_lib/**/*.py"))
    modules = [".".join(file.with_suffix("").parts) for file in every if file.stem[0] != "_"]
    described = [module for page in PAGES for module in modules_on(page)]
    assert sorted(m for m in described if m in modules) == sorted(modules)


def test_a_source_is_one_paragraph_with_its_chapter_linked():
    lines = ["Do it.", "", "Source: Somebody (2017), section 3;", '    chapter "BLEU".', ""]
    link_chapter(lines, {"bleu": "BLEU"})
    assert lines[2:] == [
        "Source: Somebody (2017), section 3; chapter :doc:`BLEU </book/bleu>`.",
        "",
    ]


def test_what_stands_before_a_colon_is_no_type():
    lines = ["Count.", "", "Returns:", "    Bytes: two a number.", ""]
    hide_first_colon(lines, "function")
    assert lines[3] == "    : Bytes: two a number."


def test_the_sentence_about_a_property_names_no_type():
    lines = ["Where it lies: on the disk."]
    hide_first_colon(lines, "property")
    assert lines == [": Where it lies: on the disk."]


def test_a_command_in_a_modules_docstring_keeps_its_dashes_and_lines():
    lines = ["Run it.", "", "    run --all", "    run --one", "", "Then::", "", "    as it is", ""]
    show_commands(lines, "module")
    assert lines[2:6] == [".. code-block:: text", "", "    run --all", "    run --one"]
    assert lines[6:] == ["", "Then::", "", "    as it is", ""]
    elsewhere = ["Do it.", "", "    a quotation"]
    show_commands(elsewhere, "function")
    assert elsewhere == ["Do it.", "", "    a quotation"]


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_every_public_name_of_a_module_has_its_entry(site, page):
    html = (site / "book" / f"{page}.html").read_text()
    for room in modules_on(page):
        module = importlib.import_module(f"course_lib.{room}")
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


def test_titles_are_those_of_the_chapters():
    titles = chapter_titles(BOOK)
    assert titles["kv-caching"] == "Caching keys and values"
    assert titles.keys() == {file.stem for file in BOOK.glob("*.md")}
