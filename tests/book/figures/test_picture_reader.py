"""The figure picture-reader: its data are checked; its light and its captions are the models'."""

import json

import pytest

from tests.book.watched_page import depends_on_page, opened

pytestmark = depends_on_page("image-captioning", "course_lib", "tests/book/figures")

PATCHES = 16


def reading(*words, weights=True):
    rows = [[63] * 16 + [0] * 48] * len(words)  # thousandths, in the two upper rows of 8
    return {"words": list(words), "weights": rows if weights else None}


SEEN = [reading("red", "cross")] + [reading("red")] * PATCHES
UNSEEN = [reading("red", "square", weights=False)] * (1 + PATCHES)
PICTURE = {"pixels": "80" * 3 * 32 * 32, "truth": ["red", "cross"], "readings": [UNSEEN, SEEN]}
HALF_LOST = {"words": ["red"], "weights": [[500] + [0] * 63]}
DATA = {
    "side": 32,
    "regions": 8,
    "models": ["one vector", "regions"],
    "pictures": [PICTURE],
    "note": "",
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surplus": 1}, "expected an object with"),
        ({"models": []}, "models must hold at least 1"),
        ({"pictures": []}, "pictures must hold at least 1"),
        ({"regions": 6}, "4 patches must divide"),
        ({"models": ["one"]}, "17 captions for each of 1 models"),
        ({"pictures": [PICTURE | {"pixels": "80"}]}, "6144 hexadecimal digits"),
        ({"pictures": [PICTURE | {"readings": [UNSEEN, SEEN[1:]]}]}, "17 captions"),
        (
            {"pictures": [PICTURE | {"readings": [UNSEEN, [SEEN[0] | {"words": ["red"]}] * 17]}]},
            "weights must hold 1 rows",
        ),
        (
            {"pictures": [PICTURE | {"readings": [UNSEEN, [HALF_LOST] * 17]}]},
            "must be thousandths that sum to 1000",
        ),
    ],
)
def test_wrong_data_are_refused(changes, message):
    from course_book.figures.picture_reader.data import PictureReader

    with pytest.raises(ValueError, match=message):
        PictureReader.from_json(DATA | changes)


def test_the_table_gives_the_truth_and_each_caption():
    from course_book.figures.picture_reader.data import PictureReader

    table = PictureReader.from_json(DATA).table()
    assert "<td>red cross</td><td>red square</td><td>red cross</td>" in table


@pytest.fixture
def figure(chromium, served):
    address = f"{served}/book/image-captioning.html"
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        yield watched.page.locator("[data-course-figure=picture-reader]").first
    assert watched.problems == []


@pytest.fixture
def data(figure):
    return json.loads(figure.page.locator("#picture-readings").text_content())


LIGHT = """canvas => [...canvas.getContext("2d").getImageData(0, 0, 8, 8).data]
    .filter((_, i) => i % 4 === 3)"""


@pytest.mark.browser
def test_regions_are_as_bright_as_their_weights_for_each_word(figure, data):
    whole = data["pictures"][0]["readings"][1][0]
    for place in (0, len(whole["words"]) - 1):
        figure.locator(".reader-words button").nth(place).click()
        weights = whole["weights"][place]
        darkness = figure.locator(".reader-light").evaluate(LIGHT)
        expected = [0.35 * 255 * (1 - weight / max(weights)) for weight in weights]
        assert darkness == pytest.approx(expected, abs=0.51)
        said = f"{whole['words'][place]} {int(max(weights) / 10 + 0.5)}%"
        assert figure.locator(".reader-tag").inner_text() == said
    figure.get_by_label(data["models"][0]).check()  # one vector: every region alike
    assert set(figure.locator(".reader-light").evaluate(LIGHT)) == {0}


@pytest.mark.browser
def test_a_covered_place_gives_the_caption_of_the_covered_picture(figure, data):
    readings = data["pictures"][0]["readings"][1]
    patches, words = (
        figure.locator(".reader-patches button"),
        figure.locator(".reader-words button"),
    )
    for patch in (0, 5, 5):  # the third click uncovers the place again
        patches.nth(patch).click()
    assert words.all_text_contents() == readings[0]["words"]
    changed = next(i for i in range(PATCHES) if readings[1 + i]["words"] != readings[0]["words"])
    patches.nth(changed).click()
    assert words.all_text_contents() == readings[1 + changed]["words"]
    figure.get_by_text("Before, the caption was").wait_for()


@pytest.mark.browser
def test_everything_is_reached_by_keyboard(figure):
    words, patches = (
        figure.locator(".reader-words button"),
        figure.locator(".reader-patches button"),
    )
    words.nth(0).focus()
    words.nth(0).press("ArrowRight")
    assert words.nth(1).get_attribute("aria-pressed") == "true"
    patches.nth(0).focus()
    for key in ("ArrowRight", "ArrowDown"):
        figure.page.keyboard.press(key)
    figure.page.keyboard.press("Enter")
    assert patches.nth(5).get_attribute("aria-pressed") == "true"
