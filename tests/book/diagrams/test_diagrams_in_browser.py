"""Diagrams in a browser: whole on a phone, legible in both themes, switched by keyboard."""

import re

import pytest

from tests.book.test_palette import contrast
from tests.book.watched_page import depends_on_page, opened, scrolls_sideways
from tests.daily import with_proofs

DAILY = "transformer"  # the largest
PAGES = (DAILY, "recurrent-networks", "bert", "multi-head-attention", "kv-caching")
pytestmark = [pytest.mark.browser, *(depends_on_page(p, "tests/book/diagrams") for p in PAGES)]
PHONE = {"width": 375, "height": 800}
LABELS = """() => [...document.querySelectorAll(".course-diagram__drawing")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const inside = (part, whole) => part.left >= whole.left - 1 && part.right <= whole.right + 1
    && part.top >= whole.top - 1 && part.bottom <= whole.bottom + 1;
  return [...svg.querySelectorAll("text")].map((text) => {
    const box = text.closest("a")?.querySelector("rect:last-of-type");
    const place = text.getBoundingClientRect();
    return { words: text.textContent, whole: inside(place, frame),
      boxed: !box || inside(place, box.getBoundingClientRect()),
      size: parseFloat(getComputedStyle(text).fontSize) * frame.width / svg.viewBox.baseVal.width };
  });
})"""
COLOURS = """() => [...document.querySelectorAll("a.course-diagram__link:has(text)")].map((box) => [
  getComputedStyle(box.querySelector("text")).fill,
  getComputedStyle(box.querySelector("rect:last-of-type")).fill,
])"""


def hexadecimal(colour: str) -> str:
    """Return ``#rrggbb`` for a computed colour: ``rgb(1, 2, 3)`` or ``color(srgb 0.1 0.2 0.3)``."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", colour)][:3]
    scale = 255 if colour.startswith("color(") else 1
    return "#" + "".join(f"{round(scale * number):02x}" for number in numbers)


@pytest.mark.parametrize("name", with_proofs(PAGES, PAGES[1:]))
def test_labels_are_legible_on_a_phone_in_both_themes(chromium, served, name):
    options = {"viewport": PHONE, "reduced_motion": "reduce"}
    with opened(chromium, f"{served}/book/{name}.html", **options) as watched:
        page = watched.page
        page.wait_for_function("document.fonts.status === 'loaded'")
        labels = page.evaluate(LABELS)
        assert len(labels) > 5
        assert not [label for label in labels if not (label["whole"] and label["boxed"])]
        assert min(label["size"] for label in labels) >= 10.9
        assert scrolls_sideways(page) <= 0
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
            for text, ground in page.evaluate(COLOURS):
                assert contrast(hexadecimal(text), hexadecimal(ground)) >= 4.5, (text, ground)


def test_a_key_switches_between_variants_of_one_height(chromium, served):
    with opened(chromium, f"{served}/book/{DAILY}.html", viewport=PHONE) as watched:
        figure = watched.page.locator("#diagram-transformer")
        height = figure.evaluate("figure => figure.offsetHeight")
        before, after = figure.locator("svg").all()
        assert (before.is_visible(), after.is_visible()) == (True, False)
        figure.get_by_role("radio", name="post-norm").press("ArrowRight")
        assert (before.is_visible(), after.is_visible()) == (False, True)
        assert figure.evaluate("figure => figure.offsetHeight") == height
