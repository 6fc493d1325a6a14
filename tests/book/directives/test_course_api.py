"""The library's reference in the book: every public name, out of the docstrings."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from course_book.directives.api import (
    hide_first_colon,
    link_chapter,
    show_commands,
    stretch,
)
from course_book.directives.chapters import chapter_titles

from course_lib.course_map import COURSE_MAP, MapRow

BOOK = Path(__file__).parents[3] / "book"
ROOMS = [
    MapRow("bleu", "bleu", None),
    MapRow("masks", "masking", None),
    MapRow("bert", "bert", None),
]


def test_a_stretch_holds_both_its_ends():
    assert stretch(ROOMS, "bleu", "masking") == ROOMS[:2]
    assert stretch(ROOMS, "bert", "bert") == ROOMS[2:]


@pytest.mark.parametrize(
    ("ends", "message"),
    [(("bleu", "x"), "no chapter 'x'"), (("bert", "bleu"), "'bert' comes after 'bleu'")],
)
def test_a_stretch_that_cannot_be_is_refused(ends, message):
    with pytest.raises(ValueError, match=message):
        stretch(ROOMS, *ends)


def test_the_pages_hold_the_whole_map_once():
    pages = [file.read_text() for file in sorted(BOOK.glob("api-*.md"))]
    ends = [match for page in pages for match in re.findall(r"\{course-api\} (\S+) (\S+)", page)]
    held = [room for first, last in ends for room in stretch(COURSE_MAP, first, last)]
    assert sorted(held) == sorted(COURSE_MAP)


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
@pytest.mark.parametrize("page", sorted(file.stem for file in BOOK.glob("api-*.md")))
def test_every_public_name_of_a_module_has_its_entry(site, page):
    html = (site / "book" / f"{page}.html").read_text()
    ((first, last),) = re.findall(r"\{course-api\} (\S+) (\S+)", (BOOK / f"{page}.md").read_text())
    for room in stretch(COURSE_MAP, first, last):
        module = importlib.import_module(f"course_lib.{room.module}")
        for name, thing in vars(module).items():
            made_here = getattr(thing, "__module__", None) == module.__name__
            if made_here and (inspect.isclass(thing) or inspect.isfunction(thing)):
                expected = f'id="{module.__name__}.{name}"'
                assert (expected in html) is not name.startswith("_"), expected


def test_titles_are_those_of_the_chapters():
    titles = chapter_titles(BOOK)
    assert titles["kv-caching"] == "Caching keys and values"
    assert titles.keys() == {file.stem for file in BOOK.glob("*.md")}
