"""Veiled answers in a browser: lifted, found, linked to, printed."""

import pytest

from tests.book.directives.conftest import CHAPTER, DESKTOP
from tests.book.small_book import depends_on_small_book
from tests.book.watched_page import depends_on_page, opened

pytestmark = [
    pytest.mark.browser,
    depends_on_small_book,
    pytest.mark.depends_on("scripts/chromium.py"),
]

QUESTION = "predict-coin"
VEIL = f'[data-course-after="{QUESTION}"]'
BUTTON = f"{VEIL} > .course-veil__line button"
INSIDE = f"{VEIL} .course-veil__content"
SEEN = "part => part.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })"


def is_seen(page) -> bool:
    """Return whether the answer to the prediction is visible."""
    return page.locator(f"{INSIDE} > *").first.evaluate(SEEN)


@pytest.fixture
def from_server(chromium, small_served):
    """The page with questions, opened from a server."""
    with opened(chromium, f"{small_served}/{CHAPTER}", viewport=DESKTOP) as watched:
        yield watched.page


@pytest.mark.parametrize(
    ("page", "right", "mark"), [("from_server", True, "so it is"), ("chapter", False, "otherwise")]
)
def test_a_prediction_lifts_the_veil_and_is_repeated_there(request, page, right, mark):
    chapter = request.getfixturevalue(page)
    assert not is_seen(chapter)
    counted = chapter.locator("nav.bd-links .current .course-count")
    assert counted.count() == 0
    answers = f"#{QUESTION} .course-choice[data-right={str(right).lower()}] label"
    label = chapter.locator(answers).first
    label.click()
    assert is_seen(chapter)
    assert counted.text_content() == " 1/3 questions answered"
    words = chapter.locator(f"{VEIL} .course-veil__words")
    assert label.inner_text() in words.inner_text()
    assert mark in words.evaluate("words => getComputedStyle(words, '::after').content")
    assert not chapter.locator(BUTTON).is_visible()
    chapter.reload()
    assert is_seen(chapter)
    chapter.locator(f"#{QUESTION}").get_by_role("button", name="Start again").click()
    assert not is_seen(chapter)


def test_the_keyboard_lifts_the_veil_and_nothing_above_it_moves(chapter):
    places = f"""() => {[f"#{QUESTION}", VEIL, INSIDE]}.map(
        (place) => document.querySelector(place).getBoundingClientRect().top + scrollY)"""
    chapter.locator(VEIL).scroll_into_view_if_needed()
    before = chapter.evaluate(places)
    chapter.locator(BUTTON).press("Enter")
    assert is_seen(chapter)
    assert chapter.evaluate(places) == pytest.approx(before, abs=1)
    assert chapter.locator(INSIDE).evaluate("part => part === document.activeElement")
    chapter.reload()
    assert is_seen(chapter)


def test_veiled_content_takes_no_focus_and_is_not_read_out(chapter):
    inside = chapter.locator(f"{INSIDE} button, {INSIDE} a").first
    inside.evaluate("part => part.focus()")
    assert not inside.evaluate("part => part === document.activeElement")
    assert "once you have predicted" in chapter.locator(VEIL).aria_snapshot()
    first = chapter.locator(f"{INSIDE} p").first.text_content()
    assert first[:40] not in chapter.locator("article").first.aria_snapshot()


def test_the_browsers_search_and_a_link_lift_the_veil(chapter):
    content = chapter.locator(INSIDE)
    assert content.get_attribute("hidden") == "until-found"
    content.evaluate("part => part.dispatchEvent(new Event('beforematch'))")
    assert is_seen(chapter)
    chapter.evaluate("localStorage.clear()")
    chapter.goto(f"{chapter.url.partition('#')[0]}?#proof-of-it")
    chapter.wait_for_function(f"document.querySelector('{VEIL}').matches('.is-lifted')")
    assert chapter.locator(f"{INSIDE} #proof-of-it").evaluate(SEEN)


def test_paper_and_pages_without_scripts_have_no_veil(chapter, chromium, small_served):
    chapter.emulate_media(media="print")
    assert is_seen(chapter)
    assert not chapter.locator(f"{VEIL} .course-veil__line").is_visible()
    with opened(chromium, f"{small_served}/{CHAPTER}", java_script_enabled=False) as watched:
        assert watched.page.locator(f"{INSIDE} > *").first.is_visible()
        assert not watched.page.locator(f"{VEIL} .course-veil__line").is_visible()


@pytest.mark.proof
@depends_on_page("what-attention-learns", "build/book/_build/html/book/intro.html")
def test_answered_questions_are_counted_in_the_contents_and_on_the_map(chromium, served):
    address = f"{served}/book/what-attention-learns.html"
    with opened(chromium, address, viewport=DESKTOP) as watched:
        page = watched.page
        page.locator("#predict-reverse-weights .course-choice label").first.click()
        questions = page.locator("[data-course-choices]").count()
        counted = f" 1/{questions} questions answered"
        assert page.locator("nav.bd-links .current .course-count").text_content() == counted
        page.goto(f"{served}/book/intro.html")
        row = page.locator(".course-map tr", has_text="What attention learns")
        assert row.locator(".course-count").text_content() == counted
        station = page.locator(".course-station", has_text="What attention learns")
        assert station.locator(".course-count").text_content() == counted
        filled = "station => station.style.getPropertyValue('--answered')"
        assert float(station.evaluate(filled)) == pytest.approx(1 / questions)
        others = page.locator(".course-station:not(:has(.course-count))")
        assert {*others.evaluate_all(f"all => all.map({filled})")} == {"0"}
