"""Does a gradient pass exactly when it belongs to what is computed?"""

import pytest
import torch
from torch import nn

from course_lib.gradient_checks import assert_gradients, assert_gradients_like, assert_slopes
from course_lib.testing import CheckFailure
from tests.daily import with_proofs

INPUTS = {"x": torch.randn(3, 4), "y": torch.randn(4, 2)}
RIGHT = {
    "a product": lambda x, y: (x @ y).sum(),
    "attention's softmax": lambda x, y: (x @ y).softmax(-1).square().sum(),
    "over the wrong axis": lambda x, y: (x @ y).softmax(0).square().sum(),
    "one input unused": lambda x, y: x.square().sum(),
    "large beside its slopes": lambda x, y: (x @ y).sum() + 900,
}
CUT = {
    "detached": lambda x, y: (x @ y.detach()).sum(),
    "detached on one of two roads": lambda x, y: (x @ y + (x @ y).detach()).sum(),
    "detached, and large": lambda x, y: (x @ y.detach()).sum() + 900,
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


def test_a_gradient_that_is_nan_is_refused():
    x = {"x": torch.randn(3, 4)}
    with pytest.raises(CheckFailure, match="the gradient of x is NaN") as caught:
        assert_gradients_like(lambda x: 2 * x, lambda x: 2 * x + (0 * x).sqrt(), x)
    assert "sqrt() or log() of 0" in caught.value.hint


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


class Layer(nn.Module):
    """Two matrices, the second on a road of its own, which may be cut."""

    def __init__(self, cut=lambda x: x):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.cut = cut

    def forward(self, x):
        return self.first(x) + self.cut(self.second(self.cut(x)))


def like_reference(cut):
    reference, layer = Layer(), Layer(cut)
    layer.load_state_dict(reference.state_dict())
    assert_gradients_like(reference, layer, {"x": torch.randn(3, 4)}, hint="do not detach")


def test_gradients_like_the_references_pass():
    like_reference(lambda x: x + 0)
    assert_gradients_like(torch.tanh, lambda x: x.tanh(), {"x": torch.randn(3, 4)})
    embedding, same = nn.Embedding(3, 4), nn.Embedding(3, 4)
    same.load_state_dict(embedding.state_dict())
    for _ in range(2):  # what an earlier one has left is cleared
        assert_gradients_like(embedding, same, {"tokens": torch.tensor([[1, 2]])})
    assert same.weight.grad is None


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (torch.Tensor.detach, "not all that should flows back to x"),
        (lambda x: x.detach() + 0 * x, "not all that should flows back to x"),
        (lambda x: x * 2 - x.detach(), "not all that should flows back to x"),
        (torch.no_grad()(torch.clone), "not all that should flows back to x"),
    ],
)
def test_gradients_unlike_the_references_are_refused(cut, words):
    with pytest.raises(CheckFailure, match=words) as caught:
        like_reference(cut)
    assert caught.value.hint == "do not detach"


def test_gradients_that_do_not_come_are_refused():
    x = {"x": torch.randn(3, 4)}
    with pytest.raises(CheckFailure, match="no gradient flows back to x"):
        assert_gradients_like(torch.tanh, lambda x: x.detach().tanh(), x)
    reference, layer = nn.Linear(4, 4), nn.Linear(4, 4)
    layer.load_state_dict(reference.state_dict())
    layer.weight.requires_grad_(False)
    with pytest.raises(CheckFailure, match="no gradient flows back to weight"):
        assert_gradients_like(reference, layer, x)
