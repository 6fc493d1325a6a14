"""The Markdown of questions: its parts, and the errors for malformed ones."""

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


def test_a_question_has_answers_and_reasons():
    question = parse_choices(GOOD)
    assert question.text.lines == ["What is", "2 + 2?", ""]
    wrong, right = question.answers
    assert (wrong.right, wrong.text.lines) == (False, ["three", "or so"])
    assert wrong.why.lines == ["Count again."]
    assert (right.right, right.text.lines) == (True, ["four"])
    assert right.why.lines == ["Two and two", "", "make four."]
    assert (wrong.text.line, wrong.why.line, right.text.line) == (3, 5, 6)
    assert not question.multiple
    assert not question.reveal
    assert parse_choices(["Q", "- [x] a", "- [X] b", "- [ ] c"]).multiple
    assert len(parse_choices(["Q", "- [see](there)", "- [x] a", "- [ ] b"]).answers) == 2


def shown(text):
    """Return the answers of a question's source lines in the order in which readers see them."""
    return [" ".join(answer.text.lines) for answer in parse_choices(text).mixed_answers]


def test_the_right_answer_is_at_every_place_equally_often():
    places = [shown([f"Q {n}", "- [ ] a", "- [x] b", "- [ ] c"]).index("b") for n in range(300)]
    assert all(75 < places.count(place) < 125 for place in range(3))


def test_the_order_of_answers_depends_on_their_text_alone():
    text = ["Which?", "- [x] a", "- [ ] b", "- [ ] c", "- [ ] d", "- [ ] e"]
    assert shown(text) == shown([text[0], *reversed(text[1:])]) == ["c", "b", "e", "a", "d"]


def test_an_answer_about_the_others_is_last():
    for n in range(20):
        for last in (
            "both",
            "either of them",
            "Neither; it rescales",
            "none of these",
            "all of it",
        ):
            assert shown([f"Q {n}", f"- [ ] {last}", "- [x] a", "- [ ] b"])[2] == last
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
def test_a_malformed_question_is_rejected_at_its_line(text, line, message):
    with pytest.raises(ChoicesError, match=message) as caught:
        parse_choices(text.splitlines())
    assert caught.value.line == line


def test_every_answer_of_a_quiz_needs_a_reason():
    require_reasons(parse_choices(GOOD))
    with pytest.raises(ChoicesError, match="'b' has no explanation") as caught:
        require_reasons(parse_choices(["Q", "- [x] a", "  > yes", "- [ ] b"]))
    assert caught.value.line == 3


def test_no_chapter_refers_to_an_answer_by_its_place():
    """Readers meet answers in another order than they are written in."""
    by_place = re.compile(r"\b(first|second|third|last)( two| three)? (answer|option)s?\b")
    lines = [(path.stem, line) for path in CHAPTERS for line in path.read_text().splitlines()]
    assert [line for line in lines if by_place.search(line[1])] == []


QUESTION = re.compile(r"^(`{3,})\{(quiz|predict)\}\n(.*?)^\1", re.MULTILINE | re.DOTALL)


def test_length_gives_no_answer_away():
    longest, shortest = [], []
    for match in (m for path in CHAPTERS for m in QUESTION.finditer(path.read_text())):
        lines = [line for line in match[3].splitlines() if not line.startswith(":label:")]
        answers = parse_choices(lines).answers
        if len(answers) != 3 or sum(answer.right for answer in answers) > 1:
            continue
        by_length = sorted(answers, key=lambda answer: len(" ".join(answer.text.lines)))
        shortest.append(by_length[0].right)
        longest.append(by_length[-1].right)
    assert len(longest) > 100
    for right in (shortest, longest):  # guessing by length is no better than chance
        assert 0.25 < sum(right) / len(right) < 0.4
