"""Every page of the built book in a real browser: complete, self-contained, accessible, light."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.book.contents import book_pages, pages_with_code
from tests.book.watched_page import (
    depends_on_page,
    lift_veils,
    opened,
    scrolls_sideways,
)

pytestmark = pytest.mark.browser

MAX_BYTES = 1_500_000  # of a page with all that it loads besides figures, uncompressed
INLINE_FIGURES = """() => [
  ...document.querySelectorAll("svg.course-picture, script[type='application/json']"),
].reduce((sum, part) => sum + part.outerHTML.length, 0)"""


IN_CONTENTS = [f"book/{name}.html" for name in book_pages()]
PAGES = [*IN_CONTENTS, "search.html", "genindex.html"]
CHAPTER = "masking"  # a small one with every part of a chapter
FIGURES = ("/_static/figures/", "/_images/")
EACH = {page: pytest.param(page, marks=depends_on_page(Path(page).stem)) for page in IN_CONTENTS}


def some_of(pages: list[str], daily: set[str]) -> list[object]:
    """Return the pages as parameters: daily ones for ``make test``, others for ``make proof``."""
    others = (pytest.param(page, marks=pytest.mark.proof) for page in pages if page not in daily)
    return [*(EACH.get(page, page) for page in pages if page in daily), *others]


DAILY = {  # with the widest table (status) and the heaviest chapter (self-attention)
    *("book/intro.html", f"book/{CHAPTER}.html", "book/api-generation.html", "search.html"),
    *("book/status.html", "book/self-attention.html"),
}
EVERY_PAGE = some_of(PAGES, DAILY)
EVERY_PAGE_FOR_AXE = some_of(PAGES, {f"book/{CHAPTER}.html", "book/intro.html", "search.html"})
FROM_A_FOLDER = some_of(PAGES, {f"book/{CHAPTER}.html"})
CHAPTERS = some_of([f"book/{name}.html" for name in pages_with_code()], DAILY)
DESKTOP = {"width": 1280, "height": 900}
BY_THEME = ["color-contrast", "link-in-text-block"]  # axe's rules about colours
LEAN = {
    "preload": False,
    "resultTypes": ["violations"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}
SHOWS_STATE = 'class="mask-cell"'  # its digit repeats aria-pressed
MOST_CODE = 1 / 3


def test_every_page_of_the_contents_is_built(site):
    built = {path.relative_to(site).as_posix() for path in site.glob("book/*.html")}
    assert built == set(IN_CONTENTS)
    assert len(built) > 20


@pytest.fixture(scope="module")
def visit(chromium, served, request):
    """An open page from a server, scrolled through; tests of the same page share it."""
    # Without motion: a colour that is still changing belongs to neither theme.
    options = {"reduced_motion": "reduce", "color_scheme": "light", "viewport": DESKTOP}
    with opened(chromium, f"{served}/{request.param}", **options) as watched:
        lift_veils(watched.page)
        scroll_through(watched.page)
        yield watched


def scroll_through(page):
    """Scroll through a page, so that images and fonts load."""
    page.evaluate(
        """async () => {
          for (let y = document.body.scrollHeight; y > -4000; y -= 4000) {
            window.scrollTo(0, Math.max(y, 0));
            await new Promise(requestAnimationFrame);
          }
        }"""
    )
    page.wait_for_function(
        "document.fonts.status === 'loaded' && [...document.images].every(image => image.complete)"
    )


@pytest.mark.parametrize("visit", EVERY_PAGE, indirect=True)
def test_loads_little_and_all_of_it_from_its_own_place(visit):
    weights = {urlsplit(url).path: size for url, size in visit.weights.items()}
    assert len(weights) > 10
    heaviest = sorted(weights.items(), key=lambda item: -item[1])[:8]
    figures = visit.page.evaluate(INLINE_FIGURES)
    figures += sum(size for path, size in weights.items() if path.startswith(FIGURES))
    assert sum(weights.values()) - figures < MAX_BYTES, heaviest


def is_formula(page, node):
    """Return whether an element of axe's report has a formula: axe overlooks MathML."""
    return page.locator(node["target"][0]).locator("math").count() > 0


def violations(page):
    """Return axe's violations in both themes: (theme, rule, element, explanation)."""
    wrong = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        options = LEAN if theme == "light" else LEAN | {"runOnly": BY_THEME}
        found = Axe().run(page, options=options).response
        assert found["passes"]
        wrong += [
            (theme, v["id"], n["target"], n["failureSummary"])
            for v in found["violations"]
            for n in v["nodes"]
            if not (v["id"] == "empty-table-header" and is_formula(page, n))
            and not (v["id"] == "label-content-name-mismatch" and SHOWS_STATE in n["html"])
        ]
    return wrong


SHARE_OF_CODE = """() => {
  const height = (parts) => [...document.querySelectorAll(parts)]
    .filter((part) => part.checkVisibility())
    .reduce((sum, part) => sum + part.getBoundingClientRect().height, 0);
  const code = ".bd-article :is(.literal-block-wrapper, .cell_input, .highlight)";
  const within = `:is(.literal-block-wrapper, .cell_input, .cell_output) .highlight`;
  return (height(code) - height(`.bd-article ${within}`)) / height(".bd-article");
}"""


@pytest.mark.parametrize("visit", CHAPTERS, indirect=True)
def test_at_most_a_third_of_a_chapter_is_code(visit):
    assert 0 < visit.page.evaluate(SHARE_OF_CODE) <= MOST_CODE


WITHOUT_CONTENTS = """() => {
  const left = () => document.querySelector(".bd-article").getBoundingClientRect().left;
  const before = left();
  const contents = document.querySelector(".bd-sidebar-secondary");
  const [place, after] = [contents.parentElement, contents.nextSibling];
  contents.remove();
  const without = left();
  place.insertBefore(contents, after);
  return [before, without];
}"""


@pytest.mark.parametrize("visit", [EACH[f"book/{CHAPTER}.html"]], indirect=True)
def test_the_article_does_not_move_when_the_contents_arrive(visit):
    before, without = visit.page.evaluate(WITHOUT_CONTENTS)
    assert before == pytest.approx(without, abs=1)


@pytest.mark.parametrize("visit", EVERY_PAGE_FOR_AXE, indirect=True)
def test_axe_finds_nothing_in_either_theme(visit):
    assert violations(visit.page) == []


UNREACHED = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    document.querySelectorAll(".bd-article details").forEach(part => { part.open = true; });
    await frame(); // the first frame after a resize tells the page of it
    await frame();
    return [...document.querySelectorAll('.bd-article *')].filter(part =>
        part.scrollWidth > part.clientWidth + 1
        && ['auto', 'scroll'].includes(getComputedStyle(part).overflowX)
        && !(part.tabIndex === 0 && part.ariaLabel)
    ).map(part => part.outerHTML.slice(0, 100));
}"""
NUMBERS_ON_FORMULAS = """() => [...document.querySelectorAll('div.math > .eqno')].filter(number => {
    const formula = number.parentElement.querySelector('.katex-display');
    return formula.getBoundingClientRect().right > number.getBoundingClientRect().left;
}).map(number => number.textContent)"""


SMALLEST_LABEL = 9  # pixels
SMALL_LABELS = f"""() => [...document.querySelectorAll(".bd-article svg text")]
    .filter((text) => text.checkVisibility() && text.textContent.trim())
    .filter((text) => {{
        const {{ a, b }} = text.getScreenCTM();
        return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b) < {SMALLEST_LABEL};
    }}).map((text) => text.textContent)"""


@pytest.mark.parametrize("visit", EVERY_PAGE, indirect=True)
def test_a_page_fits_every_width(visit):
    """Only named parts with a tab stop scroll sideways, and numbers stand beside formulas."""
    page = visit.page
    try:
        for width in (768, 375, 320):
            page.set_viewport_size({"width": width, "height": 800})
            assert scrolls_sideways(page) <= 0, width
        assert page.evaluate(UNREACHED) == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate(SMALL_LABELS) == []
        assert page.evaluate(NUMBERS_ON_FORMULAS) == []
    finally:
        page.set_viewport_size(DESKTOP)
    assert page.evaluate(NUMBERS_ON_FORMULAS) == []


def test_the_scroll_bar_tells_the_truth(chromium, served):
    with opened(chromium, f"{served}/book/{CHAPTER}.html", viewport=DESKTOP) as watched:
        page = watched.page
        height = "document.documentElement.scrollHeight"
        before = page.evaluate(height)
        scroll_through(page)
        assert page.evaluate(height) == pytest.approx(before, rel=0.02)
        page.evaluate(f"scrollTo(0, {height} / 2)")
        place = page.evaluate("scrollY")
        page.reload()
        page.wait_for_function(f"Math.abs(scrollY - {place}) < 100")


def test_the_title_page_leads_back_to_the_readers_place_and_forgets_it(chromium, served):
    with opened(chromium, f"{served}/book/{CHAPTER}.html", viewport=DESKTOP) as watched:
        page = watched.page
        page.locator("#measuring-a-leak").scroll_into_view_if_needed()
        page.evaluate("document.getElementById('measuring-a-leak').scrollIntoView()")
        page.goto(f"{served}/book/intro.html")
        last = page.locator(".course-continue a")
        assert last.inner_text() == "Masking: Measuring a leak"
        last.click()
        page.wait_for_url(f"**/{CHAPTER}.html#measuring-a-leak")
        page.goto(f"{served}/book/intro.html")
        with page.expect_navigation():
            page.get_by_role("button", name="Forget my answers and my place").click()
        assert page.locator(".course-continue").count() == 0


def test_the_goals_of_a_chapter_are_folded_on_a_phone(chromium, served):
    for width, shown in ((390, False), (1280, True)):
        size = {"width": width, "height": 844}
        with opened(chromium, f"{served}/book/{CHAPTER}.html", viewport=size) as watched:
            goals = watched.page.locator(".course-goals")
            assert goals.locator("li").first.is_visible() is shown
            if not shown:
                goals.locator(".admonition-title").click()
                goals.locator("li").first.wait_for(state="visible")


def test_a_link_into_something_folded_unfolds_it(chromium, served):
    address = f"{served}/book/what-attention-learns.html#fig-unscaled"
    with opened(chromium, address, viewport=DESKTOP) as watched:
        figure = watched.page.locator("#fig-unscaled")
        figure.wait_for()
        watched.page.wait_for_function(
            "figure => Math.abs(figure.getBoundingClientRect().top) < 200",
            arg=figure.element_handle(),
        )


def test_a_wide_formula_scrolls_by_keyboard(chromium, served):
    narrow = {"width": 320, "height": 800}
    with opened(chromium, f"{served}/book/self-attention.html", viewport=narrow) as watched:
        formula = watched.page.get_by_role("region", name="Formula 1, scrolls sideways", exact=True)
        formula.focus()
        fades = "document.activeElement.matches('.has-more')"
        watched.page.wait_for_function(fades)  # more lies to the right
        watched.page.keyboard.press("ArrowRight")
        watched.page.wait_for_function("document.activeElement.scrollLeft > 0")
        watched.page.keyboard.press("End")
        watched.page.wait_for_function(f"!{fades}")
        assert formula.locator("math").count() == 1


def test_the_contents_fold_at_once_over_a_wide_figure(chromium, served):
    address = f"{served}/book/living-transformer.html#fig-living-transformer"
    with opened(chromium, address, viewport=DESKTOP) as watched:
        contents = watched.page.locator(".bd-sidebar-secondary.hide")
        head = watched.page.locator(".bd-header-article").bounding_box()
        assert contents.bounding_box()["height"] <= head["height"]
        style = "contents => getComputedStyle(contents).transitionDuration"
        assert contents.evaluate(style) == "0s"


def test_the_menu_shows_the_entry_of_each_page(chromium, served):
    with opened(chromium, f"{served}/book/status.html", viewport=DESKTOP) as watched:
        for chapter in ("masking", "status", "self-attention"):
            watched.page.goto(f"{served}/book/{chapter}.html")
            entry = watched.page.locator(".bd-sidebar-primary li.current.active > a")
            box = entry.bounding_box()
            assert 0 <= box["y"] <= DESKTOP["height"] - box["height"], chapter


def test_the_title_page_begins_with_its_figure(chromium, served):
    with opened(chromium, f"{served}/book/intro.html", viewport=DESKTOP) as watched:
        first_row = watched.page.locator("#fig-training-scrubber tbody tr").first.bounding_box()
        assert first_row["y"] + first_row["height"] < DESKTOP["height"]


@pytest.mark.parametrize("page", FROM_A_FOLDER)
def test_works_from_a_folder(chromium, site, page):
    with opened(chromium, (site / page).as_uri(), viewport=DESKTOP) as watched:
        scroll_through(watched.page)


def test_the_search_page_fits_a_phone(chromium, served):
    phone = {"width": 375, "height": 800}
    with opened(chromium, f"{served}/search.html?q=softmax", viewport=phone) as watched:
        page = watched.page
        result = page.locator(".bd-search-container .course-search-result").first
        result.wait_for(state="attached")
        for text in page.locator(".course-search-text").all_inner_texts():
            assert not re.search(r"\\|\u2061|  |^\.\.\.", text), text
        assert scrolls_sideways(page) <= 0
        assert page.evaluate(MAGNIFIER_ON_WORDS) is False


MAGNIFIER_ON_WORDS = """() => {
  const input = document.querySelector("#main-content form.bd-search input");
  const { left } = input.getBoundingClientRect();
  const icon = input.parentElement.querySelector("i").getBoundingClientRect();
  return icon.right > left + parseFloat(getComputedStyle(input).paddingLeft);
}"""


def test_the_theme_can_be_switched_and_stays(chromium, served):
    address = f"{served}/book/notation.html"
    with opened(chromium, address, color_scheme="light", viewport=DESKTOP) as watched:
        page = watched.page
        switch = page.locator(".theme-switch-button").first
        theme = "document.documentElement.dataset.theme"
        for _ in range(3):
            switch.click()
            if page.evaluate(theme) == "dark":
                break
        assert page.evaluate(theme) == "dark"
        # an icon is drawn, without any font or script for it
        icon = switch.locator(".theme-switch:visible")
        assert icon.count() == 1
        assert "svg" in icon.evaluate("icon => getComputedStyle(icon).maskImage")
        page.reload()
        assert page.evaluate(theme) == "dark"


def test_formulas_are_rendered_without_scripts(chromium, served):
    address = f"{served}/book/self-attention.html"
    with opened(chromium, address, java_script_enabled=False) as watched:
        formula = watched.page.locator(".katex-display .katex-html").first
        assert formula.is_visible()
        watched.page.wait_for_load_state("networkidle")  # fonts come last
        loaded = [url for url in watched.weights if url.endswith(".woff2")]
    assert loaded
    assert all("/_static/katex/fonts/" in url for url in loaded)
