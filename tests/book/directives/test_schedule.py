"""Plans of a course: what can't be followed is refused, and what is left out is said."""

import re
from pathlib import Path

import pytest
from course_book.directives.chapters import reading
from course_book.directives.homework_table import homework_row
from course_book.directives.schedule import check_plan, plan_lines, read_plan, rows_in_book

from course_lib.course_map import COURSE_MAP, MapRow

TEACHERS = Path(__file__).parents[3] / "book" / "for-teachers.md"
ROOMS = [MapRow("a", "one", "hw1"), MapRow("b", "two", "hw1"), MapRow("c", "three", None)]


def test_a_plan_is_a_line_a_week():
    weeks = read_plan(["one two | hw1", "", "three"])
    assert weeks == [(("one", "two"), ("hw1",)), (("three",), ())]
    check_plan(weeks, ROOMS)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (["one | hw1", "two"], r"week 1: hw1 needs \['two'\] first"),
        (["one", "four"], "week 2: 'four' is unknown"),
        (["one", "one"], "week 2: 'one' is unknown, or comes twice"),
        (
            ["one two | hw1", "three | hw1"],
            "week 2: 'hw1' is unknown to COURSE_MAP, or comes twice",
        ),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        check_plan(read_plan(plan), ROOMS)


def test_a_chapter_of_the_books_alone_can_be_read():
    check_plan(read_plan(["one four"]), ROOMS, pages=["four"])


def test_the_table_adds_up_hours_and_names_what_is_left_out():
    lines = plan_lines(read_plan(["one three"]), ROOMS, {"one": "One"}, {"one": 90, "three": 30})
    assert lines[2] == "| 1 | {doc}`/book/one`, three | 2.0 |  |"
    assert lines[-1] == "Left out: two, `hw1`."


def test_what_the_book_leaves_out_is_neither_waited_for_nor_named():
    weeks = read_plan(["one | hw1"])
    rooms = rows_in_book(ROOMS, weeks, ["one"])
    check_plan(weeks, rooms)
    assert plan_lines(weeks, rooms, {"one": "One"}, {"one": 90})[-1].startswith("| 1 |")


def test_a_homework_and_a_chapter_of_ones_own_need_no_module():
    rooms = [*ROOMS, MapRow("", "word-order"), MapRow("", "word-order", "hw09-angles")]
    check_plan(read_plan(["word-order | hw09-angles"]), rooms)
    with pytest.raises(ValueError, match=r"hw09-angles needs \['word-order'\] first"):
        check_plan(read_plan(["one | hw09-angles"]), rooms)


def chapters_of_the_book() -> set[str]:
    contents = (TEACHERS.parents[1] / "_toc.yml").read_text(encoding="utf-8")
    return set(re.findall(r"- file: book/(\S+)", contents))


def test_the_longest_plan_of_the_book_leaves_nothing_out():
    plans = re.findall(r"```\{schedule\}\n(.*?)```", TEACHERS.read_text(), flags=re.DOTALL)
    assert len(plans) == 3
    rooms = rows_in_book(COURSE_MAP, [], chapters_of_the_book())
    for plan in plans:
        check_plan(read_plan(plan.splitlines()), rooms)
    longest = plan_lines(read_plan(plans[0].splitlines()), rooms, {}, {})
    assert not longest[-1].startswith("Left out")


def test_reading_counts_prose_questions_and_the_code_that_is_shown():
    source = (
        "---\na: b\n---\n# One two\n\nthree $x$\n\n```{code-cell} ipython3\nfour = 4\n```\n\n"
        "```{code-cell} ipython3\n:tags: [hide-input]\n\nnine = 9\n```\n\n"
        "```{code-cell} ipython3\n---\ntags: [remove-input]\n---\nsix = 6\n```\n\n"
        "```{predict}\n:label: x\n\nfive six\n\n- [x] ten\n```\n\n```{interactive} y\nseven\n```\n"
        "```{solution-start} z\n```\neight\n```{solution-end}\n```\n"
    )
    counted = reading(source)
    assert (counted.questions, counted.figures, counted.exercises) == (1, 1, 0)
    words = ["One", "two", "three", "predict", "label", "five", "six", "ten"]
    assert counted.words == len(words)
    assert counted.code_lines == 1
    assert counted.minutes == 8  # a few words and a line, a question of 2, a figure of 5
    assert reading(source.replace("four = 4", "four = 4\n" * 36)).minutes == 11


SOURCE = (
    "# # Homework 1: Counting\n# **Time:** about two hours if you count fast\n"
    '# %% test="a-b" points=1.5 read="x"\n# %% test="a-c" points=2\n'
    '# %% [markdown] written="why" points=3 read="x"\n'
)


def test_a_homework_says_what_it_is_worth_and_how_long_it_takes():
    assert homework_row("hw01-x", SOURCE) == "| Counting `hw01-x` | two hours | 2 | 3.5 | 3 |"


@pytest.mark.parametrize("time", ["90 minutes", "one hour", "half an hour", "a minute"])
def test_a_time_may_be_short(time):
    assert f"| {time} |" in homework_row("hw01-x", SOURCE.replace("two hours", time))


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        ("# # Homework 1: Counting\n", "its title, '# # Homework 3: Masks', in its first cell"),
        ("about two hours", "'# **Time:** about two hours', or minutes, in its introduction"),
        ("points", "points, such as points=2, on the first line of each test"),
    ],
)
def test_what_a_homework_must_say_is_told_with_an_example(left_out, expected):
    with pytest.raises(ValueError) as told:
        homework_row("hw01-x", SOURCE.replace(left_out, ""))
    assert str(told.value) == f"hw01-x must say {expected}"
