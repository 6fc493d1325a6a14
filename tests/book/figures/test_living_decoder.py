"""The figure living-decoder: the page runs course_lib's decoder, moved by hand or not."""

import pytest
import torch

from tests.book import living_figures as living
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.living_looks import (
    exported_decoder,
    largest_difference,
    rebuilt_decoder,
    run_in_page,
)
from tests.book.living_model import drawn_sources
from tests.book.watched_page import depends_on_page, expect

pytestmark = depends_on_page("bahdanau-attention", "course_lib", "tests/book/figures")

NAME = "living-decoder"
TRANSLATE, REVERSE = 0, 1
LETTERS = 12
AN_EXAMPLE = {"src": ["a", "."], "tgt": ["un", "."], "written": ["un"], "alignment": [[0, 0]]}
A_TASK = {"name": "translate", "ask": "A sentence", "right": 0.6, "examples": [AN_EXAMPLE]}
DATA = {"model": "m", "tasks": [A_TASK], "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"model": ""}, "model must name the deferred data"),
    ({"tasks": []}, "tasks must hold at least 1"),
    ({"tasks": [A_TASK | {"right": 2}]}, "right must be a finite number from 0 to 1"),
    ({"tasks": [A_TASK | {"ask": 1}]}, "name and ask must hold texts"),
    (
        {"tasks": [A_TASK | {"examples": [AN_EXAMPLE | {"alignment": [[2, 0]]}]}]},
        "alignment must be a whole number from 0 to 1",
    ),
)


def test_the_table_shows_what_the_model_wrote_beside_what_is_right():
    table = table_of(NAME, DATA)
    assert '<th scope="row">a .</th><td>translate</td><td>un</td><td>un .</td>' in table


# ---- in the browser ----


@pytest.fixture
def figure(awake):
    """The figure before its first translation, without a truth laid over it."""
    awake.get_by_label("reverse").check()
    awake.get_by_label("translate").check()
    return living.without_truth(awake)


def drawn_letters(count):
    generator = torch.Generator().manual_seed(9)
    lengths = torch.randint(1, 13, (count,), generator=generator).tolist()
    return [
        torch.randint(2, 2 + LETTERS, (length,), generator=generator).tolist() for length in lengths
    ]


def put_at(place, length):
    """All weight at one place."""
    return [float(i == place) for i in range(length)]


@pytest.mark.browser
@pytest.mark.parametrize("sources", [2, pytest.param(100, marks=pytest.mark.proof)])
def test_every_number_is_that_of_pytorch_on_drawn_sources(figure, sources):
    page = figure.page
    for task in (TRANSLATE, REVERSE):
        exported = exported_decoder(page, task)
        model = rebuilt_decoder(exported)
        drawn = (
            drawn_letters(sources) if task == REVERSE else drawn_sources(exported["words"], sources)
        )
        for number, ids in enumerate(drawn):
            with torch.no_grad():
                encoded = model.encoder(torch.tensor([ids]))
            alone = run_in_page(page, task, ids)
            assert largest_difference(alone, model.decoder, encoded) < living.CLOSE
            step = number % len(alone["steps"])
            moved = run_in_page(page, task, ids, {step: put_at(number % len(ids), len(ids))})
            assert moved["steps"][step]["weights"] != moved["steps"][step]["own"] or len(ids) == 1
            assert largest_difference(moved, model.decoder, encoded) < living.CLOSE


def shown(cells, name):
    return cells.evaluate_all(f"all => all.map(cell => Number(cell.dataset.{name}))")


@pytest.mark.browser
def test_the_look_is_moved_by_hand_and_the_next_word_changes(figure):
    page = figure.page
    exported = exported_decoder(page, TRANSLATE)
    words = exported["words"]
    sentence = ["the", "old", "woman", "sees", "a", "small", "dog", "."]
    figure.get_by_label("An English sentence").fill("The old woman sees a small dog")
    figure.get_by_role("button", name="Read it").click()
    ids = [words["src"].index(word) for word in [*sentence, "<end>"]]
    rows = figure.locator(".looks-alignment tbody tr")
    weights = figure.locator(".looks-weight")
    expect(weights).to_have_count(len(ids))  # one row so far
    alone = run_in_page(page, TRANSLATE, ids)["steps"]
    figure.get_by_role("button", name="Next word").press("Enter")
    expect(weights).to_have_count(2 * len(ids))
    expected = alone[0]["weights"] + alone[1]["weights"]
    assert shown(weights, "weight") == pytest.approx(expected, abs=living.CLOSE)

    figure.get_by_role("button", name="Look at \u201cdog\u201d alone").press("Enter")
    there = put_at(sentence.index("dog"), len(ids))
    moved = run_in_page(page, TRANSLATE, ids, {1: there})["steps"]
    assert moved[1]["chosen"] != alone[1]["chosen"]
    written = [words["tgt"][step["chosen"]].strip("<>") for step in moved]
    expect(rows.nth(1).locator("th")).to_have_text(f"{written[1]}yours")
    lines = figure.locator(".living-result")
    assert lines.nth(1).locator("button").all_inner_texts() == written
    first = figure.locator(".looks-next tbody tr").first.locator("td")
    probability = max(moved[1]["probabilities"])
    assert float(first.first.get_attribute("data-probability")) == pytest.approx(probability)

    slider = figure.get_by_label("Weight of \u201cold\u201d")
    slider.press("End")  # dragged by keyboard, to the right end
    expect(slider).to_have_attribute("aria-valuetext", "100%")
    slider.press("ArrowLeft")
    shares = shown(figure.locator(".looks-row output"), "weight")
    assert sum(shares) == pytest.approx(1)
    assert shares[1] == pytest.approx(0.99)
    figure.get_by_role("button", name="Back to its own look").click()
    expect(lines).to_have_count(1)
    assert shown(weights, "weight") == pytest.approx(expected, abs=living.CLOSE)

    weights.nth(len(ids)).press("ArrowRight")
    page.keyboard.press("Enter")  # the score of "old", for the second word
    total = float(figure.locator("[data-sum]").get_attribute("data-sum"))
    assert total == pytest.approx(alone[1]["scores"][1], abs=living.CLOSE)
    assert figure.locator(".looks-score[aria-pressed=true]").get_attribute("data-score")


@pytest.mark.browser
def test_the_truth_is_the_grammars_and_unknown_words_are_named(figure):
    figure.get_by_label("or pick one").select_option(
        label="the writer does not see the red umbrella."
    )
    figure.get_by_role("button", name="Show true alignment").click()
    figure.get_by_label("Word", exact=True).press("End")
    framed = figure.locator(".looks-alignment tbody tr").nth(2).locator("td")
    classes = framed.evaluate_all("cells => cells.map(cell => cell.className)")
    assert [i for i, name in enumerate(classes) if "is-true" in name] == [3]  # ne: not
    figure.get_by_label("An English sentence").fill("the mam sees a zebra")
    figure.get_by_role("button", name="Read it").click()
    expect(figure.locator(".living-problem")).to_contain_text("\u201cmam\u201d (near it: am, man")
    figure.get_by_label("reverse").check()
    figure.get_by_label("Letters from A to L").fill("C A B")
    figure.get_by_role("button", name="Read it").click()
    expect(figure.locator(".living-result").first).to_have_attribute("data-written", "B A C")
    expect(figure.locator(".living-legend")).to_contain_text("known of what is in the list")


@pytest.mark.browser
@pytest.mark.proof
@living.both_themes
def test_it_runs_from_a_folder_on_a_phone_and_is_accessible(chromium, site, theme):
    with living.started(
        chromium, site.as_uri(), NAME, color_scheme=theme, **living.PHONE
    ) as figure:
        figure.get_by_role("button", name="Show true alignment").click()
        figure.get_by_role("button", name="Play").press("Enter")
        expect(figure.get_by_label("Word", exact=True)).not_to_have_value("0")
        figure.get_by_role("button", name="Pause").press("Enter")
        figure.locator(".looks-row .course-word").last.click()
        figure.locator(".looks-score").first.click()
        living.assert_fits_and_is_accessible(figure)
