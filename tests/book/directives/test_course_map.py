"""The course's map in the book comes from course_lib."""

from bs4 import BeautifulSoup
from course_book.directives.course_map import map_lines

from course_lib.course_map import COURSE_MAP, MapRow


def test_a_chapter_has_one_row_with_all_its_modules_and_homeworks():
    rooms = [
        MapRow("masks", "masking", "hw03"),
        MapRow("bleu", "bleu", None),
        MapRow("attention", "masking", "hw03"),
        MapRow("", "bleu", "hw09"),
        MapRow("", "word-order"),
    ]
    assert map_lines(rooms, ["bleu"])[2:] == [
        "| masking | {py:mod}`masks <course_lib.masks>`, "
        "{py:mod}`attention <course_lib.attention>` | `hw03` |",
        "| {doc}`/book/bleu` | {py:mod}`bleu <course_lib.bleu>` | `hw09` |",
        "| word order |  |  |",
    ]


def test_the_table_names_every_module_of_the_course(build_page):
    built = build_page("# Map\n\n```{course-map}\n```\n")
    assert built.warnings == ""
    rows = BeautifulSoup(built.html, "html.parser").table.tbody.find_all("tr")
    assert len(rows) == len({room.chapter for room in COURSE_MAP})
    modules = {code.text for row in rows for code in row.find_all("td")[1].find_all("code")}
    assert modules == {room.module for room in COURSE_MAP if room.module}


def test_a_chapter_that_the_contents_leave_out_is_named_and_not_linked(build_page):
    built = build_page(
        "# Page\n\n```{course-map}\n```\n\n```{schedule}\nbleu masking\n```\n\n"
        "```{toctree}\nbook/bleu\n```\n",
        left_out=["book/masking.md"],
        **{"book/bleu": "(bleu)=\n# BLEU\n", "book/masking": "(masking)=\n# Masking\n"},
    )
    assert built.warnings == ""
    tables = BeautifulSoup(built.html, "html.parser").find_all("table")
    for table in tables:
        assert [link["href"] for link in table.find_all("a")] == ["book/bleu.html"]
        assert "masking" in table.text
    assert len(tables) == 2
