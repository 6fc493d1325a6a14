"""Every page of the built book in a real browser: complete, self-contained, accessible, light."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

from tests.book.watched_page import opened, scrolls_sideways

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
MAX_BYTES = 2_000_000  # of a page with all that it loads, uncompressed


def pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [toc["root"]]
    files += [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    return [f"{name}.html" for name in files]


PAGES = [*pages(), "search.html", "genindex.html"]


def test_every_page_of_the_contents_is_built(site):
    built = {path.relative_to(site).as_posix() for path in site.glob("book/*.html")}
    assert built == set(pages())
    written = {f"book/{path.stem}.html" for path in (ROOT / "book").glob("*.md")}
    assert set(pages()) == written
    assert len(pages()) >= 4


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("way", ["server", "file"])
def test_loads_little_and_all_of_it_from_its_own_place(chromium, site, served, page, way):
    address = f"{served}/{page}" if way == "server" else (site / page).as_uri()
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        height = watched.page.evaluate("document.body.scrollHeight")
        for y in range(0, height, 4000):  # whatever loads on sight
            watched.page.evaluate(f"window.scrollTo(0, {y})")
        watched.page.wait_for_load_state("networkidle")
        weights = {urlsplit(url).path: size for url, size in watched.weights.items()}
    assert watched.problems == []
    if way == "server":
        assert len(weights) > 20  # the page, its styles and its scripts were weighed
        heaviest = sorted(weights.items(), key=lambda item: -item[1])[:8]
        assert sum(weights.values()) < MAX_BYTES, heaviest


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious_in_either_theme(chromium, served, page):
    serious = []
    # At rest: a colour that is still changing from one theme to the other belongs to neither.
    options = {"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 900}}
    with opened(chromium, f"{served}/{page}", **options) as watched:
        for theme in ("light", "dark"):
            watched.page.emulate_media(color_scheme=theme)
            watched.page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
            found = Axe().run(watched.page).response
            assert found["passes"]
            serious += [
                (theme, v["id"], [(n["target"], n["failureSummary"]) for n in v["nodes"][:3]])
                for v in found["violations"]
                if v["impact"] in ("serious", "critical")
            ]
    assert serious == []


@pytest.mark.parametrize("page", PAGES)
def test_does_not_scroll_sideways(chromium, served, page):
    with opened(chromium, f"{served}/{page}", viewport={"width": 320, "height": 800}) as watched:
        for width in (320, 375, 768):
            watched.page.set_viewport_size({"width": width, "height": 800})
            assert scrolls_sideways(watched.page) <= 0, width


@pytest.mark.parametrize("way", ["server", "file"])
def test_search_finds_the_chapter(chromium, site, served, way):
    base = served if way == "server" else site.as_uri()
    with opened(chromium, f"{base}/search.html?q=softmax") as watched:
        results = watched.page.locator("#search-results li a")
        results.first.wait_for()
        assert any("self-attention" in a.get_attribute("href") for a in results.all())
        watched.page.wait_for_timeout(300)
    assert watched.problems == []


def test_the_theme_can_be_switched_and_stays(chromium, served):
    with opened(
        chromium,
        f"{served}/book/notation.html",
        color_scheme="light",
        viewport={"width": 1280, "height": 900},
    ) as watched:
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
    with opened(
        chromium, f"{served}/book/self-attention.html", java_script_enabled=False
    ) as watched:
        formula = watched.page.locator(".katex-display .katex-html").first
        assert formula.is_visible()
        loaded = [url for url in watched.weights if url.endswith(".woff2")]
    assert loaded
    assert all("/_static/katex/fonts/" in url for url in loaded)
