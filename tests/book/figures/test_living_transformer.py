"""The figure living-transformer: what runs in the page is course_lib's Transformer.

The page's own model is rebuilt in PyTorch from the file that the page loads.
"""

import copy
import json
import math
import re

import pytest
import torch
from torch import nn

from course_lib.models.transformer import Transformer
from tests.book import living_figures as living
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.living_model import (
    computed,
    drawn_sources,
    largest_difference,
    rebuilt,
    run_in_page,
)
from tests.book.watched_page import depends_on_page, expect

pytestmark = depends_on_page("living-transformer", "course_lib", "tests/book/figures")

NAME = "living-transformer"
AN_EXAMPLE = {
    "src": ["a", "."], "tgt": ["un", "."], "written": ["un"], "alignment": [[0, 0], [1, 1]],
    "src_agreements": [], "tgt_agreements": [[1, 0]],
}  # fmt: skip
DATA = {"model": "m", "right": 0.9, "examples": [AN_EXAMPLE], "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"model": ""}, "model must name the deferred data"),
    ({"right": 1.1}, "right must be a finite number from 0 to 1"),
    ({"examples": []}, "examples must hold at least 1"),
    ({"examples": [AN_EXAMPLE | {"alignment": [[0, 2]]}]}, "alignment must be .* from 0 to 1"),
    ({"examples": [AN_EXAMPLE | {"tgt_agreements": [[0]]}]}, "must hold 2 positions"),
    ({"examples": [AN_EXAMPLE | {"src": []}]}, "src must hold at least 1"),
)


def test_the_table_shows_what_the_model_wrote_beside_what_is_right():
    table = table_of(NAME, DATA)
    assert '<th scope="row">a .</th><td>un</td><td>un .</td>' in table


# ---- in the browser ----


@pytest.fixture
def figure(awake):
    """The figure as it is when its model has just been started."""
    choose_question(awake, 0)
    return awake


def choose_question(figure, place):
    figure.locator(".living-questions").get_by_role("button").nth(place).click()


def translate(figure, sentence):
    figure.get_by_label("An English sentence").fill(sentence)
    figure.get_by_role("button", name="Translate").click()


def written(figure, whose="French"):
    line = figure.locator(".living-result", has_text=whose)
    return line.get_attribute("data-written")


@pytest.mark.browser
@pytest.mark.parametrize("sentences", [10, pytest.param(100, marks=pytest.mark.proof)])
def test_every_number_is_that_of_pytorch_on_drawn_sentences(figure, sentences):
    model, words = rebuilt(figure.page)
    for src in drawn_sources(words, sentences):
        found = run_in_page(figure.page, src)
        expected = computed(model, src, found["read"])
        silent = {name for name in expected if name.split(".")[-1] == "dropout"}
        assert {*expected} - silent <= {*found["trace"]}  # every module is there
        assert largest_difference(found["trace"], expected) < living.CLOSE
        chosen = expected["output_projection"].argmax(-1).tolist()
        assert found["chosen"] == chosen  # each word is the likeliest after what was read


class Untouched(nn.Module):
    """Stands where a layer stood, and hands on what it reads."""

    def forward(self, x, **_):
        return x


def without(model: Transformer, cut: str) -> None:
    """Switch a part of PyTorch's model off."""
    if cut == "scale":
        for name, parameter in model.named_parameters():
            if "query_projection" in name:
                parameter.data *= math.sqrt(model.config.d_model / model.config.num_heads)
    elif cut == "positions":
        model.src_positions = model.tgt_positions = Untouched()
    elif cut == "cross_attention":
        for layer in model.decoder.layers:
            layer.cross_attention.output_projection.weight.data.zero_()
            layer.cross_attention.output_projection.bias.data.zero_()
    elif cut == "norms":
        for part in list(model.modules()):
            if hasattr(part, "norm"):
                part.norm = Untouched()
    elif cut == "residuals":
        for part in model.modules():
            if hasattr(part, "norm_position"):
                part.forward = lambda x, sublayer, norm=part.norm: sublayer(norm(x))
    else:  # a head: its columns of the output projection
        path, head = cut.split(".heads.")
        wide = model.config.d_model // model.config.num_heads
        projection = model.get_submodule(path).output_projection
        projection.weight.data[:, int(head) * wide : (int(head) + 1) * wide] = 0


HEAD = "encoder.layers.1.self_attention.heads.1"


@pytest.mark.browser
def test_the_operated_model_is_pytorchs_without_that_part(figure):
    whole, words = rebuilt(figure.page)
    (src,) = drawn_sources(words, 1)
    uncut = torch.tensor(run_in_page(figure.page, src)["trace"]["output_projection"][0])
    for cut in ("scale", "positions", "cross_attention", "norms", "residuals", HEAD):
        model = copy.deepcopy(whole)
        without(model, cut)
        found = run_in_page(figure.page, src, [cut])
        with torch.no_grad():
            logits = model(torch.tensor([src]), torch.tensor([found["read"]]))[0]
        here = torch.tensor(found["trace"]["output_projection"])
        scale = max(1.0, float(logits.abs().max()))  # without norms numbers grow
        assert float((here - logits).abs().max()) < living.CLOSE * scale, cut
        assert (uncut - here[0]).abs().max() > 1e-2  # the cut is felt


@pytest.mark.browser
def test_without_the_causal_mask_words_look_ahead(figure):
    _, words = rebuilt(figure.page)
    trace = run_in_page(figure.page, drawn_sources(words, 1)[0], ["causal_mask"])["trace"]
    weights = torch.tensor(trace["decoder.layers.0.self_attention.weights"])
    assert float(weights[:, 0, 1:].sum()) > 0.1


@pytest.mark.browser
def test_without_cross_attention_it_writes_the_same_whatever_it_reads(figure):
    figure.locator("[data-cut=cross_attention]").click()
    translate(figure, "the man sees the dog.")
    first, whole = written(figure, "broken"), written(figure, "whole")
    expect(figure.locator(".living-why")).to_contain_text("The Transformer explains why")
    expect(figure.locator(".living-why")).not_to_contain_text("same")  # it is for readers to find
    assert figure.locator(".living-lines path").count() == 0  # nothing comes from the English
    translate(figure, "my hen is small.")
    expect(figure.locator(".living-result", has_text="whole")).not_to_have_attribute(
        "data-written", whole
    )
    assert written(figure, "broken") == first != whole
    figure.get_by_role("button", name="Put all back").click()
    assert figure.locator(".living-result").count() == 1


@pytest.mark.browser
def test_words_that_it_does_not_know_are_named_with_their_neighbours(figure):
    before = written(figure)
    translate(figure, "the mam sees a zebra")
    problem = figure.locator(".living-problem")
    expect(problem).to_contain_text("\u201cmam\u201d (near it: am, man")
    expect(problem).to_contain_text("\u201czebra\u201d")
    assert written(figure) == before
    translate(figure, "The man sees the dog")
    expect(problem).to_have_text("")
    assert written(figure).startswith("l'homme")


@pytest.mark.browser
def test_from_the_whole_to_one_dot_product_and_back_by_keyboard(figure):
    page = figure.page
    model, words = rebuilt(page)
    translate(figure, "the man sees the dog.")
    figure.locator("[data-stage='encoder.layers.1.attention_residual']").press("Enter")
    figure.locator("[data-head='2']").press("Enter")
    figure.locator(".living-weights").get_by_role("button", name="man").press("Enter")
    ids = [words["src"].index(w) for w in ("the", "man", "sees", "the", "dog", ".", "<end>")]
    name = "encoder.layers.1.self_attention"
    expected = computed(model, ids, [1])
    weights = expected[f"{name}.weights"][2, 1]
    shown = figure.locator(".living-scores [data-weight]").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.weight))"
    )
    assert shown == pytest.approx(weights.tolist(), abs=living.CLOSE)
    figure.locator(".living-scores").get_by_role("button", name="dog").press("Enter")
    dot = float(figure.locator("[data-dot]").get_attribute("data-dot"))
    score = expected[f"{name}.scores"][2, 1, 4]
    head_dim = model.config.d_model / model.config.num_heads
    assert dot == pytest.approx(float(score) * math.sqrt(head_dim), abs=living.CLOSE)
    assert page.evaluate("document.activeElement.textContent") == "\u201cdog\u201d answers"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "\u201cman\u201d asks"
    figure.locator(".living-path").get_by_role("button").first.press("Enter")
    assert figure.locator(".living-head").count() == 4


@pytest.mark.browser
def test_it_steps_forward_back_and_plays_to_the_end(figure):
    page = figure.page
    translate(figure, "the man sees the dog.")
    moment = figure.locator(".living-player output")
    slider = figure.get_by_label("Where it is")
    words = figure.locator(".living-result .living-chip").count()  # not 7 on every machine
    assert slider.get_attribute("max") == str(6 + 8 * words - 1)  # reading takes 6 stages
    slider.press("Home")
    expect(moment).to_have_text("reading: embedding and position")
    figure.get_by_role("button", name="Step", exact=True).press("Enter")
    expect(moment).to_have_text("reading: self-attention, layer 1")
    figure.get_by_role("button", name="Back", exact=True).press("Enter")
    expect(moment).to_have_text("reading: embedding and position")
    assert figure.locator(".living-panel--decoder .living-word").count() == 0
    figure.get_by_role("button", name="Next word", exact=True).press("Enter")
    # where it looks at the source
    expect(moment).to_have_text(f"word 1 of {words}: cross-attention, layer 2")
    assert figure.locator(".living-lines path").count() > 0
    slider.press("End")
    page.keyboard.press("ArrowLeft")
    figure.get_by_role("button", name="Play").press("Enter")
    expect(moment).to_have_text(f"word {words} of {words}: next word")
    expect(figure.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.browser
def test_the_truth_frames_the_noun_that_decides_the_adjective(figure):
    translate(figure, "the actress with the dogs is not old.")
    figure.get_by_role("button", name="Alignment and agreement").click()
    figure.locator("[data-stage='encoder.layers.1.attention_residual']").click()
    figure.locator("[data-head='1']").click()
    rows = figure.locator(".living-weights tbody tr")
    framed = rows.filter(has=figure.page.get_by_role("button", name="old")).locator("td")
    classes = framed.evaluate_all("cells => cells.map(cell => cell.className)")
    assert [i for i, name in enumerate(classes) if "is-agreement" in name] == [1]
    translate(figure, "my hens sing.")
    expect(figure.locator(".living-legend")).to_contain_text("known of the sentences in the list")


@pytest.mark.browser
def test_the_head_that_follows_agreement_is_found_without_being_told(figure):
    page = figure.page
    seen = page.locator("article").inner_text()
    assert "of the encoder\u2019s self-attention in layer" not in seen  # folded, wherever it stands
    choose_question(figure, 1)
    asks = figure.locator(".living-panel--encoder .living-word[aria-pressed=true]")
    expect(asks).to_have_text("old")
    assert figure.locator(".living-look--agreement").count() == 1
    questions = json.loads(page.locator("#living-questions").text_content())
    shares = questions[1]["heads"]["shares"]
    best = max(
        (share, name, head) for name, all in shares.items() for head, share in enumerate(all)
    )
    verdict = figure.locator(".living-verdict")
    this = figure.get_by_role("button", name="Answer: head")
    this.first.press("Enter")
    expect(verdict).to_contain_text("Another one puts more")
    assert page.evaluate("document.activeElement.textContent") == "Answer: head 1"
    expect(figure.locator(".living-task")).to_have_text("Which head follows agreement?")
    stage = best[1].replace("self_attention", "attention_residual")
    figure.locator(f"[data-stage='{stage}']").press("Enter")
    expect(verdict).to_be_empty()
    expect(asks).to_have_text("old")
    figure.locator("[data-stage='decoder.layers.1.cross_attention_residual']").click()
    moment = figure.locator(".living-player output")
    expect(moment).to_have_text("word 8 of 10: cross-attention, layer 2")  # that writes "vieux"
    expect(figure.locator(".living-head-says").first).to_have_text(re.compile("agreement [0-9]+%$"))
    figure.locator(f"[data-stage='{stage}']").press("Enter")
    expect(asks).to_have_text("old")
    this.nth(best[2]).press("Enter")
    expect(verdict).to_contain_text(f"That is the one! Over 200 sentences, head {best[2] + 1}")
    choose_question(figure, 0)
    expect(this).to_have_count(0)


@pytest.mark.browser
def test_what_is_switched_off_is_told_where_it_was_switched_and_marked_in_the_drawing(figure):
    translate(figure, "the man sees the dog.")
    stage = figure.locator("[data-stage='decoder.layers.1.cross_attention_residual']")
    stage.click()
    effect = figure.locator(".living-lens .living-effect")
    expect(effect).to_be_empty()
    figure.locator("[data-head='2']").click()
    before = written(figure)
    figure.get_by_role("button", name="Switch off this head").click()
    expect(stage).to_contain_text("no head 3")
    back = figure.get_by_role("button", name="Put this head back")
    assert back.evaluate("button => button === document.activeElement")
    after = written(figure, "broken")
    same = re.compile("The French stays the same")
    expect(effect).to_have_text(same if before == after else re.compile("The French (changes|bec)"))
    figure.locator("[data-cut=norms]").click()
    expect(stage).to_contain_text("no norm, head 3")
    expect(effect).to_have_text(re.compile("The French (changes|becomes)"))
    figure.get_by_role("radio", name="the whole one").check()
    expect(stage).to_have_text("cross-attentionlayer 2")
    figure.get_by_role("button", name="Put all back").click()
    expect(effect).to_be_empty()


@pytest.mark.browser
def test_what_one_does_and_what_one_sees_fit_the_window(figure):
    box = {
        name: figure.locator(f".living-{name}").first.bounding_box()
        for name in ("results", "surgery", "player", "drawing", "lens", "head")
    }
    header = figure.page.locator(".bd-header-article").bounding_box()["height"]
    for name in ("drawing", "head"):
        low = box[name]["y"] + box[name]["height"]
        assert low - box["results"]["y"] < living.DESKTOP["viewport"]["height"] - header
    assert box["results"]["y"] < box["surgery"]["y"] < box["player"]["y"] < box["drawing"]["y"]
    assert box["lens"]["x"] > box["drawing"]["x"] + box["drawing"]["width"]  # beside it
    assert box["lens"]["y"] == box["drawing"]["y"]


@pytest.mark.browser
def test_what_follows_the_prediction_answers_it(figure):
    veil = figure.page.locator(".course-veil").first
    expect(veil).not_to_have_class("is-lifted")
    veil.get_by_role("button", name="Show anyway").click()
    expect(veil.locator(".course-veil__content")).to_contain_text("became this same text")


@pytest.mark.browser
@living.both_themes
def test_it_runs_from_a_folder_on_a_phone_and_is_accessible(chromium, site, theme):
    with living.started(
        chromium, site.as_uri(), NAME, color_scheme=theme, **living.PHONE
    ) as figure:
        assert written(figure).endswith(".")
        choose_question(figure, 1)
        figure.get_by_role("button", name="positions", exact=True).click()
        figure.get_by_role("button", name="Next word", exact=True).click()
        now = figure.locator(".living-label[aria-pressed=true]")
        tops = [part.bounding_box()["y"] for part in (figure.locator(".living-player"), now)]
        assert 0 < tops[0] < tops[1] < 800 - 20  # what moves, and what moved, are both in view
        figure.locator("[data-head='0']").click()
        figure.locator(".living-weights").scroll_into_view_if_needed()
        figure.locator(".living-lens").evaluate("lens => lens.scrollIntoView()")
        figure.get_by_role("button", name="Next word", exact=True).click()
        expect(figure.locator(".living-weights")).to_be_in_viewport()  # whoever reads on, stays
        living.assert_fits_and_is_accessible(figure)
