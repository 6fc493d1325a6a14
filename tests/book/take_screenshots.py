"""Take the README's pictures of the book:  python -m tests.book.take_screenshots FOLDER

After a build. The pictures are the model in the page while it translates, and a prediction.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser

from scripts.chromium import running_chromium

BOOK = Path(__file__).parents[2] / "build" / "book" / "_build" / "html" / "book"


def take_prediction(browser: Browser, file: Path) -> None:
    """Take a screenshot of a prediction after a wrong answer, in the dark theme."""
    page = browser.new_page(
        color_scheme="dark", viewport={"width": 1440, "height": 900}, device_scale_factor=2
    )
    page.goto((BOOK / "self-attention.html").as_uri())
    question = page.locator(".course-choices--predict").first
    question.evaluate(
        "part => window.scrollTo(0, part.getBoundingClientRect().top + window.scrollY - 72)"
    )
    question.locator('.course-choice[data-right="false"] label').first.click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    page.screenshot(path=file)


def take_model(browser: Browser, file: Path) -> None:
    """Take a screenshot of the figure ``living-transformer`` in the middle of a translation."""
    page = browser.new_page(
        viewport={"width": 1440, "height": 1100}, device_scale_factor=1.5, reduced_motion="reduce"
    )
    page.goto((BOOK / "living-transformer.html").as_uri())
    page.get_by_role("button", name="Start the model").click()
    press = page.locator(".living-bench").get_by_role("button")
    for name in ["Next word"] * 6 + ["Alignment and agreement"]:
        press.filter(has_text=name).first.click()
        page.wait_for_timeout(1200)
    page.locator(".living-results").evaluate(
        "part => scrollBy(0, part.getBoundingClientRect().y - 72)"
    )
    page.mouse.move(0, 0)
    page.wait_for_timeout(1000)
    stage = page.locator("[data-course-figure=living-transformer] .course-interactive__stage")
    frame, drawing = stage.bounding_box(), page.locator(".living-drawing").bounding_box()
    assert frame
    assert drawing
    height = drawing["y"] + drawing["height"] - 66
    clip = {"x": frame["x"] - 12, "y": 66, "width": frame["width"] + 24, "height": height}
    page.screenshot(path=file, clip=clip)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with running_chromium("--disable-background-networking") as browser:
        take_prediction(browser, folder / "prediction.png")
        take_model(browser, folder / "model.png")
