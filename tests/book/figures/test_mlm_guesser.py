"""The figure mlm-guesser: its data are checked; what it shows is what PyTorch computes."""

import json

import pytest
import torch

from course_lib.analysis.recorders import recorded_attention
from tests.book import living_figures as living
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.living_model import BlankFiller, drawn_gaps, fill_in_page, largest_gap
from tests.book.watched_page import depends_on_page, expect

pytestmark = depends_on_page("bert", "course_lib", "tests/book/figures")

NAME = "mlm-guesser"
GUESSES = [[["the", 0.9], ["a", 0.1]], [["dog", 0.6], ["dogs", 0.4]]]
SENTENCE = {"words": ["the", "dog"], "clues": [[1, 0]], "guesses": [GUESSES, GUESSES]}
DATA = {
    "model": "m", "models": ["both sides", "left side only"], "sentences": [SENTENCE], "note": "",
}  # fmt: skip


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"model": ""}, "model must name the deferred data"),
    ({"models": ["one"]}, "models must hold 2 texts"),
    ({"sentences": []}, "sentences must hold at least 1"),
    ({"sentences": [SENTENCE | {"guesses": [GUESSES]}]}, "for each of 2 models"),
    ({"sentences": [SENTENCE | {"words": ["the"], "clues": []}]}, "for each of 1 words"),
    ({"sentences": [SENTENCE | {"clues": [[0, 2]]}]}, "clues must be .* from 0 to 1"),
    ({"sentences": [SENTENCE | {"clues": [[0]]}]}, "clues must hold 2 places"),
    ({"sentences": [SENTENCE | {"guesses": [GUESSES, [[["a", 2.0]]] * 2]}]}, "probabilities"),
    (
        {"sentences": [SENTENCE | {"guesses": [GUESSES, [GUESSES[0][::-1]] * 2]}]},
        "likeliest guess must come first",
    ),
)


def test_the_table_gives_the_first_guess_of_each_model():
    table = table_of(NAME, DATA)
    assert table.count("dog 0.60") == 2
    assert "left side only" in table


# ---- in the browser ----


@pytest.fixture
def figure(awake):
    """The figure with the first sentence, its subject hidden."""
    awake.get_by_label("one word").check()
    awake.get_by_label("or pick one").select_option(index=1)
    awake.get_by_label("or pick one").select_option(index=0)
    return awake


@pytest.fixture
def models(awake):
    """What the page has loaded, in PyTorch, and the words."""
    loaded = json.loads(awake.page.evaluate("JSON.stringify(courseModels['blank-fillers'])"))
    return [BlankFiller.from_export(model) for model in loaded], loaded[0]["words"]


@pytest.mark.browser
@pytest.mark.parametrize("count", [12, pytest.param(100, marks=pytest.mark.proof)])
def test_logits_and_weights_are_those_of_pytorch_on_drawn_sentences(awake, models, count):
    both, words = models
    texts = drawn_gaps(words, count)
    for model, found in zip(both, fill_in_page(awake.page, texts), strict=True):
        for ids, run in zip(texts, found, strict=True):
            assert largest_gap(model, ids, run) < living.CLOSE


def shown(figure, half):
    """The words that a reader of the figure is shown, and their probabilities."""
    bars = figure.locator(f"[data-reader='{half}'] li")
    names = [
        text.removeprefix("\N{CHECK MARK} ")
        for text in bars.locator(".guesser-guess").all_text_contents()
    ]
    return names, [float(bar.get_attribute("data-probability")) for bar in bars.all()]


def guessed(models, words, text, gap):
    """What both models take a gap for: probabilities over the vocabulary."""
    ids = torch.tensor([[words.index(word) for word in ("[CLS]", *text, "[SEP]")]])
    ids[0, gap] = words.index("[MASK]")
    with torch.no_grad():
        return models[0](ids)[0, gap].softmax(-1), models[1](ids)[0, gap - 1].softmax(-1)


@pytest.mark.browser
def test_bars_weights_and_what_a_clue_moves_are_the_models(figure, models):
    both, words = models
    text = figure.get_by_label("A sentence").input_value().split()
    gap = 3  # writer, in: the old writer ...
    before = guessed(both, words, text, gap)
    for half, expected in enumerate(before):
        names, probabilities = shown(figure, half)
        best = expected[4:].topk(6)
        assert names == [words[4 + i] for i in best.indices]
        assert probabilities == pytest.approx(best.values.tolist(), abs=living.CLOSE)
    hidden = ["[MASK]" if word == "is" else word for word in text]
    after = guessed(both, words, hidden, gap)
    table = figure.locator(".guesser-looks tbody")
    worth = table.locator(".guesser-worth td").nth(len(text)).get_attribute("data-value")
    moved = (before[0] - after[0]).abs().sum() / 2
    assert float(worth) == pytest.approx(float(moved), abs=living.CLOSE)
    ids = [words.index(w) for w in ("[CLS]", *text, "[SEP]")]
    ids[gap] = words.index("[MASK]")
    with torch.no_grad(), recorded_attention(both[0]) as weights:
        both[0](torch.tensor([ids]))
    row = table.locator("tr").nth(5).locator("td")  # layer 2, head 2
    cells = row.evaluate_all("cells => cells.map(cell => Number(cell.dataset.value))")
    there = weights["encoder.layers.1.self_attention"][0, 1, gap]
    assert cells == pytest.approx(there.tolist(), abs=living.CLOSE)
    figure.get_by_role("button", name="Hide the clue too").click()
    assert (
        figure.get_by_role("button", name="is", exact=True).get_attribute("aria-pressed") == "true"
    )
    for half, expected in enumerate(after):
        names, probabilities = shown(figure, half)
        assert probabilities == pytest.approx(
            [float(expected[words.index(w)]) for w in names], abs=living.CLOSE
        )
    assert figure.locator(".guesser-tick").count() == 12


@pytest.mark.browser
def test_a_typed_sentence_is_read_or_told_what_is_wrong_with_it(figure, models):
    both, words = models
    field = figure.get_by_label("A sentence")
    field.fill("The tall apples near the ___ are")
    field.press("Enter")
    expect(figure.locator(".guesser-words button").nth(5)).to_have_text("___")
    _, probabilities = shown(figure, 0)
    text = ["the", "tall", "apples", "near", "the", "[MASK]", "are"]
    expected = guessed(both, words, text, 6)[0][4:].topk(6).values.tolist()
    assert probabilities == pytest.approx(expected, abs=living.CLOSE)
    problem = figure.locator(".living-problem")
    for typed, said in (
        ("the old wryter is", "near it: writer"),
        ("", "Type a sentence"),
        ("the old writer of the new book of the door is", "has places for 8"),
    ):
        field.fill(typed)
        field.press("Enter")
        expect(problem).to_contain_text(said)


@pytest.mark.browser
def test_words_are_hidden_by_keyboard_one_or_several(figure):
    words = figure.locator(".guesser-words button")
    pressed = figure.locator(".guesser-words [aria-pressed=true]")
    words.nth(2).press("ArrowRight")
    assert pressed.all_inner_texts() == [words.nth(3).inner_text()]
    assert words.nth(3).evaluate("word => word === document.activeElement")
    figure.get_by_label("several").check()
    words.nth(0).press("Enter")
    assert pressed.count() == 2
    choice = figure.get_by_role("group", name="Guess the word at place")
    choice.get_by_role("radio").first.check()
    assert words.nth(0).evaluate("word => word.classList.contains('is-looked-at')")
    words.nth(0).press(" ")
    words.nth(3).press(" ")  # the last one stays hidden
    assert pressed.all_inner_texts() == [words.nth(3).inner_text()]


@pytest.mark.browser
@pytest.mark.proof
@living.both_themes
def test_it_runs_from_a_folder_on_a_phone_and_is_accessible(chromium, site, theme):
    with living.started(
        chromium, site.as_uri(), NAME, color_scheme=theme, **living.PHONE
    ) as figure:
        figure.get_by_role("button", name="Hide the clue too").click()
        living.assert_fits_and_is_accessible(figure)
