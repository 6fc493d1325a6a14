"""Does the loop equal plain PyTorch, and stop with a clear error when training diverges?"""

import math

import pytest
import torch
from torch import nn

from course_lib.training.loop import DivergenceError, TrainingConfig, train


def draw(step):
    """Return inputs ``(16, 3)`` and targets ``(16, 1)``, a linear function of them."""
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(16, 3, generator=generator)
    return x, x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 3


def squared_error(model, batch):
    x, y = batch
    return (model(x) - y).square().mean()


def build():
    torch.manual_seed(0)
    return nn.Linear(3, 1)


def test_equals_a_loop_written_out_in_pytorch():
    config = TrainingConfig(steps=20, learning_rate=0.05, weight_decay=0.1, clip_norm=2.0)
    model, expected = build(), build()
    history = train(model, draw, squared_error, config)
    spared = {"params": [expected.bias], "weight_decay": 0.0}
    groups = [{"params": [expected.weight]}, spared]
    optimizer = torch.optim.AdamW(groups, 0.05, weight_decay=0.1, fused=True)
    losses, norms = [], []
    for step in range(20):
        optimizer.zero_grad()
        loss = squared_error(expected, draw(step))
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(expected.parameters(), 2.0).item())
        optimizer.step()
        losses.append(loss.item())
    assert history.losses == tuple(losses)
    assert history.gradient_norms == tuple(norms)
    assert max(norms) > 2.0  # clipping had something to do
    assert torch.equal(model.weight, expected.weight)
    assert history.seconds > 0


@pytest.mark.parametrize("mode", [True, False])
def test_trains_in_training_mode_and_restores_the_mode(mode):
    model = build().train(mode)
    seen = []

    def loss(model, batch):
        seen.append(model.training)
        return squared_error(model, batch)

    train(model, draw, loss, TrainingConfig(steps=2))
    assert seen == [True, True]
    assert model.training is mode


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_infinite_loss_or_nan_stops_training_and_keeps_the_parameters(bad):
    model = build().eval()
    kept = []

    def loss(model, batch):
        kept.append(model.weight.detach().clone())
        return squared_error(model, batch) * (bad if len(kept) == 3 else 1.0)

    with pytest.raises(DivergenceError, match="step 2: loss"):
        train(model, draw, loss, TrainingConfig(steps=9))
    assert torch.equal(model.weight, kept[-1])
    assert not model.training


def test_nan_evaluation_stops_training():
    values = iter((1.0, math.nan))
    config = TrainingConfig(steps=4, evaluate_every=1)
    with pytest.raises(DivergenceError, match="step 2: the evaluation is NaN"):
        train(build(), draw, squared_error, config, evaluate=lambda model: next(values))


def test_nan_gradient_stops_training_in_float16():
    model = build()
    model.weight.data.zero_()

    def loss(model, batch):
        return model.weight.square().sum().sqrt()  # its gradient at 0 is NaN

    with pytest.raises(DivergenceError, match=r"loss 0\.0, gradient norm nan"):
        train(model, draw, loss, TrainingConfig(steps=200, precision="float16"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"draw_batch": [draw(0)]}, r"draw_batch must be a function, such as lambda .* got list"),
        ({"compute_loss": 0.5}, "compute_loss must be a function; got float"),
        ({"num_items": 16}, "num_items must be a function; got int"),
    ],
)
def test_other_things_than_functions_are_rejected(wrong, message):
    given = {"draw_batch": draw, "compute_loss": squared_error} | wrong
    with pytest.raises(TypeError, match=message):
        train(build(), config=TrainingConfig(steps=1), **given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be positive and finite, got 0.0"),
        ({"clip_norm": 0.0}, "clip_norm must be positive and finite, got 0.0"),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0 and finite, got -0.1"),
        ({"accumulation": 0}, "accumulation must be at least 1, got 0"),
        ({"evaluate_every": -1}, "evaluate_every must be at least 0, got -1"),
        ({"patience": 2}, "patience needs evaluate_every"),
        ({"precision": "int8"}, "precision must be one of .*got 'int8'"),
        ({"checkpoint_every": -3}, "checkpoint_every must be at least 0, got -3"),
    ],
)
def test_values_out_of_range_are_rejected(changes, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**({"steps": 1} | changes))


@pytest.mark.parametrize("progress", [True, False, None])
def test_progress_bar_is_shown_on_request(capsys, progress):
    train(build(), draw, squared_error, TrainingConfig(steps=3), progress=progress)
    shown = capsys.readouterr().err
    assert ("3/3" in shown) == bool(shown) == bool(progress)  # None: there is no terminal
