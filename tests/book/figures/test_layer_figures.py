"""The figures about layers, training and whole models compute what ``course_lib`` computes."""

import math

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect

from course_lib.analysis.complexity import (
    attention_parameters,
    decoder_layer_parameters,
    encoder_layer_parameters,
    feed_forward_parameters,
)
from course_lib.analysis.recorders import recorded_attention
from course_lib.layers.normalization import layer_norm, rms_norm
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.training.losses import label_smoothed_cross_entropy
from course_lib.training.schedules import inverse_sqrt
from tests.book.figures.conftest import as_number, figure_test, numbers


@figure_test("bend-curve")
def test_slopes_follow_the_bends_and_the_best_ones_are_least_squares(figure):
    def heights():
        handles = figure.locator(".course-handle").all()
        return [as_number(handle.get_attribute("aria-valuetext").split()[2]) for handle in handles]

    before = heights()
    figure.locator(".course-handle").nth(2).press("Shift+ArrowUp")
    assert heights() == pytest.approx([*before[:2], before[2] + 0.25, *before[3:]], abs=0.006)
    unit = figure.locator(".bend-table tbody tr").nth(1).locator("td").nth(2)
    change = -0.25 / 1.5 - 0.25 / 1.5  # up over 1.5 and down over 1.5, with a level line before
    assert as_number(unit.inner_text()) == pytest.approx(change, abs=0.01)
    figure.get_by_role("button", name="Best slopes").click()
    x = torch.linspace(0, 2 * torch.pi, 65, dtype=torch.float64)[:, None]
    bends = torch.tensor([0.0, 1.5, 3.0, 4.5], dtype=torch.float64)
    inner = torch.cat([torch.ones_like(x), F.relu(x - bends)], dim=1)
    left = inner @ torch.linalg.lstsq(inner, x.sin()).solution - x.sin()
    error = left.square().mean().item()
    expect(figure.locator(".course-summary")).to_contain_text(f"Mean squared error {error:.4f}")


@figure_test("depth-profile")
def test_the_chosen_stacking_is_drawn_at_each_depth(figure):
    figure.get_by_role("button", name="pre:").click()
    assert figure.locator(".depth-line.is-chosen.depth-line--pre").count() == 2
    slider, line = figure.locator("input[type=range]"), figure.locator(".depth-line--pre").first
    for key, depth in (("Home", 2), ("End", 16)):
        slider.press(key)
        figure.get_by_text(f"{depth} layers, pre:").wait_for()
        assert len(line.get_attribute("points").split()) == depth + 1  # and the embeddings


@figure_test("four-norms")
def test_four_norms_equal_the_librarys(figure):
    x = torch.tensor([2.0, -1.0, 0.5, 0.3], dtype=torch.float64)
    for slider, entry in zip(figure.locator("input[type=range]").all(), x.tolist(), strict=True):
        slider.fill(str(entry))
    ones, zeros = torch.ones_like(x), torch.zeros_like(x)
    for scale, name in ((1.0, "as they are"), (0.1, "divided by 10")):
        figure.get_by_label(name).check()
        deviation = scale * (x - x.mean())
        expected = [
            layer_norm(scale * x, ones, zeros, eps=0.01),
            rms_norm(scale * x, ones, eps=0.01),
            deviation / (deviation.var() + 0.01).sqrt(),
            deviation / (deviation.square().mean().sqrt() + 0.01),
        ]
        for row, entries in zip(figure.locator(".norms-row").all(), expected, strict=True):
            shown = numbers(row.locator(".norms-number"))
            assert shown == pytest.approx(entries.tolist(), abs=0.0051)


@figure_test("norm-sphere")
def test_both_norms_of_a_dragged_vector_equal_the_librarys(figure):
    def entries(row):
        cells = figure.locator(".sphere-table tbody tr").nth(row).locator("td")
        return torch.tensor(numbers(cells)[:3], dtype=torch.float64)

    ones, zeros = torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    before = entries(1)
    handle = figure.get_by_role("slider", name="x", exact=True).first
    handle.press("ArrowUp")  # adds to all entries alike
    x = entries(0)
    assert torch.allclose(entries(1), before)
    assert torch.allclose(entries(1), layer_norm(x, ones, zeros, eps=1e-5), atol=0.03)
    assert torch.allclose(entries(2), rms_norm(x, ones, eps=1e-5), atol=0.03)
    handle.press("ArrowLeft")
    assert not torch.allclose(entries(1), before)
    figure.get_by_label("Gain of entry 1").fill("2")
    gain = torch.tensor([2.0, 1.0, 1.0], dtype=torch.float64)
    assert torch.allclose(entries(1), layer_norm(entries(0), gain, zeros, eps=1e-5), atol=0.06)
    figure.get_by_role("button", name="Let x fall").click()
    figure.locator(".is-falling").wait_for()
    figure.locator(".sphere:not(.is-falling)").wait_for()


def loss_at(lead: float, smoothing: float, vocab_size: int) -> float:
    """Return the smoothed loss of a word whose logit is larger than all others by ``lead``."""
    logits = torch.zeros(vocab_size, dtype=torch.float64)
    logits[3] = lead
    return label_smoothed_cross_entropy(logits, torch.tensor(3), smoothing=smoothing).item()


@figure_test("label-smoothing")
def test_the_loss_and_its_minimum_equal_the_librarys(figure):
    smoothing, size = figure.locator("input[type=range]").all()
    lead = figure.get_by_role("slider", name="lead of the right word")
    for key in ("Shift+ArrowRight", "ArrowRight"):  # from 5 to 8
        lead.press(key)
    for share, place, vocab_size in ((0.1, "5", 37_000), (0.3, "3", 1000)):
        smoothing.fill(str(share))
        size.fill(place)
        loss = float(figure.locator("svg[data-loss]").get_attribute("data-loss"))
        assert loss == pytest.approx(loss_at(8.0, share, vocab_size), rel=1e-9)
        best = math.log((1 - share) * vocab_size / share + 1)
        words = f"{loss_at(best, share, vocab_size):.3f}, at a lead of {best:.1f}"
        expect(figure.locator(".course-summary")).to_contain_text(words)
    smoothing.press("Home")
    figure.get_by_text("there is no best lead").wait_for()
    assert figure.locator(".smooth-best").is_hidden()


@figure_test("warm-up-schedule")
def test_peak_and_end_of_the_schedule_equal_the_librarys(figure):
    for places, (d_model, warm_up, last) in (
        ((3, 5, 3), (512, 4000, 50_000)),
        ((5, 7, 0), (2048, 16_000, 5000)),  # ends before the peak
    ):
        sliders = figure.locator("input[type=range]").all()
        for slider, place in zip(sliders, places, strict=True):
            slider.fill(str(place))
        chart = figure.locator("svg").first
        peak = (d_model * warm_up) ** -0.5
        end = peak * inverse_sqrt(last - 1, warmup_steps=warm_up)
        assert float(chart.get_attribute("data-peak")) == pytest.approx(peak, rel=1e-9)
        assert float(chart.get_attribute("data-end")) == pytest.approx(end, rel=1e-9)
        assert figure.locator(".schedule-peak").is_visible() == (warm_up <= last)
    before = figure.locator(".schedule-curve--own").get_attribute("points")
    figure.get_by_role("button", name="Logarithmic axes").press("Enter")
    assert figure.locator(".schedule-curve--own").get_attribute("points") != before


@figure_test("transformer-flow")
def test_shapes_parameters_and_masks_equal_those_of_the_model(figure):
    def set_sliders(*values):
        for slider, value in zip(figure.locator("input[type=range]").all(), values, strict=True):
            slider.fill(str(value))

    def fact(stage, name):
        figure.locator(f"[data-stage={stage}]").click()
        return figure.locator(f"[data-fact={name}]").inner_text()

    figure.locator("details").evaluate("folded => { folded.open = true; }")
    set_sliders(7, 5, 2, 1, 3)  # 7 source tokens, 2 of them padding; width 64, 8 heads
    config = TransformerConfig(
        src_vocab_size=9, tgt_vocab_size=500, d_model=64, num_heads=8, d_ff=256,
        num_encoder_layers=1, num_decoder_layers=1, dropout=0.0,
    )  # fmt: skip
    model = Transformer(config)
    with recorded_attention(model) as weights, torch.no_grad():
        logits = model(torch.ones(2, 7, dtype=torch.long), torch.ones(2, 5, dtype=torch.long))
    assert fact("logits", "shape") == str(tuple(logits.shape))
    for stage, tokens in (("memory", 7), ("cross_attention", 5)):
        assert figure.locator(f"[data-stage={stage}] .flow-tokens span").count() == tokens
    for side, name in (
        ("encoder", "self_attention"), ("decoder", "self_attention"), ("decoder", "cross_attention")
    ):  # fmt: skip
        stage = name if name == "cross_attention" else f"{side}_{name}"
        assert fact(stage, "weights") == str(tuple(weights[f"{side}.layers.0.{name}"].shape))
    parts = {
        "encoder": ("encoder_self_attention", "encoder_feed_forward"),
        "decoder": ("decoder_self_attention", "cross_attention", "decoder_feed_forward"),
    }
    sizes = {
        side: [as_number(fact(stage, "parameters")) for stage in stages]
        for side, stages in parts.items()
    }
    assert sum(sizes["encoder"]) == encoder_layer_parameters(64, 256)
    assert sum(sizes["decoder"]) == decoder_layer_parameters(64, 256)
    assert sizes["encoder"][0] == attention_parameters(64) + 2 * 64  # and its norm
    assert sizes["encoder"][1] == feed_forward_parameters(64, 256) + 2 * 64
    set_sliders(6, 4, 2, 1, 0)
    for stage, says in (
        ("encoder_self_attention", "24 of 36 may be seen"),
        ("decoder_self_attention", "10 of 16 may be seen"),
        ("cross_attention", "16 of 24 may be seen"),
    ):
        figure.locator(f"[data-stage={stage}]").click()
        figure.get_by_text(says).wait_for()
