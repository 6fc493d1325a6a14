"""The figure beam-translator: what the page finds is what course_lib's beam search finds."""

import json

import pytest
import torch

from course_lib.generation.beam_search import beam_search
from course_lib.generation.cached import CachedTransformer
from course_lib.generation.length_penalty import PowerPenalty
from tests.book import living_figures as living
from tests.book.living_model import drawn_sources, rebuilt
from tests.book.watched_page import depends_on_page, expect

pytestmark = [
    pytest.mark.browser,
    depends_on_page("living-transformer", "course_lib", "tests/book/figures"),
]

NAME = "beam-translator"
LONGEST = 20
SEARCH = """([ids, width, alpha]) => {
  const { config, words, parameters } = courseModels.translator;
  const { Transformer, unpack, makeFollowers } = courseEngine;
  window.searched ??= new Transformer(config, unpack(parameters));
  const start = words.tgt.indexOf("<start>");
  const next = makeFollowers(window.searched, ids, words.tgt, start);
  const options = { width, alpha, end: "<end>", maxSteps: 20 };
  const { results } = courseBeamSearch.search((words) => next(words).slice(0, 16), options);
  return JSON.stringify(results.map(({ words, total, score }) => ({ words, total, score })));
}"""


@pytest.fixture(scope="module")
def figure(chromium, site):
    """The figure, opened from a folder, its first search done."""
    with living.started(chromium, site.as_uri(), NAME, **living.DESKTOP) as figure:
        yield figure


def found_by_library(model, ids, width, alpha):
    memory, memory_mask = model.encode(torch.tensor([ids]))
    reading = CachedTransformer(model, memory, memory_mask)
    options = {"eos_id": 2, "max_new_tokens": LONGEST, "num_results": width}
    return beam_search(
        reading, torch.tensor([[1]]), beam_size=width, length_penalty=PowerPenalty(alpha), **options
    )[0]


def test_every_result_is_that_of_the_library_on_drawn_sentences(figure):
    model, words = rebuilt(figure.page)
    settings = [(1, 1.5), (8, 1.0), (4, 0.0)]
    for ids, (width, alpha) in zip(drawn_sources(words, 3), settings, strict=True):
        here = json.loads(figure.page.evaluate(SEARCH, [ids, width, alpha]))
        there = found_by_library(model, ids, width, alpha)
        assert [found["words"] for found in here] == [
            [words["tgt"][token] for token in hypothesis.tokens] for hypothesis in there
        ]
        for found, hypothesis in zip(here, there, strict=True):
            assert found["total"] == pytest.approx(hypothesis.log_probability, abs=living.CLOSE)
            assert found["score"] == pytest.approx(hypothesis.score, abs=living.CLOSE)


def test_it_shows_the_search_of_a_typed_sentence_step_by_step(figure):
    figure.get_by_label("An English sentence").fill("the dog sees the mam")
    figure.get_by_role("button", name="Search", exact=True).click()
    expect(figure.locator(".living-problem")).to_contain_text("near it")
    figure.get_by_label("An English sentence").fill("the dog sees the man")
    figure.get_by_label("Beam width").press("End")
    figure.get_by_role("button", name="Search", exact=True).press("Enter")
    model, words = rebuilt(figure.page)
    ids = [words["src"].index(w) for w in ("the", "dog", "sees", "the", "man", ".", "<end>")]
    there = found_by_library(model, ids, 8, 1.0)
    rows = figure.locator("tbody [data-total]")
    expect(rows).to_have_count(len(there))
    expect(figure.locator(".course-summary")).to_contain_text("of 8 finished sentences")
    totals = rows.evaluate_all("cells => cells.map(cell => Number(cell.dataset.total))")
    assert totals == pytest.approx([found.log_probability for found in there], abs=living.CLOSE)
    step = figure.get_by_label("Step", exact=True)
    step.press("Home")
    expect(figure.locator("svg.beam-tree rect")).to_have_count(16)
    expect(rows).to_have_count(0)


@pytest.mark.proof
@living.both_themes
def test_it_is_accessible_and_fits_a_phone(chromium, served, theme):
    with living.started(chromium, served, NAME, color_scheme=theme, **living.PHONE) as figure:
        living.assert_fits_and_is_accessible(figure)
