"""Does each function give back what is of the right kind, and nothing else?"""

import math

import pytest
import torch

from course_lib.checked_results import as_number, as_pair, checked, checked_number
from course_lib.testing import CheckFailure

X = torch.ones(2, 3)


def test_a_tensor_of_the_right_kind_is_given_back_with_its_gradient():
    leaf = X.clone().requires_grad_()
    assert checked(leaf, (2, 3)) is leaf
    assert checked(X.double(), (2, 3), dtype=torch.float64).dtype == torch.float64
    assert checked(torch.tensor([True]), (1,), dtype=torch.bool)


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (None, "the logits is of type NoneType"),
        (X.mT, r"the logits has shape \(3, 2\), expected \(2, 3\)"),
        (X.double(), "the logits has dtype torch.float64, expected torch.float32"),
        (X * torch.nan, "the logits has 6 NaN entries"),
        (X * math.inf, "the logits has 6 infinite entries"),
    ],
)
def test_another_tensor_is_refused_with_its_name(actual, words):
    with pytest.raises(CheckFailure, match=words):
        checked(actual, (2, 3), what="the logits")


def test_a_hint_goes_with_the_refusal():
    with pytest.raises(CheckFailure) as caught:
        checked(X, (3, 2), hint="transpose")
    assert (caught.value.summary[:6], caught.value.hint) == ("output", "transpose")


@pytest.mark.parametrize("number", [3, -0.5])
def test_a_plain_number_is_given_back(number):
    assert checked_number(number, what="the loss") is number


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (torch.tensor(3.0), "the loss is no plain number"),
        (True, "the loss is no plain number"),
        ("3", "the loss is no plain number"),
        (None, "is a return missing"),
        (math.nan, "the loss is NaN or infinite"),
        (-math.inf, "the loss is NaN or infinite"),
    ],
)
def test_what_is_no_plain_number_is_refused(actual, words):
    with pytest.raises(CheckFailure, match=words):
        checked_number(actual, what="the loss")


@pytest.mark.parametrize("actual", [2, 2.0, torch.tensor(2.0), torch.tensor([[2]])])
def test_a_number_comes_as_a_tensor(actual):
    number = as_number(actual, what="the score")
    assert (number.dtype, number.shape, number.item()) == (torch.float32, (), 2.0)


@pytest.mark.parametrize("actual", [None, "2", [2], torch.ones(2)])
def test_what_is_no_number_is_refused(actual):
    with pytest.raises(CheckFailure, match="the score is no number") as caught:
        as_number(actual, what="the score", hint="in nats")
    assert caught.value.hint == "in nats"


@pytest.mark.parametrize("actual", [(1, X), [1, X]])
def test_a_pair_is_given_in_order(actual):
    first, second = as_pair(actual, "no pair")
    assert first == 1
    assert second is X


@pytest.mark.parametrize("actual", [X, None, (1,), (1, 2, 3), {1: 2, 3: 4}, "ab"])
def test_what_is_no_pair_is_refused(actual):
    with pytest.raises(CheckFailure, match="a pair, please") as caught:
        as_pair(actual, "a pair, please", hint="return both")
    missing = "nothing is returned: is a return missing?"
    assert caught.value.hint == (missing if actual is None else "return both")
