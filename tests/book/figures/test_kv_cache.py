"""The figure kv-cache: its data are checked, it counts keys and bytes as course_lib does."""

import pytest

from course_lib.analysis.complexity import kv_cache_bytes
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "kv-cache"
PAGE = "kv-caching"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {
    "words": ["once", "upon", "a", "time", "there", "was", "a", "king"],
    "prompt": 4,
    "models": [{"name": "small", "num_layers": 4, "kv_width": 128}],
    "note": "",
}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"prompt": 0}, "prompt must be a whole number from 1 to 7"),
    ({"prompt": 8}, "prompt must be a whole number from 1 to 7"),
    ({"models": []}, "models must hold at least 1 models"),
    (
        {"models": [{"name": "x", "num_layers": 0, "kv_width": 1}]},
        "num_layers must be a whole number",
    ),
)


def test_the_table_gives_the_bytes_of_each_step():
    table = table_of(NAME, DATA)
    for length in (4, 7):
        assert f"{kv_cache_bytes(1, length, 4, 128):,}" in table
    assert f"{kv_cache_bytes(1, 8, 4, 128):,}" not in table  # the last word is written, not read


@pytest.fixture
def figure(figure):
    """The figure at its first step, without a cache."""
    figure.get_by_role("button", name="no cache").click()
    back = figure.get_by_role("button", name="Back")
    while back.is_enabled():
        back.click()
    return figure


def count(figure, name):
    return figure.locator(f"[data-count={name}]").text_content()  # in view or not


@pytest.mark.browser
def test_keys_are_counted_step_by_step(figure):
    next_word = figure.get_by_role("button", name="Next word")
    for _ in range(3):
        next_word.press("Enter")
    assert (count(figure, "now"), count(figure, "all")) == ("7", str(4 + 5 + 6 + 7))
    assert count(figure, "kept") == "none"
    figure.get_by_role("button", name="with a cache").press("Enter")
    assert (count(figure, "now"), count(figure, "all")) == ("1", str(4 + 3))
    states = [item.get_attribute("data-state") for item in figure.locator("li").all()]
    assert states == ["kept"] * 6 + ["computed", "written"]
    figure.get_by_text(
        "keys and values of 1 token are computed, and those of 6 are there"
    ).wait_for()


@pytest.mark.browser
def test_bytes_are_those_of_the_formula(figure):
    figure.get_by_role("button", name="with a cache").click()
    figure.locator("select").select_option(label="7 billion parameters, 32 heads")
    sliders = figure.locator("input[type=range]")
    for slider, value in zip(sliders.all(), (1, 3, 4), strict=True):  # 2 bytes, 8 texts, 4096
        slider.fill(str(value))
    token = kv_cache_bytes(1, 1, 32, 4096, bytes_per_number=2)
    total = kv_cache_bytes(8, 4096, 32, 4096, bytes_per_number=2)
    assert count(figure, "token") == f"{token // 2**10} KiB"
    assert count(figure, "total") == f"{total // 2**30} GiB"
    assert count(figure, "kept") == f"{4 * token // 2**20} MiB"


@pytest.mark.browser
def test_it_plays_only_when_asked_and_can_be_paused(figure):
    figure.page.wait_for_timeout(1200)
    assert count(figure, "now") == "4"
    figure.get_by_role("button", name="Play").press("Enter")
    figure.locator("li").nth(5).wait_for()
    figure.get_by_role("button", name="Pause").press("Enter")
    assert figure.get_by_role("button", name="Play").is_visible()
