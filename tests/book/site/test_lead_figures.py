"""A chapter begins with a figure, and is never long without one."""

import pytest

from tests.book.contents import chapters
from tests.book.watched_page import depends_on_page, opened

pytestmark = pytest.mark.browser

SCREEN = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
LEAD = 2 * SCREEN["height"]
STRETCH = 4 * SCREEN["height"]
DAILY = ("transformer", "multi-head-attention")  # the nearest to one limit and the other
PLACES = """() => {
  const place = (part) => {
    const { top, bottom } = part.getBoundingClientRect();
    return { top: top + scrollY, bottom: bottom + scrollY,
      seen: part.matches("figure, svg, img"), name: part.id || part.className };
  };
  const shown = (part) => part.checkVisibility(); // without veiled content
  const article = document.querySelector(".bd-article");
  const things = "figure, svg.course-picture, img, .course-choices, div.exercise";
  return [...article.querySelectorAll(things)].filter(shown).map(place)
    .concat({ ...place(article), top: place(article).bottom, seen: false, name: "end" })
    .sort((a, b) => a.top - b.top);
}"""


CHAPTERS = [
    pytest.param(
        name, marks=[depends_on_page(name), *([] if name in DAILY else [pytest.mark.proof])]
    )
    for name in chapters()
]


@pytest.fixture(scope="module")
def places(chromium, served, request):
    """Figures and other things to look at or use, with their places in the page in pixels.

    First the list for a desktop, then that for a phone.
    """
    address = f"{served}/book/{request.param}.html"
    with opened(chromium, address, viewport=SCREEN, reduced_motion="reduce") as watched:
        watched.page.wait_for_function("document.fonts.status === 'loaded'")
        found = watched.page.evaluate(PLACES)
        watched.page.set_viewport_size(PHONE)
        watched.page.reload()
        return found, watched.page.evaluate(PLACES)


@pytest.mark.parametrize("places", CHAPTERS, indirect=True)
def test_a_chapter_leads_with_a_figure_also_on_a_phone(places):
    desktop, phone = (next(thing for thing in things if thing["seen"]) for things in places)
    assert (desktop["top"] + desktop["bottom"]) / 2 < LEAD, desktop
    assert phone["top"] + 100 < PHONE["height"], phone


@pytest.mark.parametrize("places", CHAPTERS, indirect=True)
def test_there_is_always_something_to_look_at_or_to_do(places):
    things, _ = places
    end, stretches = 0.0, []
    for thing in things:
        stretches.append((round(thing["top"] - end), thing["name"]))
        end = max(end, thing["bottom"])
    assert max(stretches) <= (STRETCH, "~"), "before the named part"
