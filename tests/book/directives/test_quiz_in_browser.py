"""Quizzes and predictions in a browser: pointer, keyboard, reload, no scripts."""

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
SEVERAL = ".course-choices--quiz:has(input[type=checkbox])"
WHY = ".course-choice__why"


def first(page: Page, selector: str) -> Locator:
    """Return the first question of a page that matches a selector, scrolled into view."""
    root = page.locator(selector).first
    root.scroll_into_view_if_needed()
    return root


def answer(root: Locator, *, right: bool) -> Locator:
    """Return the first right or wrong answer of a question."""
    return root.locator(f'.course-choice[data-right="{str(right).lower()}"]').first


def status(root: Locator) -> str:
    """Return the text in which a question comments on the chosen answers."""
    return root.get_by_role("status").inner_text()


def test_each_answer_is_judged_with_its_reason(chapter):
    quiz = first(chapter, SINGLE)
    wrong, right = answer(quiz, right=False), answer(quiz, right=True)
    assert not wrong.locator(WHY).is_visible()
    wrong.locator("label").click()
    assert "Wrong." in wrong.locator(WHY).inner_text()
    assert len(wrong.locator(WHY).inner_text().split()) > 3
    heard = "Wrong. Try another answer. Take 1 from it: it is one too many."
    assert quiz.get_by_role("status").text_content() == heard
    assert not right.locator(WHY).is_visible()
    right.locator("label").click()
    assert "Right." in right.locator(WHY).inner_text()
    assert quiz.get_by_role("status").text_content() == "Right. Two is what 1+1 gives."
    assert not wrong.locator(WHY).is_visible()


def test_an_answer_is_kept_until_the_reader_starts_again_or_the_question_changes(chapter):
    quiz = first(chapter, SINGLE)
    label = quiz.get_attribute("id")
    answer(quiz, right=True).locator("label").click()
    chapter.reload()
    quiz = chapter.locator(f"#{label}")
    assert answer(quiz, right=True).locator("input").is_checked()
    assert answer(quiz, right=True).locator(WHY).is_visible()
    quiz.get_by_role("button", name="Start again").click()
    chapter.reload()
    assert chapter.locator(f"#{label} input:checked").count() == 0
    answer(chapter.locator(f"#{label}"), right=True).locator("label").click()
    chapter.evaluate(
        """() => Object.keys(localStorage).filter((key) => key.includes("choices:")).forEach(
            (key) => localStorage.setItem(
                key, localStorage.getItem(key).replace(/"version":"\\w+"/, '"version":"old"')))"""
    )
    chapter.reload()
    assert chapter.locator(f"#{label} input:checked").count() == 0


def test_the_keyboard_chooses_with_arrows_and_answers_with_enter(chapter):
    quiz = first(chapter, SINGLE)
    inputs = quiz.locator("input")
    inputs.first.focus()
    chapter.keyboard.press("ArrowDown")  # moves and chooses, as in every radio group
    assert inputs.nth(1).is_checked()
    assert quiz.locator(f"{WHY}:visible").count() == 0
    assert "Enter" in status(quiz)
    chapter.keyboard.press("Enter")
    assert quiz.locator(f"{WHY}:visible").count() == 1
    described = inputs.nth(1).get_attribute("aria-describedby")
    assert chapter.locator(f"#{described}").is_visible()
    chapter.keyboard.press("ArrowDown")
    assert inputs.nth(1).get_attribute("aria-describedby") is None  # folded again


def test_several_right_answers_are_counted(chapter):
    quiz = first(chapter, SEVERAL)
    rights = quiz.locator('.course-choice[data-right="true"]')
    total = rights.count()
    assert total > 1
    rights.first.locator("input").focus()
    chapter.keyboard.press("Space")
    assert f"1 of {total} right answers found" in status(quiz)
    answer(quiz, right=False).locator("label").click()
    assert "wrong one" in status(quiz)
    answer(quiz, right=False).locator("label").click()
    for index in range(1, total):
        rights.nth(index).locator("label").click()
    assert status(quiz).startswith("Right: these are all.")


def test_a_prediction_reveals_the_outcome_and_cannot_be_changed(chapter):
    predict = first(chapter, ".course-choices--predict")
    reveal = predict.locator(".course-choices__reveal")
    assert not reveal.is_visible()
    answer(predict, right=False).locator("label").click()
    assert reveal.is_visible()
    assert "otherwise" in status(predict)
    assert predict.locator("input:disabled").count() == predict.locator("input").count() - 1
    chapter.reload()
    assert reveal.is_visible()
    answer(predict, right=False).locator("input").focus()
    chapter.keyboard.press("ArrowDown")  # every other answer is disabled
    predict.get_by_role("button", name="Start again").click()
    answer(predict, right=True).locator("label").click()
    assert status(predict).startswith("You predicted it.")


def test_answers_unfold_without_scripts(chromium, small_served):
    with opened(chromium, f"{small_served}/{CHAPTER}", java_script_enabled=False) as watched:
        for kind in ("quiz", "predict"):
            folded = first(watched.page, f".course-choices--{kind}").locator("details").last
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


def test_a_quiz_works_in_a_browser_without_storage(chromium, small_served):
    address = f"{small_served}/{CHAPTER}"
    with opened(chromium, address, is_clean=False, script_before=REFUSE) as watched:
        quiz = first(watched.page, SINGLE)
        answer(quiz, right=True).locator("label").click()
        assert status(quiz).startswith("Right.")
    assert not [problem for problem in watched.problems if problem.startswith("exception")]
