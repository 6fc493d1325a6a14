"""The figure living-captioner: the page paints and describes pictures as course_lib does."""

import json

import pytest
import torch

from course_lib.data.shape_pictures import COLORS, KINDS, SIDE, SIZES, Shape, render
from tests.book import living_figures as living
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.living_looks import (
    exported_captioner,
    largest_difference,
    rebuilt_captioner,
    run_in_page,
)
from tests.book.watched_page import depends_on_page, expect

pytestmark = depends_on_page("image-captioning", "course_lib", "tests/book/figures")

NAME = "living-captioner"
A_SHAPE = {"kind": "circle", "color": "red", "size": "small", "row": 4, "column": 4}
A_SCENE = {"name": "one", "shapes": [A_SHAPE], "truth": ["red", "circle"], "written": ["red"]}
DATA = {
    "model": "m", "side": 32, "colors": {"red": [1, 0, 0]}, "kinds": ["circle"],
    "sizes": {"small": 3}, "scenes": [A_SCENE], "note": "",
}  # fmt: skip


def with_shape(**changes):
    return {"scenes": [A_SCENE | {"shapes": [A_SHAPE | changes]}]}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"model": ""}, "model must name the deferred data"),
    ({"side": 0}, "side must be a whole number from 1"),
    ({"colors": {"red": [1, 0]}}, "red must hold 3 numbers"),
    ({"sizes": {"small": 0}}, "small must be a finite number above 0"),
    ({"scenes": []}, "scenes must hold at least 1"),
    (with_shape(color="pink"), "color must be one of red, got 'pink'"),
    (with_shape(row=33), "row must be a finite number from 0 to 32"),
    ({"scenes": [A_SCENE | {"written": [1]}]}, "written must hold texts"),
)


def test_the_table_gives_the_truth_and_the_caption():
    table = table_of(NAME, DATA)
    assert '<th scope="row">one</th><td>red circle</td><td>red</td>' in table


# ---- in the browser ----

RENDER = """(shapes) => {
  const model = JSON.parse(document.getElementById("pictures").textContent);
  return courseCaptioner.render(shapes, model).map((channel) => [...channel]);
}"""


@pytest.fixture
def figure(awake):
    """The figure, without a truth laid over it."""
    return living.without_truth(awake)


def drawn_scenes(count):
    """Pictures of up to four shapes, anywhere, of any look."""
    generator = torch.Generator().manual_seed(9)

    def choose(options):
        return list(options)[int(torch.randint(len(options), (), generator=generator))]

    return [
        [
            Shape(
                kind=choose(KINDS),
                color=choose(COLORS),
                size=choose(SIZES),
                row=SIDE * float(torch.rand((), generator=generator)),
                column=SIDE * float(torch.rand((), generator=generator)),
            )
            for _ in range(number % 5)
        ]
        for number in range(count)
    ]


@pytest.mark.browser
@pytest.mark.parametrize("pictures", [5, pytest.param(100, marks=pytest.mark.proof)])
def test_every_pixel_and_every_number_is_that_of_course_lib(figure, pictures):
    page = figure.page
    model = rebuilt_captioner(exported_captioner(page))
    for number, scene in enumerate(drawn_scenes(pictures)):
        painted = page.evaluate(RENDER, [vars(shape) for shape in scene])
        picture = render(tuple(scene))
        assert float((torch.tensor(painted).view_as(picture) - picture).abs().max()) < 1e-5
        with torch.no_grad():
            encoded = model.encoder(picture[None])
        alone = run_in_page(page, None, painted)
        assert largest_difference(alone, model.decoder, encoded) < living.CLOSE
        spot = [float(place in (number % 64, 63)) / 2 for place in range(64)]
        spot = spot if sum(spot) == 1 else [2 * share for share in spot]
        moved = run_in_page(page, None, painted, {0: spot})
        assert moved["steps"][0]["weights"] != moved["steps"][0]["own"]
        assert largest_difference(moved, model.decoder, encoded) < living.CLOSE


def said(figure):
    return figure.locator(".living-result").first.get_attribute("data-written")


@pytest.mark.browser
def test_a_picture_is_made_described_and_looked_at_otherwise(figure):
    page = figure.page
    words = exported_captioner(page)["words"]
    figure.get_by_role("button", name="Clear").click()
    figure.get_by_label("square").check()
    figure.get_by_label("blue").check()
    figure.get_by_role("button", name="row 4, column 1", exact=True).press("Enter")
    figure.get_by_label("cross").check()
    figure.get_by_label("green").check()
    place = figure.get_by_role("button", name="row 4, column 1: small blue square")
    place.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(figure.get_by_role("button", name="row 4, column 3: small green cross")).to_be_visible()
    scene = [
        Shape(kind="square", color="blue", size="small", row=14, column=4),
        Shape(kind="cross", color="green", size="small", row=14, column=20),
    ]
    painted = page.evaluate(RENDER, [vars(shape) for shape in scene])
    alone = run_in_page(page, None, painted)["steps"]
    expected = [words[step["chosen"]] for step in alone]
    assert said(figure) == " ".join(word for word in expected if word != "<end>")
    thumbs = figure.locator(".caption-thumb")
    assert thumbs.all_inner_texts() == [word.strip("<>") for word in expected]

    thumbs.nth(2).click()
    figure.get_by_role("button", name="Show the true shape").click()
    expect(figure.locator(".living-result").last).to_have_text("rightbluesquaregreencross")
    region = figure.locator(".caption-grid:visible button").nth(3 * 8 + 1)
    weight = alone[2]["weights"][3 * 8 + 1]
    assert region.get_attribute("aria-label").startswith(f"row 4, column 2: {100 * weight:.0f}%")
    region.press("Enter")  # on the square, for the word of the cross
    expect(region).to_have_attribute("aria-label", "row 4, column 2: 100%")
    spot = [float(i == 3 * 8 + 1) for i in range(64)]
    moved = run_in_page(page, None, painted, {2: spot})["steps"]
    top = figure.locator(".looks-next tbody tr").first.locator("td").first
    assert float(top.get_attribute("data-probability")) == pytest.approx(
        max(moved[2]["probabilities"]), abs=living.CLOSE
    )
    figure.get_by_role("button", name="Back to its own look").click()
    assert said(figure) == " ".join(word for word in expected if word != "<end>")
    figure.get_by_label("puts the shape there").check()
    figure.get_by_role("button", name="row 4, column 3: small green cross").press("Enter")
    expect(figure.locator(".living-result").last).to_have_text("rightbluesquare")


@pytest.mark.browser
def test_the_pictures_to_begin_with_are_read_as_when_the_book_was_built(figure):
    data = json.loads(figure.page.locator("#pictures").text_content())
    pick = figure.get_by_label("Begin with")
    for number, scene in enumerate(data["scenes"]):
        pick.select_option(str(number))
        assert said(figure) == " ".join(scene["written"])


@pytest.mark.browser
@pytest.mark.proof
@living.both_themes
def test_it_runs_from_a_folder_on_a_phone_and_is_accessible(chromium, site, theme):
    with living.started(
        chromium, site.as_uri(), NAME, color_scheme=theme, **living.PHONE
    ) as figure:
        figure.get_by_role("button", name="Show the true shape").click()
        figure.get_by_role("button", name="Play").press("Enter")
        expect(figure.get_by_label("Word", exact=True)).not_to_have_value("0")
        figure.get_by_role("button", name="Pause").press("Enter")
        figure.locator(".living-folded summary").first.click()
        expect(figure.get_by_role("region", name="Weights for")).to_be_visible()
        living.assert_fits_and_is_accessible(figure)
