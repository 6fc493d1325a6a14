"""Rules of exercises: attacks by outcome, honest code, and the exercises that lose points."""

import pytest

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.results import Flag, FlagKind, Status
from autograder.sandbox.worker.reader import read
from tests.autograder.judging.attacks import ACCEPTED, ATTACKS, EXERCISES, FLAGGED, HOMEWORK, HONEST
from tests.daily import with_proofs

pytestmark = pytest.mark.sandbox

DAILY = {
    "a layer of one group", "a thread", "a backward pass in Python", "a hook", "forward mode",
    *sorted(FLAGGED)[:1], *sorted(ACCEPTED)[:2],
}  # fmt: skip


def grade_layers(grade, changed):
    """Grade a notebook of ``HOMEWORK`` with right solutions, except for those in ``changed``.

    It maps exercises to sources. Its key ``before`` is the source of a cell added at the start.
    """
    solved = [(name, changed.get(name, EXERCISES[name][0])) for name in EXERCISES]
    return grade(changed.get("before", ""), *solved, homework=HOMEWORK)


def of_kind(result, kind):
    return [flag for flag in result.flags if flag.kind is kind]


@pytest.mark.parametrize("name", with_proofs(ATTACKS, ATTACKS.keys() - DAILY))
def test_attack_costs_its_exercise_alone_or_is_flagged_or_accepted(grade, name):
    exercise, source = ATTACKS[name]
    result = grade_layers(grade, {exercise: source})
    lost = {check.exercise for check in result.checks if check.score < 1}
    assert lost == (set() if name in FLAGGED | ACCEPTED else {exercise})
    assert bool(of_kind(result, FlagKind.DELEGATION)) == bool(lost)
    assert lost or bool(of_kind(result, FlagKind.HOSTILE)) == (name in FLAGGED)


def merged_rows(rows):
    """Merge submissions that change different exercises, so that fewer are graded.

    ``rows`` maps names to changes as in ``grade_layers``; merged ones have names joined by "; ".
    """
    merged = {}
    for name, changed in rows.items():
        fits = (names for names, others in merged.items() if not others.keys() & changed.keys())
        names = next(fits, "")
        merged[f"{names}; {name}".strip("; ")] = merged.pop(names, {}) | changed
    return merged


TOGETHER = merged_rows({n: row for n, row in HONEST.items() if n != "training in its cell"})


@pytest.mark.parametrize("name", with_proofs(TOGETHER | HONEST, HONEST.keys() - TOGETHER.keys()))
def test_honest_code_keeps_its_points_and_raises_no_flag(grade, name):
    result = grade_layers(grade, (TOGETHER | HONEST)[name])
    assert [check for check in result.checks if check.score < 1] == []
    assert not [failure.message for failure in result.cell_failures]
    assert [flag for flag in result.flags if flag.kind is not FlagKind.FORGED] == []


RULED = Homework(
    id="hw00-double",
    title="Doubling",
    cells=(
        Cell(kind=CellKind.SETUP, grade_id="imports", source="import torch"),
        Cell(
            kind=CellKind.SOLUTION,
            grade_id="double",
            source="def double(x):\n    return 2 * x",
            forbids=("torch.nn.functional.dropout", "torch.nn.Identity"),
        ),
        Cell(kind=CellKind.TEST, grade_id="double-a", exercise="double", points=2.0,
             title="It doubles",
             source="x = torch.randn(3)\nassert bool((double(x) == 2 * x).all())"),
        Cell(
            kind=CellKind.SOLUTION,
            grade_id="half",
            source="def half(x):\n    return x / 2",
            forbids=("torch.nn.Identity",),
        ),
        Cell(kind=CellKind.TEST, grade_id="half-a", exercise="half", points=1.0, title="It halves",
             source="# It halves\nassert bool((half(double(torch.ones(2))) == 1).all())"),
    ),
)  # fmt: skip
DOUBLE = ("double", "def double(x):\n    return x + x")
HALF = ("half", "def half(x):\n    return x / 2")


def test_broken_rule_costs_the_exercise_of_the_check(grade):
    source = "import torch.nn.functional as F\ndef double(x):\n    return 2 * F.dropout(x, 0.0)"
    result = grade(("double", source), HALF, homework=RULED)
    assert [check.score for check in result.checks] == [0, 1]
    message = result.checks[0].message
    assert message.startswith("Your double uses torch.nn.functional.dropout. ")
    text = "double uses torch.nn.functional.dropout, which it forbids: its checks are lost"
    assert of_kind(result, FlagKind.DELEGATION) == [
        Flag(kind=FlagKind.DELEGATION, text=text, cell="double")
    ]


def test_later_exercise_is_not_blamed_for_an_earlier_one(grade):
    source = "same = torch.nn.Identity()\ndef double(x):\n    return same(x) + same(x)"
    result = grade(("double", source), HALF, homework=RULED)
    assert [check.score for check in result.checks] == [0, 1]
    assert result.checks[1].tried_with == ("double",)
    both = ("half", "def half(x):\n    return torch.nn.Identity()(x) / 2")
    result = grade(("double", source), both, homework=RULED)
    assert [check.score for check in result.checks] == [0, 0]


@pytest.mark.parametrize("source", ["x = " + "-" * 200_000 + "1", "x = " + "(" * 5_000])
def test_unparsable_code_fails_only_its_cell(grade, source):
    result = grade(DOUBLE, source, HALF, homework=RULED, seconds=20.0)
    assert [check.status for check in result.checks] == [Status.PASS, Status.PASS]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import ctypes", ("ctypes", 1)),
        ("import gc as g\n\ng.get_objects()", ("gc.get_objects", 3)),
        ("import gc\ngc.collect()", None),
        ("import sys\n'google.colab' in sys.modules", None),
        ("socket = 1\nsocket.bit_length()", None),
        ("from torch import _C", ("torch._C", 1)),
        ("x = 1\ntorch._C._jit_clear()", ("torch._C", 2)),
        ("def f():\n    return f.__code__", ("__code__", 2)),
        ("getattr(f, '__closure__')", ("__closure__", 1)),
        ("import sys\n%time sys.settrace(None)", None),
        ("from sys import settrace\nsettrace(None)", ("sys.settrace", 1)),
        ("import torch\nfrom torch import nn\nnn.LayerNorm(4)", None),
        ("this is no Python", None),
    ],
)
def test_reader_finds_prying_names_with_their_lines(source, found):
    expected = [(found[0], "mine", found[1])] if found else []
    assert read([("mine", source)]) == expected
