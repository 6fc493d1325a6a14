"""The figure training-scrubber: the page's reader is course_lib's, at every step that was kept."""

import base64
import json
import math

import numpy as np
import pytest
import torch

from course_lib.analysis.attention_reader import AttentionReader, AttentionReaderConfig
from tests.book import living_figures as living
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page, expect

pytestmark = depends_on_page("intro", "course_lib", "tests/book/figures")

NAME = "training-scrubber"
DATA = {
    "model": "m", "steps": [1, 3], "letters": ["a", "b"], "first": 2, "sample": "ab",
    "written": ["aa", "ba"], "note": "",
}  # fmt: skip


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"model": ""}, "model must name the deferred data"),
    ({"steps": [3, 3]}, "steps must be a whole number from 4"),
    ({"letters": ["a"]}, "letters must hold at least 2"),
    ({"first": -1}, "first must be a whole number from 0"),
    ({"sample": "ac"}, "sample and written must be letters"),
    ({"written": ["aa", "b"]}, "sample and written must be letters, equally many, got 'b'"),
    ({"written": ["aa", "ba", "ba"]}, "written must hold 2 texts, got 3"),
)


def test_the_table_shows_what_is_written_at_each_step():
    table = table_of(NAME, DATA)
    assert '<th scope="row">3</th><td>ba</td>' in table


def rebuilt(exported):
    """A reader in PyTorch, from what the page loads."""
    numbers = np.frombuffer(base64.b64decode(exported["float16"]), "<f2").astype("f4")
    shapes = exported["shapes"]
    parts = torch.tensor(numbers).split([math.prod(shape) for shape in shapes.values()])
    state = {
        name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }
    vocab_size, d_model = shapes["token_embedding.weight"]
    length = shapes["position_embedding.weight"][0]
    config = AttentionReaderConfig(vocab_size=vocab_size, max_length=length, d_model=d_model)
    reader = AttentionReader(config)
    reader.load_state_dict(state)
    return reader


@pytest.mark.browser
def test_it_is_pytorchs_reader_at_each_step_and_in_the_end_it_reads_backwards(chromium, served):
    with living.opened_for(chromium, served, NAME, **living.DESKTOP) as watched:
        page = watched.page
        living.assert_little_is_loaded(watched, NAME)
        inline = page.locator("script[type='application/json']").all_text_contents()
        figure = living.start(page, NAME)
        data = next(json.loads(text) for text in inline if "letters" in text)
        figure.get_by_label("8 letters of your own").fill("Zeppelin")
        tokens = torch.tensor([[data["letters"].index(x) + data["first"] for x in "zeppelin"]])
        slider = figure.get_by_label("Steps of training")
        slider.press("Home")
        for step, exported in enumerate(page.evaluate("courseModels.reversal")):
            with torch.no_grad():
                logits, weights = rebuilt(exported)(tokens, tokens, return_weights=True)
            shown = figure.locator("tbody [data-weight]").evaluate_all(
                "cells => cells.map(cell => Number(cell.dataset.weight))"
            )
            assert shown == pytest.approx(weights.flatten().tolist(), abs=living.CLOSE)
            said = page.evaluate(
                "([step, tokens]) => courseEngine.readThrough(courseEngine.unpack("
                "courseModels.reversal[step]), tokens, 1).logits.map((row) => [...row])",
                [step, tokens[0].tolist()],
            )
            assert (torch.tensor(said) - logits[0]).abs().max() < living.CLOSE
            slider.press("ArrowRight")
        heads = figure.locator("tbody th").all_text_contents()
        assert "".join(heads) == "nileppez"
        expect(figure.locator(".course-summary")).to_contain_text("8 of 8 letters are right")


@pytest.mark.browser
@pytest.mark.proof
@living.both_themes
def test_it_runs_from_a_folder_on_a_phone_and_is_accessible(chromium, site, theme):
    with living.started(
        chromium, site.as_uri(), NAME, color_scheme=theme, **living.PHONE
    ) as figure:
        figure.get_by_label("8 letters").fill("ab1")
        expect(figure.locator("thead")).to_have_text("ab\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7")
        figure.get_by_role("button", name="Train").press("Enter")
        expect(figure.locator("output")).not_to_have_text("1")
        figure.get_by_role("button", name="Pause").press("Enter")
        living.assert_fits_and_is_accessible(figure)
