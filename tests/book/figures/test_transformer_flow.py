"""The figure transformer-flow: its data are checked, its shapes are those of course_lib's model."""

import pytest
import torch
from course_book.figures.transformer_flow.data import (
    STAGES,
    expected_stage_shapes,
    expected_weight_shapes,
)

from course_lib.analysis.complexity import (
    attention_parameters,
    decoder_layer_parameters,
    encoder_layer_parameters,
    feed_forward_parameters,
)
from course_lib.analysis.recorders import recorded_attention
from course_lib.models.transformer import Transformer, TransformerConfig
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "transformer-flow"
PAGE = "transformer"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

SIZES = {
    "batch": 2,
    "src_len": 6,
    "tgt_len": 4,
    "d_model": 64,
    "num_heads": 4,
    "d_ff": 256,
    "tgt_vocab_size": 500,
}
DATA = {
    "sizes": SIZES,
    "shapes": expected_stage_shapes(SIZES),
    "weights": expected_weight_shapes(SIZES),
    "note": "",
}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"sizes": SIZES | {"batch": 0}}, "batch must be a whole number from 1"),
    ({"sizes": SIZES | {"num_heads": 5}}, "divisible by num_heads"),
    ({"sizes": SIZES | {"src_len": 7}}, "shapes must be"),
    ({"weights": {}}, "weights must be"),
)


def test_the_table_gives_each_stage_and_its_shape():
    table = table_of(NAME, DATA)
    for words in STAGES.values():
        assert words in table
    assert "(2, 4, 4, 6)" in table  # the weights of the cross-attention


@pytest.fixture
def figure(figure):
    """The figure at its first stage, with all of its sliders in view."""
    figure.locator("[data-stage]").first.click()
    figure.locator("details").evaluate("folded => { folded.open = true; }")
    return figure


def set_sliders(figure, *values):
    for slider, value in zip(figure.locator("input[type=range]").all(), values, strict=True):
        slider.fill(str(value))


@pytest.mark.browser
def test_shapes_and_parameters_are_those_of_the_model(figure):
    set_sliders(figure, 7, 5, 2, 1, 3)  # 7 source tokens, 2 of them padding; width 64, 8 heads
    config = TransformerConfig(
        src_vocab_size=9, tgt_vocab_size=500, d_model=64, num_heads=8, d_ff=256,
        num_encoder_layers=1, num_decoder_layers=1, dropout=0.0,
    )  # fmt: skip
    model = Transformer(config)
    with recorded_attention(model) as weights, torch.no_grad():
        logits = model(torch.ones(2, 7, dtype=torch.long), torch.ones(2, 5, dtype=torch.long))

    def fact(stage, name):
        figure.locator(f"[data-stage={stage}]").click()
        return figure.locator(f"[data-fact={name}]").inner_text()

    assert fact("logits", "shape") == str(tuple(logits.shape))
    for stage, tokens in (("memory", 7), ("cross_attention", 5)):
        assert figure.locator(f"[data-stage={stage}] .flow-tokens span").count() == tokens
    for stage, layer in (
        ("encoder_self_attention", "encoder.layers.0.self_attention"),
        ("decoder_self_attention", "decoder.layers.0.self_attention"),
        ("cross_attention", "decoder.layers.0.cross_attention"),
    ):
        assert fact(stage, "weights") == str(tuple(weights[layer].shape))

    def parameters(stage):
        return int(fact(stage, "parameters").replace(",", ""))

    encoder = [parameters(f"encoder_{part}") for part in ("self_attention", "feed_forward")]
    decoder = ("decoder_self_attention", "cross_attention", "decoder_feed_forward")
    assert sum(encoder) == encoder_layer_parameters(64, 256)
    assert sum(map(parameters, decoder)) == decoder_layer_parameters(64, 256)
    assert encoder[0] == attention_parameters(64) + 2 * 64  # and its norm
    assert encoder[1] == feed_forward_parameters(64, 256) + 2 * 64


@pytest.mark.browser
def test_masks_hide_padding_and_the_future(figure):
    set_sliders(figure, 6, 4, 2, 1, 0)
    for stage, says in (
        ("encoder_self_attention", "24 of 36 may be seen"),
        ("decoder_self_attention", "10 of 16 may be seen"),
        ("cross_attention", "16 of 24 may be seen"),
    ):
        figure.locator(f"[data-stage={stage}]").click()
        figure.get_by_text(says).wait_for()


@pytest.mark.browser
def test_stages_obey_the_keyboard_and_are_read_out(figure):
    button = figure.get_by_role("button", name="Next stage")
    for _ in range(2):
        button.press("Enter")
    figure.get_by_text("3 of 11, encoder: self-attention").wait_for()
    assert figure.locator("[aria-pressed=true]").get_attribute("data-stage") == (
        "encoder_self_attention"
    )
