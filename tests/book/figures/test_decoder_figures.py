"""The recurrent decoders with attention that run in pages equal ``course_lib``'s."""

import pytest
import torch

from course_lib.data.shape_pictures import COLORS, KINDS, SIDE, SIZES, Shape, render
from tests.book import living_figures as living
from tests.book.figures.conftest import data_of, figure_test, numbers
from tests.book.living_decoders import (
    exported_captioner,
    exported_decoder,
    largest_difference,
    rebuilt_captioner,
    rebuilt_decoder,
    run_in_page,
)
from tests.book.living_models import drawn_sources
from tests.book.watched_page import expect

TRANSLATE, REVERSE = 0, 1
LETTERS = 12


def one_hot(place, length):
    """Return ``length`` attention weights, all on one place."""
    return [float(i == place) for i in range(length)]


def drawn_letters(count):
    """Draw ``count`` sequences of letters, as token ids of the model that reverses them."""
    generator = torch.Generator().manual_seed(9)
    lengths = torch.randint(1, 13, (count,), generator=generator).tolist()
    return [
        torch.randint(2, 2 + LETTERS, (length,), generator=generator).tolist() for length in lengths
    ]


@pytest.mark.parametrize("sources", [2, pytest.param(100, marks=pytest.mark.proof)])
@figure_test("living-decoder")
def test_every_number_of_both_decoders_equals_pytorchs(figure, sources):
    for task in (TRANSLATE, REVERSE):
        exported = exported_decoder(figure.page, task)
        model = rebuilt_decoder(exported)
        drawn = (
            drawn_letters(sources) if task == REVERSE else drawn_sources(exported["words"], sources)
        )
        for number, ids in enumerate(drawn):
            with torch.no_grad():
                encoded = model.encoder(torch.tensor([ids]))
            own = run_in_page(figure.page, task, ids)
            assert largest_difference(own, model.decoder, encoded) < living.CLOSE
            step, weights = number % len(own["steps"]), one_hot(number % len(ids), len(ids))
            moved = run_in_page(figure.page, task, ids, {step: weights})
            assert moved["steps"][step]["weights"] != moved["steps"][step]["own"] or len(ids) == 1
            assert largest_difference(moved, model.decoder, encoded) < living.CLOSE


@figure_test("living-decoder")
def test_weights_moved_by_hand_change_the_next_word(figure):
    page, words = figure.page, exported_decoder(figure.page, TRANSLATE)["words"]
    sentence = ["the", "old", "woman", "sees", "a", "small", "dog", ".", "<end>"]
    figure.get_by_label("An English sentence").fill("The old woman sees a small dog")
    figure.get_by_role("button", name="Read it").click()
    ids = [words["src"].index(word) for word in sentence]
    weights = figure.locator(".looks-weight")
    expect(weights).to_have_count(len(ids))
    own = run_in_page(page, TRANSLATE, ids)["steps"]
    figure.get_by_role("button", name="Next word").press("Enter")
    expect(weights).to_have_count(2 * len(ids))
    expected = own[0]["weights"] + own[1]["weights"]
    assert numbers(weights, "weight") == pytest.approx(expected, abs=living.CLOSE)

    figure.get_by_role("button", name="Look at \u201cdog\u201d alone").press("Enter")
    there = one_hot(sentence.index("dog"), len(ids))
    moved = run_in_page(page, TRANSLATE, ids, {1: there})["steps"]
    assert moved[1]["chosen"] != own[1]["chosen"]
    written = [words["tgt"][step["chosen"]].strip("<>") for step in moved]
    lines = figure.locator(".living-result")
    assert lines.nth(1).locator("button").all_inner_texts() == written
    best = figure.locator(".looks-next tbody tr").first.locator("td").first
    probability = float(best.get_attribute("data-probability"))
    assert probability == pytest.approx(max(moved[1]["probabilities"]))

    slider = figure.get_by_label("Weight of \u201cold\u201d")
    slider.press("End")
    slider.press("ArrowLeft")
    shares = numbers(figure.locator(".looks-row output"), "weight")
    assert sum(shares) == pytest.approx(1)
    assert shares[1] == pytest.approx(0.99)
    figure.get_by_role("button", name="Back to its own look").click()
    expect(lines).to_have_count(1)
    weights.nth(len(ids)).press("ArrowRight")
    page.keyboard.press("Enter")  # the score of "old", for the second word
    total = float(figure.locator("[data-sum]").get_attribute("data-sum"))
    assert total == pytest.approx(own[1]["scores"][1], abs=living.CLOSE)


# ---- captions ----

RENDER = """(shapes) => {
  const model = JSON.parse(document.getElementById("pictures").textContent);
  return courseCaptioner.render(shapes, model).map((channel) => [...channel]);
}"""


def drawn_scenes(count):
    """Draw the shapes of ``count`` pictures: up to four random ones each, at random places."""
    generator = torch.Generator().manual_seed(9)

    def shape():
        kind, color, size = (
            list(options)[int(torch.randint(len(options), (), generator=generator))]
            for options in (KINDS, COLORS, SIZES)
        )
        row, column = (SIDE * torch.rand(2, generator=generator)).tolist()
        return Shape(kind=kind, color=color, size=size, row=row, column=column)

    return [[shape() for _ in range(number % 5)] for number in range(count)]


@pytest.mark.parametrize("pictures", [5, pytest.param(100, marks=pytest.mark.proof)])
@figure_test("living-captioner")
def test_every_pixel_and_number_of_the_captioner_equals_the_librarys(figure, pictures):
    model = rebuilt_captioner(exported_captioner(figure.page))
    for number, scene in enumerate(drawn_scenes(pictures)):
        painted = figure.page.evaluate(RENDER, [vars(shape) for shape in scene])
        picture = render(tuple(scene))
        assert float((torch.tensor(painted).view_as(picture) - picture).abs().max()) < 1e-5
        with torch.no_grad():
            encoded = model.encoder(picture[None])
        for weights in ({}, {0: one_hot(number % 64, 64)}):
            run = run_in_page(figure.page, None, painted, weights)
            assert (run["steps"][0]["weights"] != run["steps"][0]["own"]) == bool(weights)
            assert largest_difference(run, model.decoder, encoded) < living.CLOSE


@figure_test("living-captioner")
def test_a_picture_of_the_readers_own_is_described(figure):
    def said():
        return figure.locator(".living-result").first.get_attribute("data-written")

    page, words = figure.page, exported_captioner(figure.page)["words"]
    for number, scene in enumerate(data_of(figure)["scenes"]):
        figure.get_by_label("Begin with").select_option(str(number))
        assert said() == " ".join(scene["written"])
    figure.get_by_role("button", name="Clear").click()
    figure.get_by_label("square").check()
    figure.get_by_label("blue").check()
    figure.get_by_role("button", name="row 4, column 1", exact=True).press("Enter")
    figure.get_by_label("cross").check()
    figure.get_by_label("green").check()
    figure.get_by_role("button", name="row 4, column 1: small blue square").press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(figure.get_by_role("button", name="row 4, column 3: small green cross")).to_be_visible()
    scene = [
        Shape(kind="square", color="blue", size="small", row=14, column=4),
        Shape(kind="cross", color="green", size="small", row=14, column=20),
    ]
    painted = page.evaluate(RENDER, [vars(shape) for shape in scene])
    own = run_in_page(page, None, painted)["steps"]
    expected = [words[step["chosen"]] for step in own]
    assert said() == " ".join(word for word in expected if word != "<end>")
    thumbs = figure.locator(".caption-thumb")
    assert thumbs.all_inner_texts() == [word.strip("<>") for word in expected]
    thumbs.nth(2).click()
    region = figure.locator(".caption-grid:visible button").nth(3 * 8 + 1)
    weight = own[2]["weights"][3 * 8 + 1]
    assert region.get_attribute("aria-label").startswith(f"row 4, column 2: {100 * weight:.0f}%")
    region.press("Enter")  # on the square, for the word of the cross
    moved = run_in_page(page, None, painted, {2: one_hot(3 * 8 + 1, 64)})["steps"]
    best = figure.locator(".looks-next tbody tr").first.locator("td").first
    probability = float(best.get_attribute("data-probability"))
    assert probability == pytest.approx(max(moved[2]["probabilities"]), abs=living.CLOSE)
    figure.get_by_role("button", name="Back to its own look").click()
    assert said() == " ".join(word for word in expected if word != "<end>")
