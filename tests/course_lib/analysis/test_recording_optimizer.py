"""The optimizer that only looks."""

import pytest
import torch
from torch import nn

from course_lib.analysis.recorders import RecordingOptimizer


def test_it_keeps_a_copy_of_the_gradients_and_updates_nothing():
    model = nn.Linear(2, 2)
    before = model.weight.detach().clone()
    optimizer = RecordingOptimizer(model)
    optimizer.step()
    assert optimizer.gradients == {"weight": None, "bias": None}
    assert optimizer.norm == 0
    model(torch.tensor([[3.0, 0.0]])).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    assert model.weight.grad is None
    assert torch.equal(optimizer.gradients["weight"], torch.tensor([[3.0, 0.0], [3.0, 0.0]]))
    assert optimizer.norm == pytest.approx(20**0.5)  # 9 + 9, and 1 + 1 for the bias
    assert optimizer.steps == 2
    assert torch.equal(model.weight, before)
