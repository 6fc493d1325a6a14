"""Take the README's pictures of the book:  python tests/book/take_screenshots.py FOLDER

Run by hand, after the book is built; the pictures are PNG files of the landing page, of the chapter
on self-attention, in both themes and on a phone, and of the model in the page while it translates.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from scripts.chromium import chromium_path

SITE = Path(__file__).parents[2] / "build" / "book" / "_build" / "html"
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 375, "height": 812}

SHOTS = {  # name: page, theme, window, what to bring into view
    "landing-light": ("book/intro.html", "light", DESKTOP, "h1"),
    "landing-phone": ("book/intro.html", "dark", PHONE, "h1"),
    "chapter-light": ("book/self-attention.html", "light", DESKTOP, "h1"),
    "chapter-dark": ("book/self-attention.html", "dark", DESKTOP, ".course-choices--predict"),
    "chapter-phone": ("book/self-attention.html", "light", PHONE, ".course-choices--predict"),
    "figure-light": ("book/what-attention-learns.html", "light", DESKTOP, ".course-interactive"),
    "figure-dark": ("book/what-attention-learns.html", "dark", DESKTOP, ".course-interactive"),
    "figure-phone": ("book/what-attention-learns.html", "light", PHONE, ".course-interactive"),
    "quiz-light": ("book/self-attention.html", "light", DESKTOP, ".course-choices--quiz"),
}


def prepare(page: Page, target: str) -> None:
    """Bring a part of the page to the top; where it asks something, answer it."""
    page.locator(target).first.evaluate(
        "part => window.scrollTo(0, part.getBoundingClientRect().top + window.scrollY - 72)"
    )
    wrong = page.locator(target).first.locator('.course-choice[data-right="false"] label')
    if wrong.count():
        wrong.first.click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)


def take(browser: Browser, name: str, folder: Path) -> Path:
    """Take one picture.

    Args:
        browser: A running browser.
        name: A key of ``SHOTS``.
        folder: Where the picture goes.

    Returns:
        The picture's file.
    """
    address, theme, window, target = SHOTS[name]
    context = browser.new_context(color_scheme=theme, viewport=window, device_scale_factor=2)
    page = context.new_page()
    page.goto((SITE / address).as_uri())
    prepare(page, target)
    file = folder / f"{name}.png"
    page.screenshot(path=file)
    context.close()
    return file


def take_model(browser: Browser, folder: Path) -> Path:
    """Take the model at work: its decoder looks for the noun that it translates next.

    Args:
        browser: A running browser.
        folder: Where the picture goes.

    Returns:
        The picture's file.
    """
    page = browser.new_page(viewport={"width": 1440, "height": 1100}, device_scale_factor=1.5)
    page.goto((SITE / "book" / "living-transformer.html").as_uri())
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
    file = folder / "model-light.png"
    height = drawing["y"] + drawing["height"] - 66
    clip = {"x": frame["x"] - 12, "y": 66, "width": frame["width"] + 24, "height": height}
    page.screenshot(path=file, clip=clip)
    return file


def main() -> None:
    """Take all pictures."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not (SITE / "index.html").exists():
        sys.exit("The book is not built yet. First: make book")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(),
            args=["--no-sandbox", "--disable-background-networking"],
        )
        for name in SHOTS:
            print(take(browser, name, folder))
        print(take_model(browser, folder))
        browser.close()


if __name__ == "__main__":
    main()
