"""Plans of a course, the time to read a chapter, and the table of homework."""

import re
from pathlib import Path

import pytest
from course_book.directives.chapters import chapter_titles, reading_minutes
from course_book.directives.homework_table import homework_row
from course_book.directives.schedule import check_plan, plan_lines, read_plan, rows_in_book

from course_lib.course_map import COURSE_MAP, MapRow

BOOK = Path(__file__).parents[3] / "book"
ROWS = [
    *(MapRow("a", "one", "hw1"), MapRow("b", "two", "hw1"), MapRow("c", "three", None)),
    *(MapRow("", "word-order"), MapRow("", "word-order", "hw09-angles")),
]


def test_a_plan_is_a_line_a_week():
    weeks = read_plan(["one two | hw1", "", "three word-order | hw09-angles", "four"])
    assert weeks[0] == (("one", "two"), ("hw1",))
    check_plan(weeks, ROWS, pages=["four"])


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (["one | hw1", "two"], r"week 1: hw1 needs \['two'\] first"),
        (["one", "four"], "week 2: 'four' is unknown"),
        (["one", "one"], "week 2: 'one' is unknown, or comes twice"),
        (["one two | hw1", "three | hw1"], "'hw1' is unknown to COURSE_MAP, or comes twice"),
        (["one | hw09-angles"], r"hw09-angles needs \['word-order'\] first"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_rejected(plan, message):
    with pytest.raises(ValueError, match=message):
        check_plan(read_plan(plan), ROWS)


def test_the_table_adds_up_hours_and_names_unused_chapters_of_the_book():
    weeks = read_plan(["one three"])
    lines = plan_lines(weeks, ROWS[:3], {"one": "One"}, {"one": 90, "three": 30})
    assert lines[2] == "| 1 | {doc}`/book/one`, three | 2.0 |  |"
    assert lines[-1] == "Left out: two, `hw1`."
    rows = rows_in_book(ROWS[:3], read_plan(["one | hw1"]), ["one"])
    assert plan_lines(read_plan(["one | hw1"]), rows, {}, {})[-1].startswith("| 1 |")


def test_the_longest_plan_of_the_book_leaves_nothing_out():
    contents = (BOOK.parent / "_toc.yml").read_text(encoding="utf-8")
    in_book = set(re.findall(r"- file: book/(\S+)", contents))
    teachers = (BOOK / "for-teachers.md").read_text(encoding="utf-8")
    plans = re.findall(r"```\{schedule\}\n(.*?)```", teachers, flags=re.DOTALL)
    assert len(plans) == 3
    rows = rows_in_book(COURSE_MAP, [], in_book)
    for plan in plans:
        check_plan(read_plan(plan.splitlines()), rows)
    longest = plan_lines(read_plan(plans[0].splitlines()), rows, {}, {})
    assert not longest[-1].startswith("Left out")


def test_minutes_count_prose_questions_figures_and_unfolded_code():
    source = (
        "---\na: b\n---\n# One two\n\nthree $x$\n\n```{code-cell} ipython3\nfour = 4\n```\n\n"
        "```{code-cell} ipython3\n:tags: [hide-input]\n\nnine = 9\n```\n\n"
        "```{code-cell} ipython3\n---\ntags: [remove-input]\n---\nsix = 6\n```\n\n"
        "```{predict}\n:label: x\n\nfive six\n\n- [x] ten\n```\n\n```{interactive} y\nseven\n```\n"
        "```{solution-start} z\n```\neight\n```{solution-end}\n```\n"
    )
    assert reading_minutes(source) == 8  # 8 words and a line, a question of 2, a figure of 5
    assert reading_minutes(source.replace("four = 4", "four = 4\n" * 36)) == 11
    assert reading_minutes(source.replace("three", "three " * 240)) == 10
    assert reading_minutes(source.replace("eight", "eight " * 999)) == 8


def test_titles_are_those_of_the_chapters():
    titles = chapter_titles(BOOK)
    assert titles["kv-caching"] == "Caching keys and values"
    assert titles.keys() == {file.stem for file in BOOK.glob("*.md")}


SOURCE = (
    "# # Homework 1: Counting\n# **Time:** about two hours if you count fast\n"
    '# %% test="a-b" points=1.5 read="x"\n# %% test="a-c" points=2\n'
    '# %% [markdown] written="why" points=3 read="x"\n'
)


def test_a_homework_has_a_title_a_time_and_points():
    assert homework_row("hw01-x", SOURCE) == "| Counting `hw01-x` | two hours | 2 | 3.5 | 3 |"
    for time in ("90 minutes", "one hour", "half an hour", "a minute"):
        assert f"| {time} |" in homework_row("hw01-x", SOURCE.replace("two hours", time))
    for part in ("# # Homework 1: Counting\n", "about two hours", "points"):
        with pytest.raises(ValueError, match=r"hw01-x needs a title .* a time .* points"):
            homework_row("hw01-x", SOURCE.replace(part, ""))
