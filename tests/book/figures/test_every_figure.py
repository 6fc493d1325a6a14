"""Every figure: it loads with a clean console, works by keyboard, fits a phone and passes axe."""

import pytest
from course_book.figures.registry import FIGURES

from tests.book import living_figures as living
from tests.book.contents import ROOT
from tests.book.figures.conftest import FIGURE, PAGES, copied, figure_test
from tests.book.watched_page import depends_on_page, lift_veils, opened

DAILY = ("living-transformer", "query-key-value", "label-smoothing")
CONTROLS = ":is(button, input, select, textarea, [tabindex='0']):visible:enabled"
EACH = [
    pytest.param(
        name,
        marks=[
            depends_on_page(PAGES.get(name, ""), "tests/book/figures"),
            *([] if name in DAILY else [pytest.mark.proof]),
        ],
    )
    for name in FIGURES
]


def test_every_figure_has_a_page():
    assert PAGES.keys() == FIGURES.keys()


BEGINS = {"living-transformer", "training-scrubber"}  # one asks questions, one plays by itself


def test_every_figure_suggests_a_first_action():
    silent = {
        figure["name"]
        for page in {*PAGES.values()}
        for figure in FIGURE.finditer((ROOT / "book" / f"{page}.md").read_text(encoding="utf-8"))
        if ":try:" not in figure["options"]
    }
    assert silent <= BEGINS


@pytest.mark.browser
@pytest.mark.parametrize("name", EACH)
def test_a_figure_loads_works_by_keyboard_fits_a_phone_and_passes_axe(chromium, site, name):
    address = (site / "book" / f"{PAGES[name]}.html").as_uri()
    with opened(chromium, address, color_scheme="dark", **living.PHONE) as watched:
        lift_veils(watched.page)
        figure = watched.page.locator(f"[data-course-figure={name}]").first
        figure.locator(".course-interactive__stage.is-live").wait_for()
        if name in living.FIGURES:
            living.start(watched.page, name)
        figure.locator(CONTROLS).first.focus()
        for key in ("Shift+Tab", "Tab", "ArrowRight", "ArrowLeft"):
            watched.page.keyboard.press(key)
        assert figure.evaluate("figure => figure.contains(document.activeElement)")
        living.assert_fits_and_is_accessible(figure)


@pytest.mark.browser
@pytest.mark.proof
@pytest.mark.parametrize("name", living.FIGURES)
def test_a_models_parameters_load_only_on_demand(chromium, served, name):
    with opened(chromium, f"{served}/book/{PAGES[name]}.html", **living.DESKTOP) as watched:
        living.assert_little_is_loaded(watched, name)
        living.start(watched.page, name)
        assert [url for url in watched.weights if "/models/" in url]


BREAK_ONE = """
const figures = new Proxy({}, {
    get: (all, name) => (name === "label-smoothing" ? undefined : all[name]),
});
Object.defineProperty(window, "courseFigures", { get: () => figures, set() {} });
"""


@pytest.mark.browser
@depends_on_page("training")
def test_a_figure_that_fails_leaves_its_table_and_the_other_figures_alone(chromium, site):
    address = (site / "book" / "training.html").as_uri()
    with opened(chromium, address, is_clean=False, script_before=BREAK_ONE) as watched:
        failing, following = watched.page.locator("[data-course-figure]").all()
        assert failing.get_attribute("data-course-figure") == "label-smoothing"
        assert failing.locator("table").is_visible()
        assert following.locator(".course-interactive__stage.is-live").count() == 1
    assert [problem.split(":")[0] for problem in watched.problems] == ["exception"]


@figure_test("position-clocks")
def test_a_figure_plays_until_it_is_paused(figure):
    slider, button = figure.locator("input[type=range]").first, figure.locator(".course-pill").first
    slider.fill("0")
    button.click()
    figure.page.wait_for_function("slider => slider.value !== '0'", arg=slider.element_handle())
    button.click()
    assert button.inner_text() == "Play"


@figure_test("warm-up-schedule")
def test_labels_stay_within_the_chart_on_a_phone(figure):
    figure.page.set_viewport_size({"width": 390, "height": 844})
    steps = figure.get_by_label("Updates shown")
    chart = figure.locator("svg").first.bounding_box()
    for place in range(6):
        steps.fill(str(place))
        labels = [label.bounding_box() for label in figure.locator(".course-chart-label").all()]
        assert max(label["x"] + label["width"] for label in labels) <= chart["x"] + chart["width"]
        assert min(label["x"] for label in labels) >= chart["x"]


@figure_test("bend-curve")
def test_a_button_has_the_colour_of_all_buttons(figure):
    button = figure.locator(".course-pill").first
    colour = button.evaluate("button => getComputedStyle(button).borderTopColor")
    tool = figure.locator(".course-tool").first
    assert tool.evaluate("tool => getComputedStyle(tool).color") == colour


@figure_test("bend-curve")
def test_link_holds_dragged_values(figure, chromium):
    figure.locator(".course-handle").nth(1).press("ArrowUp")
    table = figure.locator(".bend-table").inner_text()
    with opened(chromium, copied(figure, "Copy link")) as again:
        assert again.page.locator(".bend-table").inner_text() == table


@figure_test("norm-sphere")
def test_a_saved_picture_has_lines_behind_words_and_choices_without_controls(figure):
    pictures = []
    for shown in (figure, figure.page.locator("[data-course-figure=four-norms]")):
        with figure.page.expect_download() as saved:
            shown.get_by_role("button", name="Save as picture").click()
        pictures.append(saved.value.path().read_text("utf-8"))
    sphere, norms = pictures
    assert "paint-order: stroke" in sphere
    assert "drag me" not in sphere
    assert "linear-gradient" in norms  # the line of zero
    assert norms.count("checked=") == 1
    assert "range" not in norms + sphere


WIDEST_CHOICE = """select => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.font = getComputedStyle(select).font;
  return Math.max(...[...select.options].map(({ text }) => pen.measureText(text).width));
}"""


@figure_test("beam-search")
def test_each_sentence_can_be_read_whole_on_a_phone(figure):
    figure.page.set_viewport_size({"width": 390, "height": 844})
    source = figure.get_by_label("Source")
    arrow = 34  # pixels, with the padding
    assert source.evaluate(WIDEST_CHOICE) < source.bounding_box()["width"] - arrow


@figure_test("beam-search")
def test_words_of_the_tree_lie_within_their_boxes_and_more_to_the_right_is_seen(figure):
    figure.page.set_viewport_size({"width": 390, "height": 844})
    for node in figure.locator(".beam-node").all():
        box, word = (node.locator(part).first.bounding_box() for part in ("rect", "text"))
        assert box["x"] + 1 < word["x"]
        assert word["x"] + word["width"] < box["x"] + box["width"] - 1
    tree = figure.locator(".beam-scroll.has-more")
    tree.evaluate("tree => { tree.scrollLeft = 10_000; }")
    tree.wait_for(state="detached")
