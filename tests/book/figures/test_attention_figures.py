"""The figures about attention compute what ``course_lib`` computes."""

import json

import pytest
import torch
from course_book.figures.registry import FIGURES
from torch.autograd.functional import jacobian

from course_lib.analysis.complexity import (
    attention_flops,
    attention_weights_bytes,
    feed_forward_flops,
    kv_cache_bytes,
    recurrent_flops,
)
from course_lib.layers.attention import scaled_dot_product_attention
from course_lib.layers.masks import causal_mask
from course_lib.layers.positional import SinusoidalPositions
from tests.book.figures.conftest import as_number, data_of, figure_test, numbers


@figure_test("attention-cost")
def test_costs_equal_the_librarys(figure):
    def shown(part):
        return int(figure.locator(f"[data-part={part}]").get_attribute("data-value"))

    for slider in figure.locator("input[type=range]").all():
        slider.press("ArrowRight")
    n, d, h = (int(number) for number in numbers(figure.locator("output")))
    assert shown("scores") + shown("projections") == attention_flops(1, n, n, d)
    assert shown("feed-forward") == feed_forward_flops(1, n, d, 4 * d)
    assert shown("recurrent") == recurrent_flops(1, n, d, d, gates=3)
    written = int(figure.locator(".cost-memory").first.get_attribute("data-value"))
    assert written == attention_weights_bytes(1, h, n, n)
    figure.get_by_text(f"At length {n:,} and width {d:,}").wait_for()


@figure_test("attention-plane")
def test_a_moved_query_mixes_values_as_the_library_does(figure):
    data = data_of(figure)
    query = figure.get_by_role("slider", name="query", exact=True)
    query.press("ArrowRight")
    query.press("Shift+ArrowDown")
    moved = [data["query"][0] + 0.1, data["query"][1] - 0.5]
    box, ring = figure.locator(".course-plane").bounding_box(), query.bounding_box()
    assert ring["x"] + ring["width"] / 2 == pytest.approx(
        box["x"] + box["width"] * (1 + moved[0] / data["reach"]) / 2, abs=1.5
    )
    plane = FIGURES["attention-plane"].model_validate_json(json.dumps(data | {"query": moved}))
    scores, weights, mixed = plane.attend()
    assert numbers(figure.locator(".plane-score")) == pytest.approx(scores, abs=0.006)
    assert numbers(figure.locator(".plane-weight")) == pytest.approx(weights, abs=0.006)
    figure.locator(".plane-answer", has_text=f"{mixed:.1f} years").wait_for()
    query.hover()
    figure.page.mouse.down()
    figure.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    figure.page.mouse.up()
    assert query.get_attribute("aria-valuetext") == "swims 0.0, climbs 0.0"


@figure_test("query-key-value")
def test_weights_output_and_links_equal_the_librarys(figure):
    words, slider = figure.locator(".qkv-word"), figure.get_by_role("slider")
    shown = figure.locator(".qkv-bar--query .qkv-number")
    data = data_of(figure)
    table = FIGURES["query-key-value"].model_validate_json(json.dumps(data)).weights()
    words.first.focus()
    for row in table:
        assert numbers(shown) == pytest.approx(row, abs=0.0101)
        figure.page.keyboard.press("ArrowDown")
    assert words.last.get_attribute("aria-pressed") == "true"
    weights = numbers(shown)
    output = figure.locator("tfoot .course-unseen").text_content().split(", ")
    columns = zip(*data["value"], strict=True)
    expected = [sum(w * v for w, v in zip(weights, c, strict=True)) for c in columns]
    assert [as_number(text) for text in output] == pytest.approx(expected, abs=0.05)
    widths = figure.locator(".qkv-arcs path").evaluate_all(
        "paths => paths.map((path) => parseFloat(path.style.strokeWidth))"
    )
    assert widths == pytest.approx([0.75 + 8.25 * weight for weight in weights], abs=0.05)
    slider.press("End")
    even = max(numbers(shown))
    slider.press("Home")
    assert even < max(weights) <= max(numbers(shown))
    figure.get_by_role("button", name="head_dim").click()
    assert numbers(shown) == weights


@figure_test("query-key-value")
def test_pointing_at_a_word_shows_its_weights_and_pressing_keeps_them(figure):
    words, shown = figure.locator(".qkv-word"), figure.locator(".qkv-bar--query .qkv-number")
    words.first.click()
    kept = numbers(shown)
    words.last.hover()
    assert numbers(shown) != kept
    figure.locator("figcaption").hover()
    assert numbers(shown) == kept
    words.last.click()
    figure.locator("figcaption").hover()
    assert numbers(shown) != kept


def jacobian_norms(data, mask, layers):
    """Return the Jacobian's norm for each output and input of ``layers`` equal attention layers.

    ``data`` are the figure's; the result is ``(tokens, tokens)``, with a row for each output.
    """
    x, query, key, value = (
        torch.tensor(data[name], dtype=torch.float64) for name in ("x", "query", "key", "value")
    )

    def stack(x):
        for _ in range(layers):
            x = x + scaled_dot_product_attention(x @ query, x @ key, x @ value, mask)
        return x

    return jacobian(stack, x).square().sum(dim=(1, 3)).sqrt()


@figure_test("mask-builder")
def test_leaks_equal_those_of_autograd(figure):
    for preset, diagonal, layers in (("one too far", 1, 3), ("causal", 0, 1)):
        figure.get_by_role("button", name=preset, exact=True).click()
        figure.locator("input[type=range]").fill(str(layers))
        shown = torch.tensor(numbers(figure.locator(".mask-leak"), "value"), dtype=torch.float64)
        mask = torch.ones(6, 6).tril(diagonal).bool()
        assert torch.allclose(shown.view(6, 6), jacobian_norms(data_of(figure), mask, layers))
    cell = figure.locator(".mask-cell").first
    cell.press("ArrowRight")
    figure.page.keyboard.press("Enter")
    figure.get_by_text("1 layer: 1 leak").wait_for()


def answers(data, sentence, on):
    """Yield each answer to a sentence's first word that asks, with its probability in percent.

    ``data`` are the figure's, ``on`` the indices of the heads that are switched on.
    """
    for asked in sentence["asked"]:
        if asked["place"] == sentence["start"]:
            logits = torch.tensor(data["base"][asked["question"]], dtype=torch.float64)
            logits = logits + torch.tensor(asked["votes"], dtype=torch.float64)[on].sum(0)
            chance, best = logits.softmax(-1).max(-1)
            yield f"{data['vocabulary'][best]} {round(100 * chance.item())}"


@figure_test("multi-head")
def test_answers_are_the_sum_of_the_heads_that_are_on(figure):
    data, off = data_of(figure), set()
    for change in ((), (0,), (0, 1), (1, 2, 3), (0, 1)):  # in the end all of them are off
        for head in change:
            figure.get_by_role("button", name=f"head {head + 1}", exact=True).click()
        off ^= {*change}
        on = [head for head in range(4) if head not in off]
        verdict = ":is(.heads-right, .heads-wrong)" if on else ".heads-guess"
        for number, sentence in enumerate(data["sentences"]):
            figure.get_by_label("Sentence").select_option(str(number))
            shown = figure.locator(verdict).all_text_contents()
            expected = list(answers(data, sentence, on))
            assert [text[2:].replace("%", "") for text in shown] == expected
    assert not on
    figure.get_by_label("Sentence").select_option("0")
    figure.locator(".heads-word[aria-pressed=true]").press("ArrowDown")
    sentence = data["sentences"][0]
    expected = sentence["weights"][0][sentence["start"] + 1]
    shown = figure.locator(".heads-weight:nth-child(2)").all_text_contents()
    assert [float(text or 0) for text in shown] == pytest.approx(expected, abs=0.0051)


@figure_test("prefix-slider")
def test_the_mask_is_causal_except_for_the_prefix(figure):
    slider = figure.locator("input[type=range]")
    length = int(slider.get_attribute("max"))
    for prefix in (0, 1, 3, length):
        slider.fill(str(prefix))
        mask = causal_mask(length)[0, 0]
        mask[:, :prefix] = True
        cells = figure.locator("tbody td:not(.prefix-asked)").all_text_contents()
        assert cells == ["1" if seen else "" for seen in mask.flatten().tolist()]
        lessons = int((~mask.diagonal(offset=1)).sum())
        assert figure.locator("[data-count=lessons]").inner_text() == str(lessons)
        assert figure.locator(".prefix-asked").all_text_contents().count("\u2713") == lessons


@figure_test("kv-cache")
def test_keys_and_bytes_of_the_cache_equal_the_formula(figure):
    def count(name):
        return figure.locator(f"[data-count={name}]").text_content()

    figure.get_by_role("button", name="no cache").click()
    for _ in range(3):
        figure.get_by_role("button", name="Next word").press("Enter")
    assert (count("now"), count("all"), count("kept")) == ("7", str(4 + 5 + 6 + 7), "none")
    figure.get_by_role("button", name="with a cache").press("Enter")
    assert (count("now"), count("all")) == ("1", str(4 + 3))
    states = [item.get_attribute("data-state") for item in figure.locator("li").all()]
    assert states == ["kept"] * 6 + ["computed", "written"]
    figure.locator("select").select_option(label="7 billion parameters, 32 heads")
    sliders = figure.locator("input[type=range]")
    for slider, value in zip(sliders.all(), (1, 3, 4), strict=True):  # 2 bytes, 8 texts, 4096
        slider.fill(str(value))
    token = kv_cache_bytes(1, 1, 32, 4096, bytes_per_number=2)
    total = kv_cache_bytes(8, 4096, 32, 4096, bytes_per_number=2)
    assert count("token") == f"{token // 2**10} KiB"
    assert count("total") == f"{total // 2**30} GiB"
    assert count("kept") == f"{7 * token / 2**20:g} MiB"


@figure_test("position-clocks")
def test_hands_are_the_vectors_of_both_positions(figure):
    sliders = figure.locator("input[type=range]")
    positions = SinusoidalPositions(16)
    for position, shift in ((0, 0), (5, 3), (150, 20)):
        sliders.nth(0).fill(str(position))
        sliders.nth(1).fill(str(shift))
        for hands, at in (
            (".clocks-hand:not(.clocks-hand--ahead)", position),
            (".clocks-hand--ahead", position + shift),
        ):
            ends = [
                [-float(line.get_attribute("y2")) / 40, float(line.get_attribute("x2")) / 40]
                for line in figure.locator(hands).all()
            ]  # sine, cosine
            expected = positions.vectors(1, offset=at, dtype=torch.float64)[0]
            shown = torch.tensor(ends, dtype=torch.float64).flatten()
            assert torch.allclose(shown, expected, atol=1e-3)
