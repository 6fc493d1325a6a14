"""The figures that run a model in the page: how to open and start them."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

from tests.book.watched_page import Watched, opened, scrolls_sideways

CLOSE = 1e-4  # the largest difference between the page's numbers and PyTorch's
MOST_BYTES = 60_000  # of a figure in a page's first load
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 800}, "reduced_motion": "reduce"}


@dataclass(frozen=True)
class LivingFigure:
    """A figure that runs a model in the page.

    Attributes:
        page: Name of the page with the figure.
        start: The name of the button that loads the model, or the beginning of the name.
        shown: Selector of an element that appears once the model has run.
        parts: Parts of the addresses of the figure's files.
        data: Id of the figure's JSON; empty if it is all JSON of the page.
    """

    page: str
    start: str
    shown: str
    parts: tuple[str, ...] = ("/figures/living", "/engine/")
    data: str = ""


FIGURES = {
    "beam-translator": LivingFigure(
        "living-transformer", "Search (loads", "[aria-busy=false] tbody tr"
    ),
    "generation-steps": LivingFigure(
        "decoder-only-language-models", "Start the model", ".steps-bars"
    ),
    "living-captioner": LivingFigure("image-captioning", "Describe it (loads", ".caption-thumb"),
    "living-decoder": LivingFigure(
        "bahdanau-attention", "Start the decoder", ".looks-alignment tbody tr"
    ),
    "living-transformer": LivingFigure(
        *("living-transformer", "Start the model", ".living-result"),
        ("/living-transformer/", "/engine/"),
    ),
    "mlm-guesser": LivingFigure(
        *("bert", "Start both models", ".guesser-bars"),
        parts=("mlm-guesser", "living-transformer", "/engine/"),
        data="mlm-guesses",
    ),
}


def figure_of(page: Page, name: str) -> Locator:
    """Return the figure with this name in a page."""
    return page.locator(f"[data-course-figure={name}]")


def start(page: Page, name: str) -> Locator:
    """Start the model of a figure in a page, wait until it has run, and return the figure."""
    figure = figure_of(page, name)
    button = figure.get_by_role("button", name=FIGURES[name].start)
    # The button disappears where the model starts by itself meanwhile.
    button.evaluate_all("buttons => buttons.forEach((button) => button.click())")
    figure.locator(FIGURES[name].shown).first.wait_for()
    return figure


def opened_for(
    browser: Browser, book: str, name: str, **options: Any
) -> AbstractContextManager[Watched]:
    """Open the page with the figure ``name``, of the site with the address ``book``."""
    return opened(browser, f"{book}/book/{FIGURES[name].page}.html", **options)


def assert_little_is_loaded(watched: Watched, name: str) -> None:
    """Check that the figure ``name`` adds few bytes to a page's first load, and no model."""
    figure = FIGURES[name]
    own = sum(n for url, n in watched.weights.items() if any(part in url for part in figure.parts))
    which = f"script[type='application/json']{figure.data and f'#{figure.data}'}"
    assert 0 < own + len("".join(watched.page.locator(which).all_text_contents())) < MOST_BYTES
    assert not [url for url in watched.weights if "/models/" in url or "/engine/m" in url]


def assert_fits_and_is_accessible(figure: Locator) -> None:
    """Check that the page does not scroll sideways, and that axe accepts the figure."""
    assert scrolls_sideways(figure.page) <= 0
    name = figure.get_attribute("data-course-figure")
    lean = {
        "preload": False,
        "resultTypes": ["violations"],
        "rules": {"target-size": {"enabled": True}},
    }
    context = f"[data-course-figure={name}]"
    found = Axe().run(figure.page, context=context, options=lean).response
    assert found["passes"]
    assert found["violations"] == []
