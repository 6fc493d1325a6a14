"""Errors that PyTorch and Python really raise get the hints that belong to them."""

import math
from dataclasses import dataclass, field

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import notebook_tests
from course_lib.usual_errors import hint_for


@dataclass(frozen=True)
class Frozen:
    size: int
    names: list = field(default_factory=list)


NAMES = {"torch": torch, "nn": nn, "F": F, "math": math, "Frozen": Frozen}
CODE = [
    ("nn.Embedding(4, 3)(torch.tensor([5]))", "vocabulary"),
    ("nn.Embedding(3, 4)(torch.zeros(2, 3))", "takes integer ids"),
    ("torch.zeros(3).topk(4)", "min(k, x.size(-1))"),
    ("torch.zeros(3)[5]", "0 to n - 1: print"),
    ("torch.zeros(2, 3).gather(1, torch.full((2, 1), -100))", "such as those to ignore"),
    ("torch.zeros(3)[0, 1]", "more indices than dimensions"),
    ("torch.tensor(1.0)[0]", "more indices than dimensions"),
    # shapes
    ("torch.zeros(2, 3) @ torch.zeros(4, 5)", "is a .mT missing"),
    ("torch.zeros(2, 2, 3) @ torch.zeros(2, 4, 5)", ".mT"),
    ("torch.zeros(2, 3) @ torch.zeros(4)", ".mT"),
    ("nn.Linear(3, 4)(torch.zeros(2, 5))", "last size is k"),
    ("torch.zeros(2, 3) + torch.zeros(2, 4)", "from the right"),
    ("torch.zeros(2, 3).expand(2, 4)", "from the right"),
    ("torch.zeros(2, 3).mT.view(6)", "reshape(...)"),
    ("torch.zeros(2, 3).view(2, 2)", "come from this tensor"),
    ("torch.cat([torch.zeros(2, 3), torch.zeros(3, 3)], 1)", "is dim right"),
    ("torch.cat([torch.zeros(2, 3), torch.zeros(3)])", "is dim right"),
    ("torch.stack([torch.zeros(2, 3), torch.zeros(3, 3)])", "is dim right"),
    ("a, b = torch.zeros(1, 3)", "names on the left"),
    ("a, b = torch.zeros(2, 3, 4).shape", "x.shape has a value for each"),
    ("a, b, c = torch.zeros(2, 6).chunk(3)", "unless you give dim"),
    ("a, b = 1.5", "names on the left"),
    # gradients
    ("x = torch.zeros(3, requires_grad=True); x += 1", "make a new tensor, x = x + y"),
    ("x = torch.zeros(3, requires_grad=True); x[0] = 1", "make a new tensor, x = x + y"),
    (
        "x = torch.zeros(3, requires_grad=True).exp(); x += 1; x.sum().backward()",
        "forward pass unchanged",
    ),
    (
        "torch.zeros(3, 2, requires_grad=True).exp().unbind(0)[0].add_(1)",
        "forward pass unchanged",
    ),
    ("torch.zeros(3).sum().backward()", "cut the graph"),
    (
        "x = (torch.ones(3, requires_grad=True) ** 2).sum(); x.backward(); x.backward()",
        "one backward()",
    ),
    # dtypes
    ("nn.Linear(3, 4)(torch.zeros(2, 3).double())", "dtype=x.dtype"),
    ("torch.zeros(2, 3) @ torch.zeros(3, 2).long()", "dtype=x.dtype"),
    ("torch.bmm(torch.zeros(1, 2, 3), torch.zeros(1, 3, 2).long())", "dtype=x.dtype"),
    ("F.cross_entropy(torch.zeros(2, 3), torch.zeros(2).int())", "dtype=x.dtype"),
    ("torch.arange(3).softmax(0)", "a .float() missing"),
    ("F.cross_entropy(torch.tensor([1, 0]), torch.zeros(2, 3))", "arguments swapped"),
    # layers
    ("nn.Linear(3, 4).load_state_dict({'w': torch.zeros(4, 3)})", "that the docstring gives"),
    ("nn.Linear(3, 4).weights", "spelt as in the docstring"),
    ("F.relu(nn.ReLU)", "nn.ReLU()"),
    (
        "class Early(nn.Module):\n    def __init__(self): self.x = nn.Linear(3, 4)\nEarly()",
        "call super().__init__() first",
    ),
    # numbers
    ("torch.arange(5, 3)", "arange(start, start + n)"),
    ("torch.randint(0, ())", "something empty"),
    ("torch.tensor([-1.0, 2.0]).multinomial(1)", "softmax first"),
    ("math.log(0)", "math.log needs"),
    ("1 / len([])", "you divide by 0"),
    ("1 % len([])", "you divide by 0"),
    ("min([])", "for an empty input"),
    # Python
    ("bool(torch.zeros(3))", "test `x is not None`"),
    ("x = None; x[0]", "lack its return"),
    ("a, b = None", "lack its return"),
    ("None + 1", "lack its return"),
    ("Frozen(1).size = 2", "replace(x, name=value)"),
    ("Frozen(1, 2, 3)", "fit the signature"),
    ("Frozen()", "fit the signature"),
    ("torch.zeros(2, 3)(1)", "f(x) in place of f"),
    ("not_imported", "not imported"),
    ("def f():\n    if math.pi < 3: x = 1\n    return x\nf()", "on every path"),
    ("{[]: 1}", "tuple(...)"),
    ("[] + ()", "list(x) or tuple(x)"),
    ("() + []", "list(x) or tuple(x)"),
    ("[1] < 1", "are two arguments swapped"),
    ("1 - [1]", "are two arguments swapped"),
    ("list(len([]))", "are two arguments swapped"),
]


@pytest.mark.parametrize(("code", "words"), CODE)
def test_error_gets_the_hint_that_belongs_to_it(code, words):
    with pytest.raises(notebook_tests._USUAL) as caught:
        exec(code, dict(NAMES))
    assert words in hint_for(str(caught.value))


@pytest.mark.parametrize("message", ["", "oh", "result has shape (2, 3), expected (3, 2)"])
def test_other_errors_get_no_hint(message):
    assert hint_for(message) == ""
