"""Quizzes and predictions under a reader's hands: pointer, keyboard, reload, no scripts."""

import pytest
from playwright.sync_api import Locator, Page

from tests.book.directives.conftest import CHAPTER
from tests.book.small_book import depends_on_small_book
from tests.book.watched_page import opened

pytestmark = [
    pytest.mark.browser,
    depends_on_small_book,
    pytest.mark.depends_on("scripts/chromium.py"),
]

SINGLE = ".course-choices--quiz:has(input[type=radio])"


def first(page: Page, selector: str) -> Locator:
    root = page.locator(selector).first
    root.scroll_into_view_if_needed()
    return root


def answer(root: Locator, *, right: bool) -> Locator:
    return root.locator(f'.course-choice[data-right="{str(right).lower()}"]').first


def test_a_wrong_answer_says_wrong_and_why(chapter):
    quiz = first(chapter, SINGLE)
    wrong = answer(quiz, right=False)
    why = wrong.locator(".course-choice__why")
    assert not why.is_visible()
    wrong.locator("label").click()
    assert why.is_visible()
    assert "Wrong." in why.inner_text()
    assert len(why.inner_text().split()) > 3
    assert "Wrong" in quiz.get_by_role("status").inner_text()
    assert not answer(quiz, right=True).locator(".course-choice__why").is_visible()


def test_a_right_answer_says_right_and_why(chapter):
    quiz = first(chapter, SINGLE)
    answer(quiz, right=False).locator("label").click()
    answer(quiz, right=True).locator("label").click()
    assert "Right." in answer(quiz, right=True).locator(".course-choice__why").inner_text()
    assert quiz.get_by_role("status").inner_text().startswith("Right.")
    assert not answer(quiz, right=False).locator(".course-choice__why").is_visible()


def test_an_answer_survives_a_reload_until_one_starts_again(chapter):
    label = first(chapter, SINGLE).get_attribute("id")
    answer(chapter.locator(f"#{label}"), right=True).locator("label").click()
    chapter.reload()
    quiz = chapter.locator(f"#{label}")
    assert answer(quiz, right=True).locator("input").is_checked()
    assert answer(quiz, right=True).locator(".course-choice__why").is_visible()
    quiz.get_by_role("button", name="Start again").click()
    assert quiz.locator("input:checked").count() == 0
    chapter.reload()
    assert chapter.locator(f"#{label} input:checked").count() == 0


def test_an_answer_to_an_edited_question_is_forgotten(chapter):
    label = first(chapter, SINGLE).get_attribute("id")
    answer(chapter.locator(f"#{label}"), right=True).locator("label").click()
    chapter.evaluate(
        """() => Object.keys(localStorage).filter((key) => key.includes("choices:")).forEach(
            (key) => localStorage.setItem(
                key, localStorage.getItem(key).replace(/"version":"\\w+"/, '"version":"old"')))"""
    )
    chapter.reload()
    assert chapter.locator(f"#{label} input:checked").count() == 0


def test_the_keyboard_alone_answers(chapter):
    quiz = first(chapter, SINGLE)
    inputs = quiz.locator("input")
    inputs.first.focus()
    chapter.keyboard.press("ArrowDown")  # moves and chooses, as in every radio group
    assert inputs.nth(1).is_checked()
    assert quiz.locator(".course-choice__why:visible").count() == 0, "judged while passing by"
    assert "Enter" in quiz.get_by_role("status").inner_text()
    chapter.keyboard.press("Enter")
    assert quiz.locator(".course-choice__why:visible").count() == 1
    described = inputs.nth(1).get_attribute("aria-describedby")
    assert chapter.locator(f"#{described}").is_visible()
    chapter.keyboard.press("ArrowDown")
    assert inputs.nth(1).get_attribute("aria-describedby") is None, "folded, and still read out"


def test_several_right_answers_are_counted(chapter):
    quiz = first(chapter, ".course-choices--quiz:has(input[type=checkbox])")
    rights = quiz.locator('.course-choice[data-right="true"]')
    total = rights.count()
    assert total > 1
    rights.first.locator("input").focus()
    chapter.keyboard.press("Space")
    assert f"1 of {total} right answers found" in quiz.get_by_role("status").inner_text()
    answer(quiz, right=False).locator("label").click()
    assert "wrong one" in quiz.get_by_role("status").inner_text()
    answer(quiz, right=False).locator("label").click()
    for index in range(1, total):
        rights.nth(index).locator("label").click()
    assert quiz.get_by_role("status").inner_text().startswith("Right: these are all.")


def test_a_prediction_reveals_what_happens_and_stands(chapter):
    predict = first(chapter, ".course-choices--predict")
    label = predict.get_attribute("id")
    reveal = predict.locator(".course-choices__reveal")
    assert not reveal.is_visible()
    answer(predict, right=False).locator("label").click()
    assert reveal.is_visible()
    assert "otherwise" in predict.get_by_role("status").inner_text()
    assert predict.locator("input:disabled").count() == predict.locator("input").count() - 1
    chapter.reload()
    assert chapter.locator(f"#{label} .course-choices__reveal").is_visible()


def test_an_arrow_key_that_changes_nothing_is_forgotten(chapter):
    predict = first(chapter, ".course-choices--predict")
    answer(predict, right=False).locator("label").click()
    answer(predict, right=False).locator("input").focus()
    chapter.keyboard.press("ArrowDown")  # every other answer is disabled
    predict.get_by_role("button", name="Start again").click()
    answer(predict, right=True).locator("label").click()
    assert predict.get_by_role("status").inner_text().startswith("You predicted it.")
    assert predict.locator(".course-choices__reveal").is_visible()


@pytest.mark.parametrize(
    ("right", "heard"),
    [
        (True, "Right. Two is what 1+1 gives."),
        (False, "Wrong. Try another answer. Take 1 from it: it is one too many."),
    ],
)
def test_verdict_reason_and_formula_are_read_out_once(chapter, right, heard):
    quiz = first(chapter, SINGLE)
    answer(quiz, right=right).locator("label").click()
    assert quiz.get_by_role("status").text_content() == heard


def test_without_scripts_answers_unfold(chromium, small_served):
    with opened(chromium, f"{small_served}/{CHAPTER}", java_script_enabled=False) as watched:
        for kind in ("quiz", "predict"):
            root = first(watched.page, f".course-choices--{kind}")
            folded = root.locator("details").last
            assert folded.locator("summary").is_visible()
            assert not folded.locator("p").first.is_visible()
            folded.locator("summary").click()
            assert folded.locator("p").first.is_visible()


REFUSE = """
for (const name of ["getItem", "setItem", "removeItem"]) {
    Storage.prototype[name] = (key) => {
        if (String(key).includes("choices:")) throw new DOMException("refused");
        return null;
    };
}
"""


def test_where_the_browser_keeps_nothing_a_quiz_still_answers(chromium, small_served):
    address = f"{small_served}/{CHAPTER}"
    with opened(chromium, address, script_before=REFUSE) as watched:
        quiz = first(watched.page, SINGLE)
        answer(quiz, right=True).locator("label").click()
        assert quiz.get_by_role("status").inner_text().startswith("Right.")
    assert not [problem for problem in watched.problems if problem.startswith("exception")]
