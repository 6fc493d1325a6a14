"""What to look at when PyTorch or Python refuses something: errors that beginners often meet.

These say what could not be done; a hint beside it says which slip mostly leads there.
"""

import re

_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"index out of range in self",
        "a table of n rows has the rows 0 to n - 1, and an id outside them was looked up: is the "
        "embedding as large as the vocabulary, and is what it gets ids?",
    ),
    (
        r"selected index k out of range",
        "topk wants a k of no more than there is: min(k, x.size(-1))",
    ),
    (
        r"is out of bounds for dimension",
        "a dimension of size n has the places 0 to n - 1: print the shape and the index; is it "
        "this dimension that you mean, or is an id no place there, such as one to be ignored?",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied|size mismatch, got input"
        r"|Expected size for first two dimensions of batch2 tensor",
        "(..., n, k) @ (..., k, m) needs the same k twice, and nn.Linear(k, m) an input whose last "
        "size is k: print both shapes; is a .mT missing, or another width meant?",
    ),
    (
        r"The size of tensor a \S* must match the size of tensor b"
        r"|The expanded size of the tensor \S* must match the existing size",
        "shapes are laid on each other from the right, and two sizes that meet must be equal, or "
        "one of them 1: print both shapes; is a dimension missing, as x[:, None] makes one?",
    ),
    (
        r"view size is not",
        "transpose and permute turn a tensor and leave its numbers where they lie, and view() "
        "can't join what lies apart: reshape(...) and flatten(...) can",
    ),
    (
        r"is invalid for input of size",
        "view() and reshape() keep every number: the sizes must multiply to as many as there are; "
        "print x.shape: is each size taken from this tensor, not from another?",
    ),
    (
        r"leaf Variable that requires grad is being used in an in-place operation",
        "operators that end in = and methods that end in _ change a tensor in place, which a "
        "parameter or an input with gradients does not allow: x = x + y makes a new one",
    ),
    (
        r"modified by an inplace operation|is a view and is being modified inplace",
        "backward() needs a tensor as it was when it was used: make a new one, x = x + y and "
        "masked_fill, in place of x += y and masked_fill_",
    ),
    (
        r"Error\(s\) in loading state_dict",
        "parameters must have the names and shapes that the docstring gives, and no others may be "
        "there: a missing key is one that your layer has and the test does not know, an unexpected "
        "key one that your layer lacks",
    ),
    (
        r"to have one of the following scalar types: Long",
        "an embedding looks up ids, whole numbers such as int64, and was given others: is it "
        "called with vectors, or with what a division made?",
    ),
    (
        r"expected scalar type|the same dtype|expected \S* ?dtype",
        "two tensors of different dtypes met: make a new one like those that are there, with "
        "x.new_zeros(...), torch.zeros_like(x) or dtype=x.dtype",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "nothing that this was made from asks for gradients: detach(), .data, .item(), no_grad() "
        "and torch.tensor(...) of a result cut them off",
    ),
    (
        r"Trying to backward through the graph a second time",
        "a forward pass allows one backward(): compute the loss anew for each; is a state kept "
        "from the step before?",
    ),
    (
        r"cannot assign to field",
        "what is frozen does not change: replace(x, name=value) makes another that differs in "
        "that field",
    ),
    (
        r"\bNoneType\b",
        "None stands where a value is used: is it an argument that was left out (`if x is not "
        "None` asks), or did something forget its return?",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "`if x` and `x and y` want one yes or no, and a tensor has many: ask `x is not None`, or "
        "join them by x.any(), x.all(), & and |",
    ),
    (
        r"(not enough|too many) values to unpack|cannot unpack non-iterable",
        "as many names must stand on the left as there are parts on the right: print what is "
        "there; a tensor has as many as its first dimension, x.shape as many as x has dimensions, "
        "what is returned alone is no pair, and chunk() and split() cut the first dimension unless "
        "dim names another",
    ),
    (
        r"invalid index of a 0-dim tensor|too many indices",
        "an index stands for each dimension, and here are fewer dimensions: print the shape",
    ),
    (
        r"Sizes of tensors must match except|Tensors must have same number of dimensions"
        r"|stack expects each tensor to be equal size",
        "cat and stack join what has the same shape, cat but for the dimension along which it "
        "joins: print the shapes; is it this dimension, and is there one of each?",
    ),
    (
        r"object is not callable",
        "what stands before the brackets is no function: was a function's result handed over in "
        "its place, f(x) for f, or has a name been given to something else?",
    ),
    (
        r"name '.*' is not defined",
        "a name is there once the cell that makes it has run, from the top on: is it misspelt, not "
        "imported, made further down, or is it self.name that is meant?",
    ),
    (
        r"cannot access local variable",
        "a name that a function sets anywhere is its own everywhere in it: set it on every path "
        "before it is read",
    ),
    (
        r"before Module.__init__\(\) call",
        "super().__init__() comes first in the __init__ of an nn.Module",
    ),
    (
        r"object has no attribute",
        "print its type: is it what you take it for? What __init__ does not set as self.name, "
        "spelt as in the docstring, is not there later",
    ),
    (
        r"must be Tensor, not",
        "a tensor is wanted there, and something else came: print it; was a list given, or a class "
        "for what it makes, nn.ReLU for nn.ReLU()?",
    ),
    (
        r"inconsistent with step sign",
        "arange(start, end) ends before end, which must not be less than start: n numbers from "
        "start on are arange(start, start + n)",
    ),
    (
        r"random_ expects 'from' to be less than 'to'",
        "randint(n, ...) draws one of 0 to n - 1, which wants an n of 1 or more: is what you draw "
        "from empty? Leave out what is, before you draw",
    ),
    (
        r"not implemented for '(Long|Int|Short|Char|Byte|Bool)'",
        "this wants floating-point numbers and was given whole ones or yes and no: have two "
        "arguments changed places, or is a .float() missing?",
    ),
    (
        r"probability tensor contains",
        "multinomial wants probabilities, not logits: softmax first; NaN comes of a softmax over "
        "logits that are all -inf",
    ),
    (
        r"math domain error|expected a positive input",
        "math.log wants more than 0: is it a probability or a share of 0? Ask before you take it",
    ),
    (
        r"(division|modulo) by zero",
        "something is divided by 0: is it the size of what is empty, or a total of none? Ask "
        "before you divide",
    ),
    (
        r"(min|max)\(\)\S* .*empty",
        "min() and max() choose among one or more: what shall come of none?",
    ),
    (
        r"unhashable type",
        "keys of a dict and members of a set must not change: in place of a list take tuple(...)",
    ),
    (
        r"can only concatenate (list|tuple)",
        "+ joins a list to a list and a tuple to a tuple: list(x) and tuple(x) make one of the "
        "other",
    ),
    (
        r"not supported between instances of|unsupported operand type"
        r"|'(int|float)' object is not (iterable|subscriptable)",
        "one value is of another kind than you expect: print both types; have two arguments "
        "changed places, or is a length meant, or one entry?",
    ),
    (
        r"positional arguments?\b.* (was|were) given|required (positional|keyword-only) argument",
        "the call and what it calls disagree about the arguments: hold it against the signature; "
        "those behind a * are given by name",
    ),
)


def hint_for(message: str) -> str:
    """Say what to look at, if an error of PyTorch's or Python's is one that beginners often meet.

    Args:
        message: The error's text.

    Returns:
        One sentence; empty if there is nothing to add.
    """
    return next((hint for pattern, hint in _HINTS if re.search(pattern, message)), "")


def is_unwritten(message: str) -> bool:
    """Say whether a NotImplementedError is that of an exercise which is not written yet.

    Args:
        message: The error's text; PyTorch has one too, for a dtype that it has no code for.

    Returns:
        False if PyTorch raised it.
    """
    return "not implemented for" not in message


__all__ = ["hint_for", "is_unwritten"]
