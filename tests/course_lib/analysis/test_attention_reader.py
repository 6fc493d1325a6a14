"""Does the reader read through its attention alone, and learn what it should and no more?"""

import pytest
import torch
import torch.nn.functional as F

from course_lib.analysis.attention_reader import (
    AttentionReader,
    AttentionReaderConfig,
    judge_reading,
)
from course_lib.data.toy_tasks import FIRST_SYMBOL_ID, PAD_ID, draw_reverse
from course_lib.metrics.alignment import alignment_error, unaligned_attention
from course_lib.training.loop import TrainingConfig, train

NUM_SYMBOLS, LENGTH = 6, 5
VOCAB_SIZE = FIRST_SYMBOL_ID + NUM_SYMBOLS


def build(**changes) -> AttentionReader:
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCAB_SIZE, "max_length": LENGTH} | changes
    return AttentionReader(AttentionReaderConfig(**sizes))


def draw(seed, batch_size=32):
    return draw_reverse(
        batch_size,
        min_length=LENGTH,
        max_length=LENGTH,
        num_symbols=NUM_SYMBOLS,
        generator=torch.Generator().manual_seed(seed),
    )


def train_to_reverse(model):
    def compute_loss(model, batch):
        return F.cross_entropy(model(batch.src, batch.src).flatten(0, 1), batch.tgt.flatten())

    return train(model, draw, compute_loss, TrainingConfig(steps=150, learning_rate=1e-2))


@pytest.mark.parametrize("use_positions", [True, False])
def test_learns_to_reverse_only_with_positions(use_positions):
    model = build(use_positions=use_positions)
    train_to_reverse(model)
    batch = draw(10_000, 300)
    reading = judge_reading(model, batch, batch.src)
    if use_positions:
        assert reading.accuracy > 0.99
        assert reading.alignment_error < 0.01
    else:
        assert reading.accuracy < 0.6


def test_shapes_and_weights():
    model = build(d_model=8, num_heads=2)
    src = draw(0, 3).src
    logits, weights = model(src[:, :2], src, return_weights=True)
    assert logits.shape == (3, 2, VOCAB_SIZE)
    assert weights.shape == (3, 2, 2, LENGTH)
    torch.testing.assert_close(model(src[:, :2], src), logits)


def test_padding_is_not_read():
    model = build()
    src = draw(0, 3).src[:, :3]
    padded = F.pad(src, (0, 2), value=PAD_ID)
    torch.testing.assert_close(model(padded, padded)[:, :3], model(src, src))


def test_reading_is_judged_without_padding():
    model = build(d_model=8)
    batch = draw_reverse(
        40,
        min_length=2,
        max_length=LENGTH,
        num_symbols=NUM_SYMBOLS,
        generator=torch.Generator().manual_seed(0),
    )
    reading = judge_reading(model, batch, batch.src)
    logits, weights = model(batch.src, batch.src, return_weights=True)
    named = logits.argmax(-1)
    right = [
        named[row, t] == batch.tgt[row, t]
        for row, length in enumerate(batch.lengths.tolist())
        for t in range(length)
    ]
    assert reading.accuracy == pytest.approx(sum(map(int, right)) / len(right))
    assert reading.alignment_error == alignment_error(weights[:, 0], batch.alignment)
    assert reading.unaligned_attention == unaligned_attention(weights[:, 0], batch.alignment)
    assert torch.equal(reading.weights, weights[:, 0])
    assert not reading.weights.requires_grad
    assert f"right {reading.accuracy:.1%}, alignment error" in str(reading)


def test_long_sequence_and_judging_several_heads_are_rejected():
    with pytest.raises(ValueError, match="at most max_length=5 tokens, got 6"):
        build()(torch.ones(1, 6, dtype=torch.long), torch.ones(1, 2, dtype=torch.long))
    with pytest.raises(ValueError, match="num_heads=1, got 2"):
        judge_reading(build(d_model=8, num_heads=2), draw(0), draw(0).src)
