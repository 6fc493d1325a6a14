"""The course's map in the book comes from ``course_lib``."""

from course_book.directives.course_map import map_lines

from course_lib.course_map import COURSE_MAP, MapRow


def test_a_chapter_has_one_row_with_all_its_modules_and_homework():
    rows = [
        MapRow("masks", "masking", "hw03"),
        MapRow("bleu", "bleu", None),
        MapRow("attention", "masking", "hw03"),
        MapRow("", "bleu", "hw09"),
        MapRow("", "word-order"),
    ]
    assert map_lines(rows, ["bleu"])[2:] == [
        "| masking | {py:mod}`masks <course_lib.masks>`, "
        "{py:mod}`attention <course_lib.attention>` | `hw03` |",
        "| {doc}`/book/bleu` | {py:mod}`bleu <course_lib.bleu>` | `hw09` |",
        "| word order |  |  |",
    ]


def test_chapters_outside_the_contents_are_named_and_not_linked(build_page):
    built = build_page(
        "# Page\n\n```{course-map}\n```\n\n```{schedule}\nbleu masking\n```\n\n"
        "```{toctree}\nbook/bleu\n```\n",
        left_out=["book/masking.md"],
        **{"book/bleu": "(bleu)=\n# BLEU\n", "book/masking": "(masking)=\n# Masking\n"},
    )
    tables = built.page.find_all("table")
    assert len(tables) == 2
    for table in tables:
        assert [link["href"] for link in table.find_all("a")] == ["book/bleu.html"]
        assert "masking" in table.text
    cells = [row.find_all("td")[1] for row in tables[0].tbody.find_all("tr")]
    modules = {code.text for cell in cells for code in cell.find_all("code")}
    assert modules == {row.module for row in COURSE_MAP if row.module}
