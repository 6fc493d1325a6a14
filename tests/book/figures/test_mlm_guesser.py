"""The figure mlm-guesser: its data are checked; what it shows is what the models say."""

import json

import pytest

from tests.book.watched_page import depends_on_page, opened

pytestmark = depends_on_page("bert", "course_lib", "tests/book/figures")

GUESSES = [[["the", 0.9], ["a", 0.1]], [["dog", 0.6], ["dogs", 0.4]]]
SENTENCE = {"words": ["the", "dog"], "guesses": [GUESSES, GUESSES]}
DATA = {"models": ["both sides", "left side only"], "sentences": [SENTENCE], "note": ""}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surplus": 1}, "expected an object with"),
        ({"models": ["one"]}, "models must hold at least 2 texts"),
        ({"sentences": []}, "sentences must hold at least 1"),
        ({"sentences": [SENTENCE | {"guesses": [GUESSES]}]}, "for each of 2 models"),
        ({"sentences": [SENTENCE | {"words": ["the"]}]}, "for each of 1 words"),
        ({"sentences": [SENTENCE | {"guesses": [GUESSES, [[["a", 2.0]]] * 2]}]}, "probabilities"),
        (
            {"sentences": [SENTENCE | {"guesses": [GUESSES, [GUESSES[0][::-1]] * 2]}]},
            "likeliest guess must come first",
        ),
    ],
)
def test_wrong_data_are_refused(changes, message):
    from course_book.figures.mlm_guesser.data import MLMGuesser

    with pytest.raises(ValueError, match=message):
        MLMGuesser.from_json(DATA | changes)


def test_the_table_gives_the_first_guess_of_each_model():
    from course_book.figures.mlm_guesser.data import MLMGuesser

    table = MLMGuesser.from_json(DATA).table()
    assert table.count("dog 0.60") == 2
    assert "left side only" in table


@pytest.fixture
def figure(chromium, served):
    address = f"{served}/book/bert.html"
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        yield watched.page.locator("[data-course-figure=mlm-guesser]").first
    assert watched.problems == []


@pytest.mark.browser
def test_the_bars_are_the_models_guesses(figure):
    data = json.loads(figure.page.locator("#mlm-guesses").text_content())
    for chosen in (0, 1):
        figure.locator("input[type=radio]").nth(chosen).check()
        for place in (0, 2, len(data["sentences"][0]["words"]) - 1):
            figure.locator(".guesser-word").nth(place).click()
            shown = [
                text.removeprefix("\N{CHECK MARK} ")
                for text in figure.locator(".guesser-guess").all_text_contents()
            ]
            assert shown == [word for word, _ in data["sentences"][0]["guesses"][chosen][place]]


@pytest.mark.browser
def test_arrow_keys_hide_the_next_word(figure):
    words = figure.locator(".guesser-word")
    words.nth(2).focus()
    words.nth(2).press("ArrowRight")
    assert words.nth(3).get_attribute("aria-pressed") == "true"
    figure.get_by_text("is hidden").wait_for()
