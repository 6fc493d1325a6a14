"""Does a gradient pass exactly when it belongs to what is computed?"""

import pytest
import torch
from torch import nn

from course_lib.gradient_checks import assert_gradients, assert_slopes
from course_lib.testing import CheckFailure
from tests.daily import with_proofs

INPUTS = {"x": torch.randn(3, 4), "y": torch.randn(4, 2)}
RIGHT = {
    "a product": lambda x, y: (x @ y).sum(),
    "attention's softmax": lambda x, y: (x @ y).softmax(-1).square().sum(),
    "over the wrong axis": lambda x, y: (x @ y).softmax(0).square().sum(),
    "one input unused": lambda x, y: x.square().sum(),
}
CUT = {
    "detached": lambda x, y: (x @ y.detach()).sum(),
    "detached on one of two roads": lambda x, y: (x @ y + (x @ y).detach()).sum(),
    "cut wholly": lambda x, y: torch.tensor((x @ y).sum().item()),
    "written over": lambda x, y: (x @ y).softmax(-1).detach().square().sum() + x.sum(),
}


@pytest.mark.parametrize("seed", with_proofs(range(20), range(3, 20)))
@pytest.mark.parametrize("loss", RIGHT.values(), ids=RIGHT)
def test_the_gradient_of_whatever_is_computed_passes(loss, seed):
    torch.manual_seed(seed)
    assert_gradients(loss, {name: torch.randn_like(tensor) for name, tensor in INPUTS.items()})


@pytest.mark.parametrize("seed", with_proofs(range(20), range(3, 20)))
@pytest.mark.parametrize("loss", CUT.values(), ids=CUT)
def test_a_cut_gradient_is_refused(loss, seed):
    torch.manual_seed(seed)
    with pytest.raises(CheckFailure, match=r"what flows back to [xy] is not how") as caught:
        assert_gradients(loss, INPUTS, hint="do not detach")
    assert caught.value.hint == "do not detach"
    assert "gradient" in caught.value.detail


def test_what_depends_on_nothing_has_no_gradient_to_look_at():
    with pytest.raises(CheckFailure, match="is the same whatever x and y are"):
        assert_gradients(lambda x, y: torch.tensor(3.0), INPUTS)
    assert_slopes(lambda: torch.tensor(3.0), {}, {})  # nothing is asked


def test_inputs_stay_as_they_are():
    before = {name: tensor.clone() for name, tensor in INPUTS.items()}
    assert_gradients(RIGHT["a product"], INPUTS)
    assert all(torch.equal(INPUTS[name], before[name]) for name in INPUTS)
    assert all(tensor.grad is None for tensor in INPUTS.values())


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lambda x, y: x @ y, r"the result has shape \(3, 2\)"),
        (lambda x, y: (x @ y).sum() * torch.nan, "NaN or infinity"),
    ],
)
def test_what_is_no_finite_number_is_refused(loss, words):
    with pytest.raises(CheckFailure, match=words):
        assert_slopes(loss, INPUTS, dict.fromkeys(INPUTS))


def test_parameters_are_moved_by_way_of_their_layer():
    layer = nn.Linear(4, 2)
    names, state = zip(*layer.state_dict().items(), strict=True)
    inputs = {name: tensor.clone() for name, tensor in zip(names, state, strict=True)}

    def loss(*tensors):
        layer.load_state_dict(dict(zip(names, tensors, strict=True)))
        return layer(INPUTS["x"]).square().sum()

    loss(*inputs.values()).backward()
    gradients = {name: getattr(layer, name).grad for name in names}
    assert_slopes(loss, inputs, gradients)
    with pytest.raises(CheckFailure, match="flows back to weight"):
        assert_slopes(loss, inputs, {**gradients, "weight": 2 * gradients["weight"]})
    with pytest.raises(CheckFailure, match="gradient of bias has shape"):
        assert_slopes(loss, inputs, {**gradients, "bias": gradients["weight"]})


def test_a_function_that_wavers_where_it_is_measured_gains_nothing():
    def wavering(x):
        return (x * x.detach()).sum() + (0.0 if torch.is_grad_enabled() else torch.rand(()))

    with pytest.raises(CheckFailure):
        assert_gradients(wavering, {"x": torch.tensor([0.5, 1.0])})
