"""Is the loss PyTorch's, and does smoothing ask for what it says?"""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.training.losses import label_smoothed_cross_entropy

VOCAB, IGNORED = 5, -100
TARGETS = torch.tensor([[3, 0, 4], [IGNORED, 2, IGNORED]])


def draw_logits(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(2, 3, VOCAB, generator=generator, dtype=torch.float64)
    return logits.to(dtype).requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_equals_torch_forward_and_backward(smoothing, reduction, dtype):
    ours, theirs = draw_logits(dtype), draw_logits(dtype)
    loss = label_smoothed_cross_entropy(
        ours, TARGETS, smoothing=smoothing, ignore_index=IGNORED, reduction=reduction
    )
    criterion = nn.CrossEntropyLoss(
        label_smoothing=smoothing, ignore_index=IGNORED, reduction=reduction
    )
    expected = criterion(theirs.flatten(0, 1), TARGETS.flatten())
    expected = expected.view(TARGETS.shape) if reduction == "none" else expected
    tolerance = {"rtol": 1e-12, "atol": 1e-12} if dtype == torch.float64 else {}
    torch.testing.assert_close(loss, expected, **tolerance)
    loss.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, **tolerance)
    assert (ours.grad[1, 0] == 0).all()


def test_defaults_are_a_mean_a_tenth_and_nothing_ignored_over_any_leading_dimensions():
    logits, targets = draw_logits(), torch.zeros(2, 3, dtype=torch.int64)
    expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)
    torch.testing.assert_close(label_smoothed_cross_entropy(logits, targets), expected)
    single = label_smoothed_cross_entropy(logits[0, 0], torch.tensor(3), reduction="none")
    assert single.shape == ()
    torch.testing.assert_close(
        single, label_smoothed_cross_entropy(logits[None, 0, :1], torch.tensor([[3]]))
    )


def test_infinite_logits_and_only_ignored_targets():
    logits = torch.tensor([[0.0, 0.0, -math.inf]])
    loss = label_smoothed_cross_entropy(logits, torch.tensor([1]), smoothing=0.0)
    assert loss.item() == pytest.approx(math.log(2))
    ignored = partial(label_smoothed_cross_entropy, logits, torch.tensor([IGNORED]))
    assert ignored(ignore_index=IGNORED).isnan()
    assert ignored(ignore_index=IGNORED, reduction="sum") == 0


@pytest.mark.parametrize("wrong", [-1, VOCAB])
def test_targets_that_are_no_class_are_rejected(wrong):
    targets = torch.tensor([[0, 0, wrong], [0, 0, 0]])
    with pytest.raises(IndexError, match="targets must lie in 0 to 4, got"):
        label_smoothed_cross_entropy(draw_logits(), targets)
    label_smoothed_cross_entropy(draw_logits(), targets, ignore_index=wrong)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"smoothing": 1.0}, r"smoothing must be at least 0 and below 1, got 1\.0"),
        ({"smoothing": -0.1}, r"smoothing must be at least 0 and below 1, got -0\.1"),
        ({"reduction": "max"}, "reduction must be 'mean', 'sum' or 'none', got 'max'"),
    ],
)
def test_invalid_settings_are_rejected(settings, message):
    with pytest.raises(ValueError, match=message):
        label_smoothed_cross_entropy(draw_logits(), TARGETS, **settings)


@pytest.mark.parametrize("shape", [(2,), (2, 2), (2, 3, 1)])
def test_wrong_types_and_shapes_are_rejected(shape):
    with pytest.raises(ValueError, match="targets must have the shape of logits without its last"):
        label_smoothed_cross_entropy(draw_logits(), torch.zeros(shape, dtype=torch.int64))
    with pytest.raises(ValueError, match="targets must have the shape"):
        label_smoothed_cross_entropy(torch.tensor(1.0), torch.tensor(0))
    with pytest.raises(RuntimeError, match="int64"):
        label_smoothed_cross_entropy(draw_logits(), torch.zeros(2, 3))
