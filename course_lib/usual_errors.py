"""Hints for errors of PyTorch and Python that beginners often meet.

Each hint explains the error and names its usual cause.
"""

import re

_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"index out of range in self",
        "an embedding of n rows takes the ids 0 to n - 1, and it was given another one: is it as "
        "large as the vocabulary, and are its inputs really ids?",
    ),
    (
        r"selected index k out of range",
        "topk cannot return more entries than the dimension has: use k = min(k, x.size(-1))",
    ),
    (
        r"is out of bounds for dimension",
        "a dimension of size n has the indices 0 to n - 1: print the shape and the index; do you "
        "index the right dimension, and must some ids be left out, such as those to ignore?",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied|size mismatch, got input"
        r"|Expected size for first two dimensions of batch2 tensor",
        "(..., n, k) @ (..., k, m) needs the same k in both factors, and nn.Linear(k, m) needs an "
        "input whose last size is k: print both shapes; is a .mT missing, or a width wrong?",
    ),
    (
        r"The size of tensor a \S* must match the size of tensor b"
        r"|The expanded size of the tensor \S* must match the existing size",
        "broadcasting aligns shapes from the right, and aligned sizes must be equal or one of them "
        "1: print both shapes; is a dimension missing, such as x[:, None] adds?",
    ),
    (
        r"view size is not",
        "after transpose or permute the numbers are no longer next to each other in memory, and "
        "view() cannot join such dimensions: use reshape(...) or flatten(...)",
    ),
    (
        r"is invalid for input of size",
        "view() and reshape() keep every number, so the sizes must multiply to the number of "
        "entries: print x.shape; does each size come from this tensor?",
    ),
    (
        r"leaf Variable that requires grad is being used in an in-place operation",
        "a parameter, or an input with gradients, must not change in place, as by x += y or a "
        "method that ends in _: make a new tensor, x = x + y",
    ),
    (
        r"modified by an inplace operation|is a view and is being modified inplace",
        "backward() needs the tensors of the forward pass unchanged: make new ones, with x = x + y "
        "and masked_fill, in place of x += y and masked_fill_",
    ),
    (
        r"Error\(s\) in loading state_dict",
        "parameters must have exactly the names and shapes that the docstring gives: a missing key "
        "is one that only your layer has, an unexpected key one that your layer lacks",
    ),
    (
        r"to have one of the following scalar types: Long",
        "an embedding takes integer ids, such as int64: was it called with vectors, or with the "
        "result of a division?",
    ),
    (
        r"expected scalar type|the same dtype|expected \S* ?dtype",
        "two tensors have different dtypes: create new tensors in the dtype of the others, with "
        "x.new_zeros(...), torch.zeros_like(x) or dtype=x.dtype",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "no gradient can flow here, because the result does not depend on a tensor that requires "
        "gradients: detach(), .data, .item(), no_grad() and torch.tensor(...) of a result cut the "
        "graph",
    ),
    (
        r"Trying to backward through the graph a second time",
        "each forward pass allows one backward(): compute the loss again for each step; is a state "
        "of the step before still in use?",
    ),
    (
        r"cannot assign to field",
        "a frozen dataclass cannot change: replace(x, name=value) makes a copy with another value "
        "in that field",
    ),
    (
        r"\bNoneType\b",
        "a value is None: was an optional argument left out (test `if x is not None`), or does a "
        "function lack its return?",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "`if x` and `x and y` need a single True or False, and a tensor has many: test "
        "`x is not None`, or use x.any(), x.all(), & and |",
    ),
    (
        r"(not enough|too many) values to unpack|cannot unpack non-iterable",
        "the number of names on the left must equal the number of values on the right: print the "
        "right side; a tensor unpacks along its first dimension, x.shape has a value for each "
        "dimension, and chunk() and split() cut the first dimension unless you give dim",
    ),
    (
        r"invalid index of a 0-dim tensor|too many indices",
        "there are more indices than dimensions: print the shape",
    ),
    (
        r"Sizes of tensors must match except|Tensors must have same number of dimensions"
        r"|stack expects each tensor to be equal size",
        "stack needs equal shapes, and cat needs shapes that are equal except in the dimension "
        "along which it joins: print the shapes; is dim right?",
    ),
    (
        r"object is not callable",
        "you call something that is not a function: did you pass f(x) in place of f, or give the "
        "function's name to something else?",
    ),
    (
        r"name '.*' is not defined",
        "the cell that defines this name must run first: is the name misspelt, not imported, "
        "defined further down, or do you mean self.name?",
    ),
    (
        r"cannot access local variable",
        "a name that is assigned anywhere in a function is local to it: assign it on every path "
        "before you read it",
    ),
    (
        r"before Module.__init__\(\) call",
        "call super().__init__() first in the __init__ of an nn.Module",
    ),
    (
        r"object has no attribute",
        "print the object's type: is it the type you expect? An attribute exists once __init__ has "
        "assigned self.name, spelt as in the docstring",
    ),
    (
        r"must be Tensor, not",
        "a tensor is expected here: print the argument; is it a list, or a class in place of an "
        "instance, nn.ReLU for nn.ReLU()?",
    ),
    (
        r"inconsistent with step sign",
        "arange(start, end) needs an end that is not less than start: n numbers from start on are "
        "arange(start, start + n)",
    ),
    (
        r"random_ expects 'from' to be less than 'to'",
        "randint(n, ...) draws from 0 to n - 1, so n must be at least 1: do you draw from "
        "something empty? Skip it before you draw",
    ),
    (
        r"not implemented for '(Long|Int|Short|Char|Byte|Bool)'",
        "this operation needs floating-point numbers and was given integers or booleans: are two "
        "arguments swapped, or is a .float() missing?",
    ),
    (
        r"probability tensor contains",
        "multinomial needs probabilities, not logits: apply softmax first; a softmax over logits "
        "that are all -inf gives NaN",
    ),
    (
        r"math domain error|expected a positive input",
        "math.log needs a number above 0: is it a probability or fraction of 0? Test for that "
        "first",
    ),
    (
        r"(division|modulo) by zero",
        "you divide by 0: is the divisor the length of something empty, or a total of 0? Test for "
        "that first",
    ),
    (
        r"(min|max)\(\)\S* .*empty",
        "min() and max() need at least one value: decide on the result for an empty input",
    ),
    (
        r"unhashable type",
        "keys of a dict and members of a set must be immutable: use tuple(...) in place of a list",
    ),
    (
        r"can only concatenate (list|tuple)",
        "+ joins a list to a list, or a tuple to a tuple: convert one with list(x) or tuple(x)",
    ),
    (
        r"not supported between instances of|unsupported operand type"
        r"|'(int|float)' object is not (iterable|subscriptable)",
        "a value has another type than you expect: print both types; are two arguments swapped, or "
        "do you mean a length, or one entry?",
    ),
    (
        r"positional arguments?\b.* (was|were) given|required (positional|keyword-only) argument",
        "the arguments of the call don't fit the signature of the function: compare the two; "
        "arguments after a * are given by name",
    ),
)


def hint_for(message: str) -> str:
    """Return a hint for an error of PyTorch or Python that beginners often meet.

    Args:
        message: The error's text.

    Returns:
        One sentence; empty if there is nothing to add.
    """
    return next((hint for pattern, hint in _HINTS if re.search(pattern, message)), "")


def is_unwritten(message: str) -> bool:
    """Return whether a NotImplementedError comes from an exercise that is not written yet.

    Args:
        message: The error's text; PyTorch raises this error too, for a dtype without support.

    Returns:
        False if PyTorch raised it.
    """
    return "not implemented for" not in message


__all__ = ["hint_for", "is_unwritten"]
