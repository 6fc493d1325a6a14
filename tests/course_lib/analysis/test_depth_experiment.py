"""Do the four stackings compute what their names say, and does the profile measure it?"""

import pytest
import torch
import torch.nn.functional as F

from course_lib.analysis.depth_experiment import (
    DeepReader,
    DeepReaderConfig,
    measure_depth,
    take_small_steps,
)

TOKENS = torch.randint(18, (3, 8), generator=torch.Generator().manual_seed(0))
FORMULAS = {
    "plain": lambda x, f, norm: f(x),
    "residual": lambda x, f, norm: x + f(x),
    "post": lambda x, f, norm: norm(x + f(x)),
    "pre": lambda x, f, norm: x + f(norm(x)),
}
with_each = pytest.mark.parametrize("stacking", FORMULAS)


def make(stacking, num_layers=3, **sizes):
    torch.manual_seed(0)
    return DeepReader(DeepReaderConfig(stacking=stacking, num_layers=num_layers, **sizes))


def loss(logits):
    return F.cross_entropy(logits.flatten(0, 1), TOKENS.flatten())


@with_each
def test_each_stacking_is_its_formula(stacking):
    reader = make(stacking)
    x = reader.embedding(TOKENS) + reader.positions.weight
    passed = [x]
    for index, sublayer in enumerate(reader.sublayers):
        attends = index % 2 == 0
        norm = reader.residuals[index].norm if stacking in ("pre", "post") else None
        x = FORMULAS[stacking](x, (lambda y, f=sublayer: f(y, y, y)) if attends else sublayer, norm)
        passed.append(x)
    torch.testing.assert_close(reader.stream(TOKENS), passed)
    last = F.layer_norm(x, (32,)) if stacking == "pre" else x
    torch.testing.assert_close(reader(TOKENS), reader.output_projection(last))


@with_each
def test_profile_equals_direct_measurements(stacking):
    reader = make(stacking, num_layers=4)
    profile = measure_depth(reader, TOKENS, loss)
    stream = reader.stream(TOKENS)
    expected = [float(x.detach().norm() / x.numel() ** 0.5) for x in stream[::2]]
    assert profile.sizes == pytest.approx(expected, rel=1e-5)
    assert all(parameter.grad is None for parameter in reader.parameters())
    loss(reader(TOKENS)).backward()
    gradients = [float(f.up_projection.weight.grad.norm()) for f in list(reader.sublayers)[1::2]]
    assert profile.gradients == pytest.approx(gradients, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 0}, "num_layers must be at least 1, got 0"),
        ({"stacking": "middle"}, "stacking must be one of .* got 'middle'"),
        ({"d_model": 33}, "d_model"),
    ],
)
def test_invalid_arguments_are_rejected(changes, message):
    with pytest.raises(ValueError, match=message):
        DeepReader(DeepReaderConfig(**{"stacking": "pre", "num_layers": 2} | changes))


def test_small_steps_shrink_the_last_matrix_of_each_sublayer_alone():
    before, after = make("residual", 8).state_dict(), take_small_steps(make("residual", 8))
    last = ("output_projection.weight", "down_projection.weight")
    for name, parameter in after.state_dict().items():
        in_sublayer = name.startswith("sublayers.") and name.endswith(last)
        expected = before[name] / 4 if in_sublayer else before[name]  # 16 sublayers
        torch.testing.assert_close(parameter, expected)
