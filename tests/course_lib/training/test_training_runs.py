"""Long runs: resumed exactly, accumulated over batches, stopped early, in low precision."""

import functools
import os

import pytest
import torch
from torch import nn

from course_lib.training.checkpoint import (
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
)
from course_lib.training.loop import TrainingConfig, train
from course_lib.training.schedules import inverse_sqrt
from tests.course_lib.training.test_loop import draw, squared_error


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 1))


class Interrupted(Exception):
    """Raised in place of a power cut."""


def interrupt_at(number):
    """Return a function like ``draw`` that raises ``Interrupted`` at batch ``number``."""

    def draw_or_stop(step):
        if step == number:
            raise Interrupted
        return draw(step)

    return draw_or_stop


def evaluation(model):
    return squared_error(model, draw(1_000_000)).item()


def best_at_first(model):
    return -evaluation(model)


@pytest.mark.parametrize("evaluate", [evaluation, best_at_first])
@pytest.mark.parametrize("stop", [4, 5, 11])
def test_interrupted_run_resumes_to_the_bit(tmp_path, stop, evaluate):
    config = TrainingConfig(steps=12, evaluate_every=3, checkpoint_every=2, learning_rate=0.02)
    schedule = functools.partial(inverse_sqrt, warmup_steps=4)
    options = {"schedule": schedule, "evaluate": evaluate}
    whole = build()
    torch.manual_seed(1)
    expected = train(whole, draw, squared_error, config, **options)

    file = tmp_path / "runs" / "one.pt"
    cut_off = build()
    torch.manual_seed(1)
    with pytest.raises(Interrupted):
        train(cut_off, interrupt_at(stop), squared_error, config, checkpoint=file, **options)
    resumed = build()
    torch.manual_seed(99)  # as in another process
    history = train(resumed, draw, squared_error, config, checkpoint=file, **options)
    assert history.losses == expected.losses
    assert history.evaluations == expected.evaluations
    for ours, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    again = train(build(), interrupt_at(0), squared_error, config, checkpoint=file, **options)
    assert again.losses == expected.losses  # a finished run is not run again


def draw_uneven(number):
    """Return a batch of 1 to 16 examples; every fifth batch is empty."""
    size = (0, 16, 3, 1, 9)[number % 5]
    return tuple(tensor[:size] for tensor in draw(number))


def mean_errors(model, batch):
    """Return the mean squared error, and the mean absolute error for positive inputs."""
    errors = (model(batch[0]) - batch[1])[:, 0]
    chosen = errors[batch[0][:, 0] > 0]
    return torch.stack([errors.square().sum() / max(1, len(errors)),
                        chosen.abs().sum() / max(1, len(chosen))])  # fmt: skip


def count_errors(batch):
    """Return the numbers of examples over which ``mean_errors`` takes its two means."""
    return torch.tensor([len(batch[0]), int((batch[0][:, 0] > 0).sum())])


@pytest.mark.parametrize(
    ("draw_part", "loss", "num_items"),
    [
        (draw, squared_error, None),
        (draw_uneven, lambda *args: mean_errors(*args)[0], lambda batch: len(batch[0])),
        (draw_uneven, mean_errors, count_errors),
    ],
)
def test_accumulated_batches_equal_one_large_batch(draw_part, loss, num_items):
    def large(step):
        parts = [draw_part(3 * step + part) for part in range(3)]
        return tuple(torch.cat(tensors) for tensors in zip(*parts, strict=True))

    models = [nn.Linear(3, 1), nn.Linear(3, 1)]
    models[1].load_state_dict(models[0].state_dict())
    one = train(models[0], large, loss, TrainingConfig(steps=6), num_items=num_items)
    config = TrainingConfig(steps=6, accumulation=3)
    three = train(models[1], draw_part, loss, config, num_items=num_items)
    torch.testing.assert_close(models[0].weight, models[1].weight)
    assert three.losses == pytest.approx(one.losses, rel=1e-5)
    assert three.gradient_norms == pytest.approx(one.gradient_norms, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compute_loss": mean_errors}, r"the loss must be a scalar, got shape \(2,\)"),
        ({"num_items": count_errors}, r"the loss must be of shape \(2,\), got shape \(\)"),
    ],
)
def test_loss_of_another_shape_than_the_counts_is_rejected(options, message):
    options = {"compute_loss": squared_error, "config": TrainingConfig(steps=1)} | options
    with pytest.raises(ValueError, match=message):
        train(nn.Linear(3, 1), draw, **options)


def test_patience_stops_training_with_the_best_weights():
    values = iter([3.0, 1.0, 1.0, 2.0, 0.0])
    weights = []

    def evaluate(model):
        weights.append(model.weight.detach().clone())
        assert not model.training
        return next(values)

    model = nn.Linear(3, 1)
    config = TrainingConfig(steps=50, evaluate_every=5, patience=2)
    history = train(model, draw, squared_error, config, evaluate=evaluate)
    assert history.stopped_early
    assert history.evaluations == ((5, 3.0), (10, 1.0), (15, 1.0), (20, 2.0))
    assert len(history.losses) == 20
    assert torch.equal(model.weight, weights[1])


def test_schedule_scales_the_learning_rate():
    model = nn.Linear(3, 1)
    before = model.weight.detach().clone()
    for steps in (3, 4):
        config = TrainingConfig(steps=steps)
        train(model, draw, squared_error, config, schedule=lambda step: float(step >= 3))
        assert torch.equal(model.weight, before) == (steps == 3)


def test_numbers_are_read_only_after_all_work_of_an_update_is_queued(monkeypatch):
    """Reading a number waits for the GPU."""
    events = []

    def noted(step):
        events.append("batch")
        return draw(step)

    item = torch.Tensor.item
    monkeypatch.setattr(torch.Tensor, "item", lambda x: (events.append("read"), item(x))[1])
    clip = nn.utils.clip_grad_norm_
    monkeypatch.setattr(
        nn.utils, "clip_grad_norm_", lambda *args: (events.append("clip"), clip(*args))[1]
    )
    train(nn.Linear(3, 1), noted, squared_error, TrainingConfig(steps=1, accumulation=3))
    assert events[:7] == ["batch"] * 3 + ["clip"] + ["read"] * 3


def test_low_precision_computes_low_and_keeps_parameters_in_float32():
    seen = []

    def loss(model, batch):
        x, y = batch
        output = model(x)
        seen.append(output.dtype)
        return (output.float() - y).square().mean()

    model = nn.Linear(3, 1)
    config = TrainingConfig(steps=200, precision="bfloat16", learning_rate=0.05)
    history = train(model, draw, loss, config)
    assert set(seen) == {torch.bfloat16}
    assert model.weight.dtype == torch.float32
    assert history.losses[-1] < 0.1 * history.losses[0]


def test_float16_scales_the_loss_for_small_gradients():
    def tiny(model, batch):
        x, _ = batch
        return (model(x).float() * 1e-6).sum()

    model = nn.Linear(3, 1)
    before = model.weight.detach().clone()
    history = train(model, draw, tiny, TrainingConfig(steps=1, precision="float16"))
    assert not torch.equal(model.weight, before)
    exact = nn.Linear(3, 1)
    expected = train(exact, draw, tiny, TrainingConfig(steps=1))
    assert history.gradient_norms == pytest.approx(expected.gradient_norms, rel=1e-2)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_trains_on_a_gpu(precision):
    def draw_there(step):
        return tuple(tensor.cuda() for tensor in draw(step))

    config = TrainingConfig(steps=200, precision=precision, learning_rate=0.05)
    history = train(nn.Linear(3, 1).cuda(), draw_there, squared_error, config)
    assert history.losses[-1] < 0.1 * history.losses[0]


def test_broken_checkpoint_and_that_of_another_model_are_rejected(tmp_path):
    file = tmp_path / "broken.pt"
    file.write_bytes(b"not a checkpoint")
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        train(nn.Linear(3, 1), draw, squared_error, TrainingConfig(steps=1), checkpoint=file)
    assert file.read_bytes() == b"not a checkpoint"
    other, model = nn.Linear(7, 2), nn.Linear(3, 1)
    save_checkpoint(str(file), other, torch.optim.AdamW(other.parameters()), {})
    with pytest.raises(CheckpointError, match="of this model"):
        load_checkpoint(str(file), model, torch.optim.AdamW(model.parameters()))


@pytest.mark.parametrize(("first", "then"), [("float32", "float16"), ("bfloat16", "float32")])
def test_checkpoint_of_another_precision_is_rejected(tmp_path, first, then):
    file = tmp_path / "first.pt"
    config = TrainingConfig(steps=1, precision=first)
    train(nn.Linear(3, 1), draw, squared_error, config, checkpoint=file)
    other = TrainingConfig(steps=2, precision=then)
    with pytest.raises(CheckpointError, match=f"was not trained in {then}"):
        train(nn.Linear(3, 1), draw, squared_error, other, checkpoint=file)


def test_steps_are_counted_on_the_cpu_for_a_model_on_another_device(tmp_path):
    file = tmp_path / "run.pt"
    train(nn.Linear(3, 1), draw, squared_error, TrainingConfig(steps=2), checkpoint=file)
    model = nn.Linear(3, 1, device="meta")  # in the place of a GPU
    optimizer = torch.optim.AdamW(model.parameters())
    load_checkpoint(file, model, optimizer)
    state = optimizer.state[model.weight]
    assert (state["step"].device.type, state["step"].item()) == ("cpu", 2)
    assert state["exp_avg"].device.type == "meta"


def test_checkpoint_is_synced_before_it_gets_its_name(tmp_path, monkeypatch):
    model = nn.Linear(3, 1)
    file = tmp_path / "run.pt"
    file.write_bytes(b"before")
    synced = []

    def sync(handle):
        assert file.read_bytes() == b"before"
        synced.append((os.fstat(handle).st_ino, os.fstat(handle).st_size))

    monkeypatch.setattr(os, "fsync", sync)
    save_checkpoint(file, model, torch.optim.AdamW(model.parameters()), {})
    assert synced == [(file.stat().st_ino, file.stat().st_size)]


def test_evaluating_needs_a_function():
    config = TrainingConfig(steps=1, evaluate_every=1)
    with pytest.raises(ValueError, match="nothing to evaluate with"):
        train(nn.Linear(3, 1), draw, squared_error, config)
