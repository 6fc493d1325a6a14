"""Of hidden inputs nothing is told by what they make a student's code raise."""

import dataclasses

import pytest
import torch

from autograder.judging.blotting import told_message, told_traceback, told_type
from autograder.judging.results import Status
from course_lib.usual_errors import hint_for
from tests.autograder.conftest import DOUBLE
from tests.course_lib.test_usual_errors import RAISING, message_of

SOURCE = """
def double(x):
    if x.size(0) != 2 and not x.requires_grad:
        SHOUT
    return 2 * x"""
FIRST = "x.flatten()[0].item()"
ENTRIES = [
    'raise type("E" + str(VALUE).replace(".", "_").replace("-", "m"), (ValueError,), {})("oh")',
    "raise ValueError(f'saw {VALUE}')",
    "raise ValueError(str(VALUE))",
    "raise ValueError(repr(str(VALUE)))",
    "raise ValueError(f'{abs(int(VALUE * 1e6)):d}')",
    "raise ValueError(f'{abs(int(VALUE * 1e6)):x}')",
    "raise ValueError(str(VALUE).replace('.', ' ').replace('', ' '))",
    "raise ValueError(x)",
    "raise KeyError(VALUE)",
    "raise KeyError({'torch': VALUE})",
    "{}[str(VALUE)]",
    "getattr(x, 'a' + str(VALUE).replace('.', '_'))",
    "eval('x' + str(VALUE).replace('.', '_').replace('-', 'm'))",
    "exec(compile(f'\\n\\nraise ValueError(  # {VALUE}\\n)', 'cell \"double\"', 'exec'))",
    "exec(compile('1/0', f'cell \"{VALUE}\"', 'exec'))",
    "exec(compile('raise NotImplementedError', f'cell \"v{abs(int(VALUE * 1e6))}\"', 'exec'))",
    "def f(): 1 / 0\n        f.__code__ = f.__code__.replace(co_name=f'f{VALUE}')\n        f()",
    "import linecache as c\n        c.cache['cell \"double\"'] = (9, None, [str(VALUE)] * 9, '')\n"
    "        1 / 0",
    "raise ExceptionGroup(str(VALUE), [ValueError(VALUE)])",
    "raise ValueError('safe').with_traceback(None) from ValueError(VALUE)",
    "error = ValueError('safe')\n        error.add_note(str(VALUE))\n        raise error",
]


@pytest.mark.sandbox
@pytest.mark.parametrize("shout", ENTRIES)
def test_no_value_of_a_hidden_input_is_told(grade, shout):
    result = grade(("double", SOURCE.replace("SHOUT", shout).replace("VALUE", FIRST)), seed=7)
    again = grade(("double", SOURCE.replace("SHOUT", shout).replace("VALUE", FIRST)), seed=8)
    assert result.checks[0].status in (Status.ERROR, Status.FAIL)
    told = [(c.checks[0].message, c.checks[0].traceback) for c in (result, again)]
    assert told[0] == told[1]  # other inputs, the same words


@pytest.mark.sandbox
def test_a_hidden_class_of_the_students_own_gets_no_name(grade):
    source = """
def double(x):
    name = "E" + str(x.flatten()[0].item()).replace(".", "_")
    return type(name, (), {})() if x.size(0) != 2 else 2 * x"""
    told = [grade(("double", source), seed=seed).checks[0].message for seed in (7, 8)]
    assert told[0] == told[1]
    assert "of type <your own class>" in told[0]


@pytest.mark.sandbox
def test_only_arguments_are_named_as_changed(grade):
    source = """
import course_lib.testing
course_lib.testing.changed_inputs = lambda function, args, kwargs: [str(args[0][0, 0].item())]
def double(x):
    return 2 * x"""
    check = DOUBLE.cells[2]
    hidden = (
        "from course_lib.testing import assert_keeps_inputs\nassert_keeps_inputs(double, secret)"
    )
    changed = check.source.replace("### END", f"{hidden}\n### END")
    cells = (*DOUBLE.cells[:2], dataclasses.replace(check, source=changed))
    homework = dataclasses.replace(DOUBLE, cells=cells)
    told = [grade(("double", source), seed=s, homework=homework).checks[0].message for s in (7, 8)]
    assert told[0] == told[1]


CODE = {"attend": 'def attend(query):\n    raise ValueError(f"bad weights {query.shape}")'}
TRACE = 'Cell attend, line 2, in attend\n    raise ValueError(f"bad weights {query.shape}")'


@pytest.mark.parametrize(
    "message",
    [
        "mat1 and mat2 shapes cannot be multiplied (6x8 and 16x4)",
        "The size of tensor a (5) must match the size of tensor b (7) at non-singleton dimension 1",
        "bad weights torch.Size([2, 3, 4])",
        "'Tensor' object has no attribute 'shape'",
        "attend() takes 1 positional argument but 2 were given",
        "not enough values to unpack (expected 4, got 3)",
        "shape '[2, 3]' is invalid for input of size 8",
        "index out of range in self",
        "name 'weights' is not defined",
        "expected scalar type Float but found Double",
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        "maximum recursion depth exceeded",
        "random_ expects 'from' to be less than 'to', but got from=0 >= to=0",
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ],
)
def test_what_helps_is_told(message):
    assert told_message(message, TRACE, CODE) == message


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("bad weights 0.25 and -1e-05", "bad weights …"),
        ("bad weights [17, 4, 256]", "bad weights […]"),
        ("bad weights tensor([[0.1, 1.0]])", "bad weights …]])"),
        ("'the'", "'…'"),
        ("the cat sat", "…"),
        ("inf nan True False", "…"),
        ("torch.Size([12345, 1])", "torch.…])"),
        ("with size 12345", "…"),
        (
            "index 17 is out of bounds for dimension 0 with size 5",
            "… is out of bounds for dimension 0 with size 5",
        ),
    ],
)
def test_what_hidden_inputs_hold_is_blotted(message, told):
    assert told_message(message, TRACE, CODE) == told


def test_only_what_stands_in_the_code_is_a_frame():
    forged = (
        "Cell 17, line 3\n    4\nCell attend, line 99\n    5\nCell attend, line 1, in six\n    7"
    )
    assert told_traceback(f"{TRACE}\n{forged}", CODE) == f"{TRACE}\nCell attend, line 1"


@pytest.mark.parametrize("name", ["ValueError", "LinAlgError", "OutOfMemoryError", "KeyError"])
def test_exceptions_of_the_libraries_are_named(name):
    assert told_type(name) == name


@pytest.mark.parametrize("name", ["E17", "", "ValueError17", "Value Error", "x" * 10_000])
def test_other_exceptions_are_not_named(name):
    assert told_type(name) == "<your own class>"


@pytest.mark.parametrize(("function", "words"), RAISING.values(), ids=RAISING)
def test_what_is_left_of_an_error_of_pytorch_still_gets_its_hint(function, words):
    """The judge looks for a hint in no more than it tells."""
    assert words in hint_for(told_message(message_of(function), "", {}))


@pytest.mark.parametrize(
    "statement",
    [
        "len(3)",
        "[1, 2].__getitem__(0.5)",
        "[].pop()",
        "next([])",
        "'a' + 1",
        "1 + 'a'",
        "None + 1",
        "[1] * 1.5",
        "range(0, 5, 0)",
        "torch.stack([])",
        "torch.ones(3)[torch.ones(2)]",
        "torch.ones(3).item()",
        "torch.ones(3, requires_grad=True).backward()",
        "torch.tensor([1, 2], requires_grad=True)",
        "torch.ones(2, 3).T.view(6)",
        "torch.ones(2, 3).mm(torch.ones(3))",
        "torch.ones(3) @ torch.ones(2)",
        "torch.ones(3).add_(torch.ones(2, 3))",
        "torch.ones(2, 3).gather(1, torch.zeros(3, 1).long())",
        "torch.ones(2, 3).split([1, 1], 1)",
        "torch.ones(2).bool() - torch.ones(2).bool()",
        "torch.multinomial(torch.zeros(3), 1)",
        "torch.where(torch.ones(3), 1, 2)",
        "torch.tensor([[1, 2], [3]])",
        "F.cross_entropy(torch.ones(2, 3), torch.zeros(3).long())",
        "F.cross_entropy(torch.ones(2, 3), torch.ones(2))",
        "F.one_hot(torch.ones(2), 3)",
    ],
)
def test_what_python_and_torch_say_is_told_whole(statement):
    with pytest.raises(Exception) as raised:
        eval(statement, {"torch": torch, "F": torch.nn.functional})
    message = str(raised.value)
    told = told_message(message, "Cell double, line 1", {"double": ""})
    assert told == message
