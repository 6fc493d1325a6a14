"""Reading questions: what authors may write, and what they are told when they slip."""

import re
from pathlib import Path

import pytest
from course_book.directives.choices import ChoicesError, parse_choices, require_reasons

CHAPTERS = sorted((Path(__file__).parents[3] / "book").glob("*.md"))
GOOD = """What is
2 + 2?

- [ ] three
      or so
  > Count again.
- [x] four
  > Two and two
  >
  > make four.
""".splitlines()


def test_reads_question_answers_and_reasons():
    question = parse_choices(GOOD)
    assert question.text.lines == ["What is", "2 + 2?", ""]
    wrong, right = question.answers
    assert (wrong.right, wrong.text.lines, wrong.why.lines) == (
        False,
        ["three", "or so"],
        ["Count again."],
    )
    assert (right.right, right.text.lines, right.why.lines) == (
        True,
        ["four"],
        ["Two and two", "", "make four."],
    )
    assert (wrong.text.line, wrong.why.line, right.text.line) == (3, 5, 6)
    assert not question.multiple
    assert not question.reveal


def test_several_right_answers_make_it_multiple():
    assert parse_choices(["Q", "- [x] a", "- [X] b", "- [ ] c"]).multiple


def shown(text):
    return [" ".join(answer.text.lines) for answer in parse_choices(text).mixed_answers]


def test_the_right_answer_comes_at_every_place_alike():
    places = [shown([f"Q {n}", "- [ ] a", "- [x] b", "- [ ] c"]).index("b") for n in range(300)]
    assert all(75 < places.count(place) < 125 for place in range(3))


def test_answers_keep_their_order_from_build_to_build():
    text = ["Which?", "- [x] a", "- [ ] b", "- [ ] c", "- [ ] d", "- [ ] e"]
    assert sorted(shown(text)) == ["a", "b", "c", "d", "e"]
    assert shown(text) == shown([text[0], *reversed(text[1:])]) == ["c", "b", "e", "a", "d"]


@pytest.mark.parametrize(
    "last", ["both", "either of them", "Neither; it rescales", "none of these", "all of them"]
)
def test_an_answer_about_the_others_stays_behind_them(last):
    for n in range(20):
        assert shown([f"Q {n}", f"- [ ] {last}", "- [x] a", "- [ ] b"])[2] == last


def test_a_word_that_only_begins_like_them_has_no_place_of_its_own():
    orders = {tuple(shown([f"Q {n}", "- [x] nonetheless", "- [ ] a"])) for n in range(20)}
    assert len(orders) == 2


def test_text_after_the_answers_is_revealed():
    question = parse_choices(["Q", "", "- [x] a", "- [ ] b", "", "So it", "- goes"])
    assert question.reveal.lines == ["So it", "- goes"]
    assert question.reveal.line == 5


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("- [x] a\n- [ ] b", 0, "no question"),
        ("Q", 0, "at least two answers"),
        ("Q\n- [x] a", 0, "at least two answers"),
        ("Q\n\n- [ ] a\n- [ ] b", 2, "no answer is marked right"),
        ("Q\n- [x] a\n- [ ]", 2, "no text"),
        ("Q\n- [x] a\n- [ ] a", 2, "given twice"),
        ("Q\n- [] a\n- [x] b", 1, "looks like an answer"),
        ("Q\n- [y] a\n- [x] b", 1, "looks like an answer"),
        ("Q\n  - [x] a\n- [ ] b", 1, "looks like an answer"),
        ("Q\n- [x] a\n  > why\n  more\n- [ ] b", 3, "follows an explanation"),
        ("Q\n- [x] a\n- [ ] b\n\nSo.\n- [ ] c", 5, "looks like an answer"),
    ],
)
def test_says_what_is_wrong_and_where(text, line, message):
    with pytest.raises(ChoicesError, match=message) as caught:
        parse_choices(text.splitlines())
    assert caught.value.line == line


def test_every_answer_of_a_quiz_needs_a_reason():
    require_reasons(parse_choices(GOOD))
    with pytest.raises(ChoicesError, match="'b' has no explanation") as caught:
        require_reasons(parse_choices(["Q", "- [x] a", "  > yes", "- [ ] b"]))
    assert caught.value.line == 3


def test_a_link_in_a_list_is_no_answer():
    question = parse_choices(["Q", "- [see](there)", "- [x] a", "- [ ] b"])
    assert len(question.answers) == 2


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_chapter_calls_an_answer_by_its_place(chapter):
    """Readers meet answers in another order than they are written in."""
    by_place = re.compile(r"\b(first|second|third|last)( two| three)? (answer|option)s?\b")
    assert [line for line in chapter.read_text().splitlines() if by_place.search(line)] == []
