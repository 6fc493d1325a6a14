import dataclasses
import html.parser

import pytest

from autograder.clean_text import clean_text, one_line
from autograder.judging.results import CellFailure, Flag, FlagKind, Status, SubmissionResult
from autograder.marks.standing import stand
from autograder.reports.feedback import feedback_path, render_feedback
from tests.autograder.graded_class import HOMEWORK, TRACEBACK, result

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "</pre></style></title><svg/onload=alert(1)>",
    "{{ 7 * 7 }}{% include 'x' %}",
    "&lt;b&gt; &#60;script&#62;",
    "javascript:alert(1)",
]


class Outline(html.parser.HTMLParser):
    """A page's HTML as lists of its ``tags`` and ``attributes``, and its ``text``."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.text += " " if tag in ("p", "dd", "dt", "li", "div", "h2", "span", "strong") else ""
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def everywhere(text: str) -> SubmissionResult:
    """Return a result with ``text`` in every field that a student's code can fill."""
    made = result(text, Status.ERROR, Status.FAIL, message=text, hint=text, traceback=text)
    failure = CellFailure(cell=text, status=Status.CRASH, message=text, traceback=text)
    return dataclasses.replace(
        made,
        cell_failures=(failure,),
        error=f"error {text}",
        flags=(Flag(kind=FlagKind.HOSTILE, text=text, cell=text),),
    )


def words_of(page: str) -> str:
    return " ".join(Outline(page).text.split())


def test_says_marks_message_hint_traceback_and_where_to_read():
    made = result("ada", Status.ERROR, Status.FAIL, hint="Multiply by two.", traceback=TRACEBACK)
    words = words_of(render_feedback(stand(made), HOMEWORK))
    assert "0 of the 3 points graded so far" in words
    assert "0 of 2 checks pass. Start with The shape stays." in words
    assert "Exercise 1: twice as much" in words
    assert "The shape stays" in words
    assert "Stopped with an error" in words
    assert "Not yet right" in words
    assert "result differs in 3 of 4 places" in words
    assert "Hint Multiply by two." in words
    assert "ValueError: no" in words
    assert "Read on: chapter Doubling, section “Twice as much”" in words
    assert "Written answers – of 3" in words
    assert "To be graded by hand" in words


def test_a_single_failed_check_is_named_without_a_place_to_start():
    words = words_of(render_feedback(stand(result("ada", Status.FAIL)), HOMEWORK))
    assert "1 of 2 checks pass. Not yet right: The shape stays." in words
    assert "One mistake can fail several" not in words


def test_cells_that_failed_come_first():
    failure = CellFailure(cell="double", status=Status.ERROR, message="SyntaxError: line 2")
    made = dataclasses.replace(result("ada", Status.ERROR), cell_failures=(failure,))
    words = words_of(render_feedback(stand(made), HOMEWORK))
    assert "Start with the cells that did not run to their end" in words
    assert words.index("SyntaxError: line 2") < words.index("The shape stays")


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_told_in_words_and_by_a_symbol(status):
    from autograder.reports.status_words import STATUS_WORDS

    page = render_feedback(stand(result("ada", status)), HOMEWORK)
    assert STATUS_WORDS[status].word in page
    assert f'aria-hidden="true">{STATUS_WORDS[status].symbol}</span>' in page


def test_nothing_of_the_staff_is_in_it():
    made = dataclasses.replace(
        result("ada", Status.FAIL, seed=987_654_321),
        flags=(Flag(kind=FlagKind.FORGED, text="copied from ben"),),
        sandboxed=False,
    )
    page = render_feedback(stand(made), HOMEWORK)
    for secret in ("987654321", "copied from ben", "HIDDEN_LINE", "return 2 * x", "sandbox"):
        assert secret not in page


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "ftp://x/y"])
def test_an_address_that_is_no_page_is_refused(address):
    with pytest.raises(ValueError, match="book_url"):
        render_feedback(stand(result("ada")), HOMEWORK, book_url=address)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x9b31mred", "red"),
        ("a\u202egnp.exe", "a\ufffdgnp.exe"),
        ("a\x00b\x07c", "a\ufffdb\ufffdc"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("caf\udce9", "caf\ufffd"),
        ("e" + "\u0301" * 50, "e" + "\u0301" * 4),
        ("می\u200cخواهم 李小龙 Nováková", "می\u200cخواهم 李小龙 Nováková"),
    ],
)
def test_text_is_cleaned(written, shown):
    assert clean_text(written) == shown
    page = render_feedback(stand(everywhere(written)), HOMEWORK)
    assert page.encode("utf-8")
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_long_text_is_cut_with_a_note_and_keeps_its_end():
    cut = clean_text("a" * 5_000_000 + "the end", limit=3000)
    assert len(cut) < 3100
    assert "4,997,007 characters left out" in cut
    assert cut.endswith("the end")
    page = render_feedback(stand(everywhere("<&" * 3_000_000)), HOMEWORK)
    assert len(page) < 300_000
    assert "characters left out" in page
    assert one_line("word " * 100, 20) == "word word word word…"


def test_path_is_the_students_and_leads_nowhere_else():
    assert str(feedback_path(result("ada"))) == "feedback/ada/hw00-double.html"
    for name in ("..", ".", "", "a/b", "a\0b"):
        with pytest.raises(ValueError, match="no name of a folder"):
            feedback_path(result(name))
