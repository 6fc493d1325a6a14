"""The translator that runs in pages equals ``course_lib``'s Transformer and beam search."""

import copy
import itertools
import json
import math
import re
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

from course_lib.generation.beam_search import beam_search
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.generation.step_models import CachedTransformer
from course_lib.models.transformer import Transformer
from tests.book import living_figures as living
from tests.book.figures.conftest import copied, figure_test, numbers
from tests.book.living_models import (
    computed,
    drawn_sources,
    largest_difference,
    rebuilt,
    run_in_page,
)
from tests.book.watched_page import depends_on_page, expect, opened

SENTENCE = "the man sees the dog."
SCROLL_BAR = 15  # pixels that a window's scroll bar takes, which Playwright's Chromium hides


def translate(figure, sentence):
    """Type a sentence into the figure, and let it translate."""
    figure.get_by_label("An English sentence").fill(sentence)
    figure.get_by_role("button", name="Translate").click()


def written(figure, model="French"):
    """Return the translation in the result whose text contains ``model``."""
    return figure.locator(".living-result", has_text=model).get_attribute("data-written")


def choose_question(figure, index):
    """Press the button of a question about the model, by its index."""
    figure.locator(".living-questions").get_by_role("button").nth(index).click()


@pytest.mark.parametrize("sentences", [10, pytest.param(100, marks=pytest.mark.proof)])
@figure_test("living-transformer")
def test_every_number_of_the_translator_equals_pytorchs(figure, sentences):
    model, words = rebuilt(figure.page)
    for src in drawn_sources(words, sentences):
        found = run_in_page(figure.page, src)
        expected = computed(model, src, found["read"])
        unnamed = {name for name in expected if name.split(".")[-1] == "dropout"}
        assert {*expected} - unnamed <= {*found["trace"]}  # every module is there
        assert largest_difference(found["trace"], expected) < living.CLOSE
        assert found["chosen"] == expected["output_projection"].argmax(-1).tolist()


class Skip(nn.Module):
    """A layer that returns its input."""

    def forward(self, x, **_):
        return x


def switch_off(model: Transformer, cut: str) -> None:
    """Switch off a part of a translator in PyTorch, given the part's name in the page."""
    head_dim = model.config.d_model // model.config.num_heads
    if cut == "scale":
        for name, parameter in model.named_parameters():
            if "query_projection" in name:
                parameter.data *= math.sqrt(head_dim)
    elif cut == "positions":
        model.src_positions = model.tgt_positions = Skip()
    elif cut == "cross_attention":
        for layer in model.decoder.layers:
            for parameter in layer.cross_attention.output_projection.parameters():
                parameter.data.zero_()
    elif cut == "norms":
        for part in list(model.modules()):
            if hasattr(part, "norm"):
                part.norm = Skip()
    elif cut == "residuals":
        for part in model.modules():
            if hasattr(part, "norm_position"):
                part.forward = lambda x, sublayer, norm=part.norm: sublayer(norm(x))
    else:  # a head: its columns of the output projection
        path, head = cut.split(".heads.")
        projection = model.get_submodule(path).output_projection
        projection.weight.data[:, int(head) * head_dim : (int(head) + 1) * head_dim] = 0


@figure_test("living-transformer")
def test_the_translator_without_a_part_equals_pytorchs_without_it(figure):
    whole, words = rebuilt(figure.page)
    (src,) = drawn_sources(words, 1)
    uncut = torch.tensor(run_in_page(figure.page, src)["trace"]["output_projection"][0])
    head = "encoder.layers.1.self_attention.heads.1"
    for cut in ("scale", "positions", "cross_attention", "norms", "residuals", head):
        model = copy.deepcopy(whole)
        switch_off(model, cut)
        found = run_in_page(figure.page, src, [cut])
        with torch.no_grad():
            logits = model.double()(torch.tensor([src]), torch.tensor([found["read"]]))[0]
        here = torch.tensor(found["trace"]["output_projection"])
        scale = max(1.0, float(logits.abs().max()))  # without norms numbers grow
        assert float((here - logits).abs().max()) < living.CLOSE * scale, cut
        assert (uncut - here[0]).abs().max() > 1e-2
    trace = run_in_page(figure.page, src, ["causal_mask"])["trace"]
    weights = torch.tensor(trace["decoder.layers.0.self_attention.weights"])
    assert float(weights[:, 0, 1:].sum()) > 0.1


@figure_test("living-transformer")
def test_a_typed_sentence_is_translated_and_unknown_words_are_named(figure):
    problem = figure.locator(".living-problem")
    translate(figure, "the mam sees a zebra")
    expect(problem).to_contain_text("\u201cmam\u201d (spelt like it: man, am")
    expect(problem).to_contain_text("\u201czebra\u201d.")
    expect(figure.locator(".living-result")).to_be_hidden()  # not that of another sentence
    expect(figure.locator(".living-drawing")).to_be_visible()
    assert figure.locator(".living-bench").evaluate("bench => bench.inert")
    expect(figure.locator(".living-known summary")).to_have_text("The 181 words that it knows")
    translate(figure, "The man sees the dog")
    expect(problem).to_have_text("")
    expect(figure.locator(".living-result")).to_be_visible()
    assert written(figure).startswith("l'homme")
    assert not figure.locator(".living-bench").evaluate("bench => bench.inert")


@figure_test("living-transformer")
def test_a_stage_its_words_and_its_explanation_share_one_screen(figure):
    choose_question(figure, 0)
    assert figure.page.viewport_size == {"width": 1280, "height": 900}
    figure.locator(".living-results").evaluate("results => results.scrollIntoView()")
    drawing = figure.locator(".living-drawing").bounding_box()
    summary = figure.locator(".living-bench > .living-beside > .course-summary").bounding_box()
    assert drawing["y"] + drawing["height"] <= 900
    assert summary["x"] >= drawing["x"] + drawing["width"]
    assert summary["y"] + summary["height"] <= 900
    beside = figure.locator(".living-beside").bounding_box()
    assert beside["y"] + beside["height"] <= drawing["y"] + drawing["height"] + 4
    for word in figure.locator(".living-word, .living-said > span").all():
        assert word.bounding_box()["width"] >= 56
        style = "word => getComputedStyle(word.firstElementChild).writingMode"
        assert word.evaluate(style) == "horizontal-tb"
    for label in figure.locator(".living-label, .living-form select").all():
        assert label.evaluate("label => label.scrollWidth <= label.clientWidth + 1")
    figure.page.set_viewport_size({"width": 1280 - SCROLL_BAR, "height": 900})
    figure.page.wait_for_function(
        "drawing => drawing.scrollWidth <= drawing.clientWidth",
        arg=figure.locator(".living-drawing").element_handle(),
    )
    figure.page.set_viewport_size({"width": 1280, "height": 900})


WORDS = """words => words.map((word) => {
  const { x, y, right, bottom } = word.firstChild.getBoundingClientRect();
  const isUpright = getComputedStyle(word.firstChild).writingMode === "horizontal-tb";
  return { x, y, right, bottom, isUpright };
})"""


@figure_test("living-transformer")
def test_words_stand_upright_and_apart_on_a_phone(figure):
    choose_question(figure, 0)
    figure.page.set_viewport_size({"width": 390, "height": 844})
    figure.locator(".living-drawing.is-narrow").wait_for()
    words = figure.locator(".living-word, .living-said > span").evaluate_all(WORDS)
    for part in (".living-player output", ".living-drawing"):
        assert figure.locator(part).evaluate("part => part.scrollWidth <= part.clientWidth"), part
    figure.page.set_viewport_size({"width": 1280, "height": 900})
    assert len(words) > 10
    assert all(word["isUpright"] for word in words)
    for one, other in itertools.combinations(words, 2):
        apart = one["right"] <= other["x"] or other["right"] <= one["x"]
        assert apart or one["bottom"] <= other["y"] or other["bottom"] <= one["y"]


@figure_test("living-transformer")
def test_the_whole_screen_shows_the_drawing_and_the_lens_and_is_left_again(figure):
    choose_question(figure, 0)
    figure.get_by_role("button", name="Whole screen").click()
    leave = figure.get_by_role("button", name="Leave the whole screen")
    expect(leave).to_be_visible()
    stage = figure.locator(".course-interactive__stage")
    assert stage.evaluate("stage => stage === document.fullscreenElement")
    assert stage.evaluate("stage => stage.scrollWidth <= innerWidth")
    assert stage.bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 900}
    drawing = figure.locator(".living-drawing").bounding_box()
    assert drawing["y"] + drawing["height"] <= 900
    figure.locator(".living-surgery [data-cut=cross_attention]").click()
    for part in ("[data-stage=decoder]", ".living-beside"):
        place = figure.locator(part).bounding_box()
        assert place["y"] + place["height"] <= 900, part
    figure.get_by_role("button", name="Put all back").click()
    leave.click()
    expect(figure.get_by_role("button", name="Whole screen", exact=True)).to_be_visible()
    assert figure.page.evaluate("document.fullscreenElement") is None


@figure_test("living-transformer")
def test_a_link_holds_a_state_and_a_figure_can_be_saved_and_embedded(figure, chromium):
    choose_question(figure, 0)
    translate(figure, SENTENCE)
    figure.locator("[data-cut=norms]").click()
    figure.locator("[data-stage='encoder.layers.1.attention_residual']").click()
    figure.locator("[data-head='2']").click()
    before = [figure.locator(part).inner_html() for part in (".living-results", ".living-path")]
    link, line = copied(figure, "Copy link"), copied(figure, "Copy to embed")
    with figure.page.expect_download() as saved:
        figure.get_by_role("button", name="Save as picture").click()
    picture = ElementTree.parse(saved.value.path())
    assert "\u203a" in picture.find(".//*[@data-stage]/..").itertext()  # arrows beside the stages
    with opened(chromium, link) as again:
        expect(again.page.locator(".living-here")).to_have_text("head 3")
        after = [
            again.page.locator(part).inner_html() for part in (".living-results", ".living-path")
        ]
        assert after == before
    address = re.search('src="([^"]*)"', line)[1]
    with opened(chromium, address, reduced_motion="reduce") as alone:
        expect(alone.page.locator("body > *")).to_have_count(1)
        expect(alone.page.locator(".living-here")).to_have_text("head 3")
    figure.get_by_role("button", name="Put all back").click()


@figure_test("living-transformer")
def test_the_keyboard_leads_from_the_whole_to_one_dot_product_and_back(figure):
    model, words = rebuilt(figure.page)
    translate(figure, SENTENCE)
    figure.locator("[data-stage='encoder.layers.1.attention_residual']").press("Enter")
    figure.locator("[data-head='2']").press("Enter")
    figure.locator(".living-weights").get_by_role("button", name="man").press("Enter")
    ids = [words["src"].index(w) for w in ("the", "man", "sees", "the", "dog", ".", "<end>")]
    name = "encoder.layers.1.self_attention"
    expected = computed(model, ids, [1])
    shown = numbers(figure.locator(".living-scores [data-weight]"), "weight")
    assert shown == pytest.approx(expected[f"{name}.weights"][2, 1].tolist(), abs=living.CLOSE)
    figure.locator(".living-scores").get_by_role("button", name="dog").press("Enter")
    dot = float(figure.locator("[data-dot]").get_attribute("data-dot"))
    score = float(expected[f"{name}.scores"][2, 1, 4])
    head_dim = model.config.d_model / model.config.num_heads
    assert dot == pytest.approx(score * math.sqrt(head_dim), abs=living.CLOSE)
    focused = "document.activeElement.textContent"
    assert figure.page.evaluate(focused) == "\u201cdog\u201d answers"
    figure.page.keyboard.press("Escape")
    assert figure.page.evaluate(focused) == "\u201cman\u201d asks"
    figure.locator(".living-path").get_by_role("button").nth(1).press("Enter")
    assert figure.locator(".living-head").count() == 4
    figure.page.keyboard.press("Escape")
    stage = "document.activeElement.dataset.stage"
    assert figure.page.evaluate(stage) == "encoder.layers.1.attention_residual"


MOVES = """(lens, [part, key]) => {
  const body = lens.querySelector(".living-lens-body");
  document.getAnimations().forEach((one) => one.finish()); // of earlier moves
  if (key) lens.dispatchEvent(new KeyboardEvent("keydown", { key }));
  else lens.querySelector(part).click();
  const [move] = body.getAnimations();
  if (!move) return { leaving: lens.querySelectorAll(".living-leaving").length };
  const scale = new DOMMatrix(move.effect.getKeyframes()[0].transform).a;
  document.getAnimations().forEach((one) => one.finish());
  return { scale, leaving: lens.querySelectorAll(".living-leaving").length };
}"""


@figure_test("living-transformer")
def test_the_lens_zooms_in_and_out_unless_less_motion_is_asked_for(figure):
    translate(figure, SENTENCE)
    figure.locator("[data-stage='encoder.layers.1.attention_residual']").press("Enter")
    lens = figure.locator(".living-lens")
    parts = ("[data-head='2']", ".living-weights .course-word", ".living-scores .course-word")
    for part in parts:
        moved = lens.evaluate(MOVES, [part, None])
        assert moved["scale"] < 1, part  # the new level grows
        assert moved["leaving"] == 1
    for _ in parts:
        assert lens.evaluate(MOVES, [None, "Escape"])["scale"] > 1  # the level above shrinks
    expect(lens.locator(".living-leaving")).to_have_count(0)
    figure.page.emulate_media(reduced_motion="reduce")
    assert lens.evaluate(MOVES, [parts[0], None]) == {"leaving": 0}
    figure.page.emulate_media(reduced_motion="no-preference")


MOST_SHIFT = 0.01  # "good" is below 0.1: https://web.dev/articles/cls
WATCH_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => list.getEntries().forEach(({ value, hadRecentInput }) => {
  if (!hadRecentInput) window.shifted += value;
})).observe({ type: "layout-shift", buffered: true });
window.heightNow = () => document.querySelector("figure.full-width").offsetHeight;
addEventListener("DOMContentLoaded", () => { window.height = heightNow(); });
"""


@pytest.mark.browser
@depends_on_page("living-transformer", "tests/book/figures")
def test_the_translator_starts_by_itself_once_it_is_in_view(chromium, served):
    address = f"{served}/book/living-transformer.html"
    size = {"width": 1280, "height": 900}
    with opened(chromium, address, viewport=size, script_before=WATCH_SHIFTS) as watched:
        figure = living.figure_of(watched.page, "living-transformer")
        figure.locator(".living-bench").scroll_into_view_if_needed()
        later = re.compile(r"word ([2-9]|1\d) of")
        expect(figure.locator(".living-player output")).to_contain_text(later)
        assert watched.page.evaluate("heightNow() - height") == pytest.approx(0, abs=4)
        assert watched.page.evaluate("shifted") < MOST_SHIFT
        expect(figure.get_by_role("button", name="Start the model")).to_have_count(0)
        assert watched.page.evaluate("document.activeElement === document.body")


@figure_test("living-transformer")
def test_the_player_steps_forward_and_back_and_plays_to_the_end(figure):
    translate(figure, SENTENCE)
    moment, slider = figure.locator(".living-player output"), figure.get_by_label("Where it is")
    words = figure.locator(".living-result .living-chip").count()
    assert slider.get_attribute("max") == str(6 + 8 * words - 1)  # reading takes 6 stages
    slider.press("Home")
    figure.get_by_role("button", name="Step", exact=True).press("Enter")
    expect(moment).to_have_text("reading: self-attention, layer 1")
    figure.get_by_role("button", name="Back", exact=True).press("Enter")
    expect(moment).to_have_text("reading: embedding and position")
    assert figure.locator(".living-panel--decoder .living-word").count() == 0
    forward = figure.get_by_role("button", name="Next word", exact=True)
    forward.press("Enter")
    expect(moment).to_have_text(f"word 1 of {words}: cross-attention, layer 2")
    assert figure.locator(".living-lines path").count() > 0
    slider.press("End")
    figure.page.keyboard.press("ArrowLeft")
    figure.get_by_role("button", name="Play").press("Enter")
    expect(moment).to_have_text(f"word {words} of {words}: next word")
    expect(figure.get_by_role("button", name="Play")).to_be_visible()
    expect(forward).to_be_disabled()
    figure.locator("[data-stage='decoder.layers.1.cross_attention_residual']").press("Enter")
    forward.press("Enter")
    expect(moment).to_have_text(f"word {words} of {words}: next word")


@figure_test("living-transformer")
def test_the_head_that_follows_agreement_answers_the_question(figure):
    choose_question(figure, 1)
    asks = figure.locator(".living-panel--encoder .living-word[aria-pressed=true]")
    expect(asks).to_have_text("old")
    questions = json.loads(figure.page.locator("#living-questions").text_content())
    shares = questions[1]["heads"]["shares"]
    _, name, head = max(
        (share, name, head) for name, row in shares.items() for head, share in enumerate(row)
    )
    verdict = figure.locator(".living-verdict")
    answer = figure.get_by_role("button", name="Answer: head")
    answer.first.press("Enter")
    expect(verdict).to_contain_text("Another one puts more")
    stage = name.replace("self_attention", "attention_residual")
    figure.locator(f"[data-stage='{stage}']").press("Enter")
    expect(verdict).to_be_empty()
    answer.nth(head).press("Enter")
    expect(verdict).to_contain_text(f"That is the one! Over 1,000 sentences, head {head + 1}")
    choose_question(figure, 0)
    expect(answer).to_have_count(0)


@figure_test("living-transformer")
def test_a_cut_is_marked_in_the_drawing_and_its_effect_is_told(figure):
    choose_question(figure, 0)
    translate(figure, SENTENCE)
    stage = figure.locator("[data-stage='decoder.layers.1.cross_attention_residual']")
    stage.click()
    effect = figure.locator(".living-lens .living-effect")
    expect(effect).to_be_empty()
    figure.locator("[data-head='2']").click()
    figure.get_by_role("button", name="Switch off this head").click()
    expect(stage).to_contain_text("no head 3")
    back = figure.get_by_role("button", name="Put this head back")
    assert back.evaluate("button => button === document.activeElement")
    figure.locator("[data-cut=norms]").click()
    expect(stage).to_contain_text("no norm, head 3")
    expect(effect).to_have_text(re.compile("The French (changes|becomes)"))
    figure.get_by_role("button", name="Put all back").click()
    expect(effect).to_be_empty()
    figure.locator("[data-cut=cross_attention]").click()
    first, whole = written(figure, "broken"), written(figure, "whole")
    translate(figure, "my hen is small.")
    assert written(figure, "broken") == first != whole  # for any English sentence
    figure.get_by_role("button", name="Put all back").click()
    assert figure.locator(".living-result").count() == 1


# ---- beam search ----

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


def searched_by_library(model, ids, width, alpha):
    """Return the hypotheses that ``course_lib``'s beam search finds for a sentence's ids."""
    memory, memory_mask = model.encode(torch.tensor([ids]))
    return beam_search(
        CachedTransformer(model, memory, memory_mask), torch.tensor([[1]]), beam_size=width,
        length_penalty=PowerPenalty(alpha), eos_id=2, max_new_tokens=20, num_results=width,
    )[0]  # fmt: skip


@figure_test("beam-translator")
def test_every_result_of_the_search_equals_the_librarys(figure):
    model, words = rebuilt(figure.page)
    settings = [(1, 1.5), (8, 1.0), (4, 0.0)]
    for ids, (width, alpha) in zip(drawn_sources(words, 3), settings, strict=True):
        here = json.loads(figure.page.evaluate(SEARCH, [ids, width, alpha]))
        there = searched_by_library(model, ids, width, alpha)
        for found, hypothesis in zip(here, there, strict=True):
            assert found["words"] == [words["tgt"][token] for token in hypothesis.tokens]
            assert found["total"] == pytest.approx(hypothesis.log_probability, abs=living.CLOSE)
            assert found["score"] == pytest.approx(hypothesis.score, abs=living.CLOSE)


@figure_test("beam-translator")
def test_the_search_of_a_typed_sentence_is_drawn_step_by_step(figure):
    field, search = (
        figure.get_by_label("An English sentence"),
        figure.get_by_role("button", name="Search", exact=True),
    )
    field.fill("the dog sees the mam")
    search.click()
    expect(figure.locator(".living-problem")).to_contain_text("spelt like it: man")
    field.fill("the dog sees the man")
    figure.get_by_label("Beam width").press("End")
    search.press("Enter")
    model, words = rebuilt(figure.page)
    ids = [words["src"].index(w) for w in ("the", "dog", "sees", "the", "man", ".", "<end>")]
    there = searched_by_library(model, ids, 8, 1.0)
    rows = figure.locator("tbody [data-total]")
    expect(rows).to_have_count(len(there))
    expect(figure.locator(".course-summary")).to_contain_text("of 8 finished sentences")
    expected = [found.log_probability for found in there]
    assert numbers(rows, "total") == pytest.approx(expected, abs=living.CLOSE)
    figure.get_by_label("Step", exact=True).press("Home")
    expect(figure.locator("svg.beam-tree rect")).to_have_count(16)
    expect(rows).to_have_count(0)
