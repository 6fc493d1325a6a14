"""The figure warm-up-schedule: its data are checked, its rates are those of course_lib."""

import pytest

from course_lib.training.schedules import inverse_sqrt
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "warm-up-schedule"
PAGE = "training"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"d_model": 512, "warmup_steps": 4000, "steps": 50_000, "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"d_model": 0}, "d_model must be a whole number"),
    ({"warmup_steps": "4000"}, "warmup_steps must be a whole number"),
    ({"steps": 0.5}, "steps must be a whole number"),
)


def test_the_table_gives_the_papers_rates():
    table = table_of(NAME, DATA)
    assert "<td>1.75e-07</td>" in table  # 512^-0.5 4000^-1.5, the first update
    assert "<td>6.99e-04</td>" in table  # (512 4000)^-0.5, the peak


@pytest.fixture
def figure(figure):
    """The figure on a wide page, with the paper's settings and linear axes."""
    figure.page.set_viewport_size({"width": 1280, "height": 900})
    set_sliders(figure, 3, 5, 3)
    axes = figure.get_by_role("button", name="Logarithmic axes")
    if axes.get_attribute("aria-pressed") == "true":
        axes.click()
    return figure


def set_sliders(figure, *places):
    for slider, place in zip(figure.locator("input[type=range]").all(), places, strict=True):
        slider.fill(str(place))


@pytest.mark.browser
def test_peak_and_end_are_those_of_the_schedule(figure):
    for places, (d_model, warm_up, last) in (
        ((3, 5, 3), (512, 4000, 50_000)),
        ((0, 1, 4), (64, 250, 100_000)),
        ((5, 7, 0), (2048, 16_000, 5000)),  # the peak is not reached
    ):
        set_sliders(figure, *places)
        svg = figure.locator("svg").first
        peak = (d_model * warm_up) ** -0.5
        end = peak * inverse_sqrt(last - 1, warmup_steps=warm_up)
        assert float(svg.get_attribute("data-peak")) == pytest.approx(peak, rel=1e-9)
        assert float(svg.get_attribute("data-end")) == pytest.approx(end, rel=1e-9)
        assert figure.locator(".schedule-peak").is_visible() == (warm_up <= last)


@pytest.mark.browser
def test_sliders_and_axes_obey_the_keyboard_and_the_change_is_read_out(figure):
    before = figure.locator(".schedule-curve--own").get_attribute("points")
    axes = figure.get_by_role("button", name="Logarithmic axes")
    axes.focus()
    axes.press("Enter")
    assert axes.get_attribute("aria-pressed") == "true"
    assert figure.locator(".schedule-curve--own").get_attribute("points") != before
    warmup = figure.get_by_label("Warm-up")
    warmup.focus()
    warmup.press("ArrowRight")
    figure.get_by_text("update 8,000").wait_for()


@pytest.mark.browser
def test_labels_stay_within_the_chart_on_a_phone(figure):
    figure.page.set_viewport_size({"width": 390, "height": 844})
    steps = figure.get_by_label("Updates shown")
    chart = figure.locator("svg").first.bounding_box()
    for place in range(6):
        steps.fill(str(place))
        labels = [label.bounding_box() for label in figure.locator(".course-chart-label").all()]
        assert max(label["x"] + label["width"] for label in labels) <= chart["x"] + chart["width"]
        assert min(label["x"] for label in labels) >= chart["x"]
