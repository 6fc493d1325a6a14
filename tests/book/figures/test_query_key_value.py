"""The figure query-key-value under a reader's hands."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.book.watched_page import depends_on_page, opened

CHAPTERS = ("what-attention-learns", "training")
pytestmark = [
    pytest.mark.browser,
    *(depends_on_page(c, "course_lib", "tests/book/figures") for c in CHAPTERS),
]

CHAPTER = "book/what-attention-learns.html"
NAME = "[data-course-figure=query-key-value]"
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def figure(chromium, served):
    """The figure, on one page for all tests: each leaves the divisor as it was."""
    with opened(chromium, f"{served}/{CHAPTER}", viewport=DESKTOP) as watched:
        root = watched.page.locator(NAME).first
        root.scroll_into_view_if_needed()
        yield root
    assert watched.problems == []


@pytest.fixture(scope="module")
def still(chromium, site):
    """The figure where no script runs."""
    address = (site / CHAPTER).as_uri()
    with opened(chromium, address, java_script_enabled=False) as watched:
        yield watched.page.locator(NAME).first


def weights(figure) -> list[float]:
    return [float(text) for text in figure.locator(".qkv-bar--query .qkv-number").all_inner_texts()]


def chosen(figure) -> str:
    return figure.locator(".qkv-word[aria-pressed=true]").inner_text()


def test_the_script_computes_what_course_lib_computed(figure, still):
    rows = still.locator(".course-weights tbody tr").all()
    table = [[float(cell) for cell in row.locator("td").all_inner_texts()] for row in rows]
    words = figure.locator(".qkv-word")
    assert words.count() == len(table)
    for index, expected in enumerate(table):
        words.nth(index).click()
        assert weights(figure) == pytest.approx(expected, abs=0.0101)


def test_the_output_is_the_weighted_sum_of_the_values(figure):
    page = figure.page
    name = figure.get_attribute("data-course-data")
    model = json.loads(page.locator(f"script#{name}").text_content())
    page.locator(".qkv-word").first.click()
    shown = weights(figure)
    heard = figure.locator("tfoot .course-unseen").text_content().replace("\u2212", "-")
    output = [float(number) for number in heard.split(", ")]
    values = list(zip(*model["value"], strict=True))
    expected = [sum(w * v for w, v in zip(shown, column, strict=True)) for column in values]
    assert output == pytest.approx(expected, abs=0.05)


def test_pointing_shows_and_pressing_keeps(figure):
    words = figure.locator(".qkv-word")
    words.first.click()
    kept = weights(figure)
    words.nth(2).hover()
    assert weights(figure) != kept
    figure.locator("figcaption").hover()
    assert weights(figure) == kept
    words.nth(2).click()
    figure.locator("figcaption").hover()
    assert weights(figure) != kept


def test_arrow_keys_walk_through_the_words(figure):
    words = figure.locator(".qkv-word")
    words.first.focus()
    texts = words.all_inner_texts()
    keyboard = figure.page.keyboard
    assert chosen(figure) == texts[0]
    keyboard.press("ArrowDown")
    assert words.nth(1).get_attribute("aria-pressed") == "true"
    keyboard.press("End")
    assert words.last.get_attribute("aria-pressed") == "true"
    keyboard.press("ArrowRight")
    assert words.last.get_attribute("aria-pressed") == "true"
    keyboard.press("Home")
    assert words.first.get_attribute("aria-pressed") == "true"
    assert figure.locator(".qkv-word[tabindex='0']").count() == 1  # one stop of the Tab key


def test_dividing_by_more_evens_out_and_by_less_sharpens(figure):
    slider = figure.get_by_role("slider")
    start = max(weights(figure))
    slider.focus()
    figure.page.keyboard.press("End")
    even = max(weights(figure))
    figure.page.keyboard.press("Home")
    sharp = max(weights(figure))
    assert even < start <= sharp
    figure.get_by_role("button", name="head_dim").click()
    assert max(weights(figure)) == start
    assert "root of head_dim" in slider.get_attribute("aria-valuetext")


def test_a_sentence_says_what_is_to_be_seen(figure):
    figure.locator(".qkv-word").nth(1).click()
    word = figure.locator(".qkv-word").nth(1).inner_text()
    sentence = figure.locator("[aria-live=polite]")
    expect(sentence).to_have_text(re.compile(f"^\u201c{word}\u201d attends most to"))
    assert f"({max(weights(figure)):.2f})" in sentence.inner_text()


def test_links_are_as_thick_as_their_weights(figure):
    figure.locator(".qkv-word").last.click()
    widths = figure.locator(".qkv-arcs path").evaluate_all(
        "paths => paths.map((path) => parseFloat(path.style.strokeWidth))"
    )
    shown = weights(figure)
    assert len(widths) == len(shown)
    assert widths == pytest.approx([0.75 + 8.25 * weight for weight in shown], abs=0.05)


def test_without_scripts_there_is_a_table(still):
    assert still.locator("table").is_visible()
    assert "Scripts are off" in still.inner_text()


def test_nothing_moves_for_those_who_asked_for_rest(figure):
    figure.page.emulate_media(reduced_motion="reduce")
    duration = figure.locator(".qkv-fill").first.evaluate(
        "bar => getComputedStyle(bar).transitionDuration"
    )
    figure.page.emulate_media(reduced_motion="no-preference")
    assert float(duration.removesuffix("s")) < 0.001


BREAK_THE_FIRST = """
const figures = new Proxy({}, {
    get: (all, name) => (name === "label-smoothing" ? undefined : all[name]),
});
Object.defineProperty(window, "courseFigures", { get: () => figures, set() {} });
"""


def test_where_one_figure_fails_its_table_stands_and_the_next_one_lives(chromium, site):
    address = (site / "book" / "training.html").as_uri()
    with opened(chromium, address, script_before=BREAK_THE_FIRST) as watched:
        failing, following = watched.page.locator("[data-course-figure]").all()
        assert failing.get_attribute("data-course-figure") == "label-smoothing"
        assert failing.locator("table").is_visible()
        assert following.locator(".course-interactive__stage.is-live").is_visible()
    assert [problem.split(":")[0] for problem in watched.problems] == ["exception"]
