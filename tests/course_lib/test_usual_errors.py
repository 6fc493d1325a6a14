"""Errors that PyTorch and Python really raise, and the hints for them."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib import notebook_tests
from course_lib.usual_errors import hint_for


def add_to_leaf():
    x = torch.zeros(3, requires_grad=True)
    x += 1


def set_in_leaf():
    x = torch.zeros(3, requires_grad=True)
    x[0] = 1


def change_what_backward_needs():
    x = torch.zeros(3, requires_grad=True).exp()
    x += 1
    x.sum().backward()


def change_one_of_many_views():
    x = torch.zeros(3, 2, requires_grad=True).exp()
    x.unbind(0)[0].add_(1)


def go_back_twice():
    loss = (torch.ones(3, requires_grad=True) ** 2).sum()
    loss.backward()
    loss.backward()


def unpack_a_tensor():
    first, second = torch.zeros(1, 3)
    return first, second


def unpack_a_shape():
    batch, length = torch.zeros(2, 3, 4).shape
    return batch, length


def unpack_nothing():
    first, second = None
    return first, second


def unpack_a_number():
    first, second = 1.5
    return first, second


def unpack_too_few_parts():
    first, second, third = torch.zeros(2, 3).split(2)
    return first, second, third


def set_on_one_path(wanted=False):
    if wanted:
        answer = 1
    return answer


def cut_the_batch():
    first, second, third = torch.zeros(2, 6).chunk(3)
    return first, second, third


def matrix(rows, columns, dtype=None):
    return torch.zeros(rows, columns, dtype=dtype)


@dataclass(frozen=True)
class Frozen:
    field: int


class Early(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(3, 4)


RAISING = {
    "an id outside the table": (lambda: nn.Embedding(4, 3)(torch.tensor([5])), "vocabulary"),
    "more than there is": (lambda: torch.zeros(3).topk(4), "min(k, x.size(-1))"),
    "an index of None": (lambda x=None: x[0], "lack its return"),
    "None for a pair": (unpack_nothing, "lack its return"),
    "a number for a pair": (unpack_a_number, "names on the left"),
    "a frozen field": (lambda: setattr(Frozen(1), "field", 2), "replace(x, name=value)"),
    "a place outside": (lambda: torch.zeros(3)[5], "0 to n - 1: print"),
    "an id to be ignored": (
        lambda: matrix(2, 3).gather(1, torch.full((2, 1), -100)),
        "such as those to ignore",
    ),
    "a product": (lambda: matrix(2, 3) @ matrix(4, 5), "is a .mT missing"),
    "a product of batches": (lambda: torch.zeros(2, 2, 3) @ torch.zeros(2, 4, 5), ".mT"),
    "a matrix and a vector": (lambda: matrix(2, 3) @ torch.zeros(4), ".mT"),
    "a layer's width": (lambda: nn.Linear(3, 4)(matrix(2, 5)), "last size is k"),
    "a sum": (lambda: matrix(2, 3) + matrix(2, 4), "from the right"),
    "expand": (lambda: matrix(2, 3).expand(2, 4), "from the right"),
    "view of what was turned": (lambda: matrix(2, 3).mT.view(6), "reshape(...)"),
    "view of other sizes": (lambda: matrix(2, 3).view(2, 2), "come from this tensor"),
    "+= to a leaf": (add_to_leaf, "make a new tensor, x = x + y"),
    "a view of a leaf": (set_in_leaf, "make a new tensor, x = x + y"),
    "in place before backward": (change_what_backward_needs, "forward pass unchanged"),
    "in place in one of many views": (change_one_of_many_views, "forward pass unchanged"),
    "other names": (
        lambda: nn.Linear(3, 4).load_state_dict({"w": matrix(4, 3)}),
        "names and shapes that the docstring gives",
    ),
    "another shape": (
        lambda: nn.Linear(3, 4, bias=False).load_state_dict({"weight": matrix(4, 4)}),
        "names and shapes that the docstring gives",
    ),
    "vectors for ids": (lambda: nn.Embedding(3, 4)(matrix(2, 3)), "takes integer ids"),
    "float64 and float32": (lambda: nn.Linear(3, 4)(matrix(2, 3).double()), "dtype=x.dtype"),
    "int64 and float32": (lambda: matrix(2, 3) @ matrix(3, 2, torch.long), "dtype=x.dtype"),
    "of a batch": (
        lambda: torch.bmm(torch.zeros(1, 2, 3), torch.zeros(1, 3, 2).long()),
        "dtype=x.dtype",
    ),
    "a target of another dtype": (
        lambda: F.cross_entropy(matrix(2, 3), torch.zeros(2).int()),
        "dtype=x.dtype",
    ),
    "no gradients": (lambda: torch.zeros(3).sum().backward(), "cut the graph"),
    "backward twice": (go_back_twice, "one backward()"),
    "a yes or no": (lambda: bool(torch.zeros(3)), "test `x is not None`"),
    "a tensor for a pair": (unpack_a_tensor, "names on the left"),
    "a dimension more": (unpack_a_shape, "x.shape has a value for each"),
    "a cut along the batch": (cut_the_batch, "unless you give dim"),
    "a part too few": (unpack_too_few_parts, "names on the left"),
    "one index too many": (lambda: torch.zeros(3)[0, 1], "more indices than dimensions"),
    "an index of a number": (lambda: torch.tensor(1.0)[0], "more indices than dimensions"),
    "other sizes side by side": (
        lambda: torch.cat([matrix(2, 3), matrix(3, 3)], 1),
        "is dim right",
    ),
    "more dimensions side by side": (
        lambda: torch.cat([matrix(2, 3), torch.zeros(3)]),
        "is dim right",
    ),
    "other sizes on a stack": (lambda: torch.stack([matrix(2, 3), matrix(3, 3)]), "is dim right"),
    "a result for a function": (lambda: matrix(2, 3)(1), "f(x) in place of f"),
    "a name that nobody made": (lambda: not_imported, "not imported"),  # noqa: F821
    "a name that is set on one path": (set_on_one_path, "on every path"),
    "a module that is none yet": (lambda: Early(), "call super().__init__() first"),
    "a name that is not there": (lambda: nn.Linear(3, 4).weights, "spelt as in the docstring"),
    "a class for what it makes": (lambda: F.relu(nn.ReLU), "nn.ReLU()"),
    "an end before the start": (lambda: torch.arange(5, 3), "arange(start, start + n)"),
    "one of none": (lambda: torch.randint(0, ()), "something empty"),
    "whole numbers": (lambda: torch.arange(3).softmax(0), "a .float() missing"),
    "labels before logits": (
        lambda: F.cross_entropy(torch.tensor([1, 0]), matrix(2, 3)),
        "arguments swapped",
    ),
    "logits to draw from": (lambda: torch.tensor([-1.0, 2.0]).multinomial(1), "softmax first"),
    "the logarithm of 0": (lambda: math.log(0), "math.log needs"),
    "divided by 0": (lambda: 1 / len([]), "you divide by 0"),
    "the rest by 0": (lambda: 1 % len([]), "you divide by 0"),
    "the least of none": (lambda: min([]), "for an empty input"),
    "a list for a key": (lambda: {[]: 1}, "tuple(...)"),
    "a list and a tuple": (lambda: [] + (), "list(x) or tuple(x)"),
    "a tuple and a list": (lambda: () + [], "list(x) or tuple(x)"),
    "a list and a number": (lambda: [1] < 1, "are two arguments swapped"),
    "a number less a list": (lambda: 1 - [1], "are two arguments swapped"),
    "each of a number": (lambda: list(len([])), "are two arguments swapped"),
    "None and a number": (lambda: None + 1, "lack its return"),
    "an argument too many": (lambda: Frozen(1, 2), "fit the signature"),
    "an argument too few": (lambda: Frozen(), "fit the signature"),
}


def message_of(function):
    """Return the message of the error that calling ``function`` raises."""
    with pytest.raises(notebook_tests._USUAL) as caught:
        function()
    return str(caught.value)


@pytest.mark.parametrize(("function", "words"), RAISING.values(), ids=RAISING)
def test_an_error_of_pytorch_gets_the_hint_that_belongs_to_it(function, words):
    assert words in hint_for(message_of(function))


@pytest.mark.parametrize("message", ["", "oh", "result has shape (2, 3), expected (3, 2)"])
def test_nothing_is_said_beside_other_errors(message):
    assert hint_for(message) == ""
