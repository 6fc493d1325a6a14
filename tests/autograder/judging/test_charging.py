"""A known mistake is charged once, two are charged twice, an unknown one by its failures."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder.homework_source.homework import Cell, CellKind, Homework, Variant
from autograder.judging.charging import charge
from autograder.judging.results import Status, not_earned
from autograder.judging.transcript import Recorder, are_alike
from course_lib.testing import CheckFailure, assert_close, assert_raises, observed_by
from tests.autograder.conftest import ROOT

CHECKS = {
    name: Cell(kind=CellKind.TEST, grade_id=f"f-{name}", source="", points=2.0, exercise="f")
    for name in "abc"
}


def wrong(name, lost, piece="", hint=""):
    """Return a wrong variant of the solution ``1 2``, which loses the checks of these letters.

    Its source is the solution with ``name`` in place of ``piece``, or of all if that is empty.
    """
    source = "1 2".replace(piece, name) if piece else name
    return Variant(
        exercise="f",
        name=name,
        source=source,
        lost=tuple(f"f-{check}" for check in lost),
        hint=hint or f"You {name}.",
        base="1 2",
        edits=((piece, name),) if piece else (),
    )


V, W, U = wrong("v", "a", "1"), wrong("w", "b", "2"), wrong("u", "b", "2")
MISTAKES = {
    "known": ([wrong("v", "b")], {"v": "xyz"}, "xyz", "b", {"b": "You v."}),
    "known, beside an unknown one": (
        [wrong("v", "b")], {"v": "xyz"}, "xyq", "bc", {"b": "You v."}
    ),
    "known, in a passed check": (
        [wrong("v", "b")], {"v": "xyz"}, "x z", "ac", {"a": "You v.", "c": "You v."}
    ),
    "known, beside a broken rule": (
        [wrong("v", "b")], {"v": " yz"}, "-yz", "ab", {"b": "You v."}
    ),
    "unknown": ([wrong("v", "b")], {"v": "xyz"}, "qrs", "abc", {}),
    "two separate ones": (
        [wrong("v", "a"), wrong("w", "b")], {"v": "x  ", "w": " y "}, "xy ", "ab",
        {"a": "You v.", "b": "You w."},
    ),
    "two at once": (
        [V, W], {"v 2": "x p", "1 w": " yq", "v w": "xyz"}, "xyz", "ab",
        {"a": "You v.", "b": "You w."},
    ),
    "two at once, the second of two kinds": (
        [V, W, U], {"v 2": "x  ", "1 w": " y ", "1 u": " y ", "v w": "xz ", "v u": "xz "}, "xz ",
        "ab", {"a": "You v.", "b": "One of these: You w. Or: You u."},
    ),
    "the one that explains most": (
        [wrong("v", "a"), wrong("w", "c")], {"v": "x  ", "w": "xyz"}, "xyz", "c", {"c": "You w."}
    ),
    "one that computes nothing": (
        [wrong("v", "abc")], {"v": "xyz"}, "xyz", "abc", dict.fromkeys("abc", "You v.")
    ),
    "one of several equal ones": (
        [wrong("v", "a"), wrong("w", "a"), wrong("u", "a", hint="You v.")],
        dict.fromkeys("vwu", "xy "), "xy ", "a", {"a": "One of these: You v. Or: You w."},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("variants", "transcripts", "submission", "lost", "hints"), MISTAKES.values(), ids=MISTAKES
)
def test_mistake_is_charged_once_if_it_is_known(variants, transcripts, submission, lost, hints):
    """A letter stands for a check's transcript; " " is a pass and "-" a failure without one."""

    def as_transcript(letter):
        return () if letter in " -" else (("value", letter),)

    def run(variant, check):
        return as_transcript(transcripts[variant.source]["abc".index(check[-1])])

    results = {}
    for (name, cell), letter in zip(CHECKS.items(), submission, strict=True):
        graded = not_earned(cell, Status.PASS if letter == " " else Status.FAIL)
        results[f"f-{name}"] = replace(graded, transcript=as_transcript(letter))
    homework = Homework(
        id="hw00-f", title="", cells=tuple(CHECKS.values()), variants=tuple(variants)
    )
    found = charge(homework, results, run)
    assert "".join(c[-1] for c, r in found.items() if r.status is not Status.PASS) == lost
    assert {check[-1]: r.hint for check, r in found.items() if r.hint} == hints
    for check, result in found.items():
        if check[-1] not in lost and results[check].transcript:
            assert (result.score, result.charged_in[-1] in lost) == (2.0, True)


def record(values, expected):
    recorder = Recorder(__file__)
    with observed_by(recorder):
        for value in values:
            assert_close(value, expected)
    return recorder


def test_recorder_continues_after_a_failure_and_keeps_the_first():
    recorder = record([torch.ones(2), torch.zeros(2), torch.ones(3)], torch.ones(2))
    assert len(recorder.transcript(None)) == 3
    assert "2 of 2 entries differ" in recorder.failure.summary
    assert recorder.lines


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.00001, 2.0]), True),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.1, 2.0]), False),
        (torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]), True),
        (torch.tensor([1.0]), torch.tensor([[1.0]]), False),
        (torch.tensor([1.0]), torch.tensor([1.0]).double(), False),
        (torch.tensor([1, 5000]), torch.tensor([1, 5001]), False),
        (torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16), True),
        (None, None, True),
        (None, 0, False),
        ((1.0, "a"), [1.0 + 1e-9, "a"], True),
        ({"a": np.float64(1)}, {"a": 2}, False),
        (object(), torch.nn.Linear(1, 1), False),
    ],
)
def test_transcripts_are_compared_up_to_rounding(first, second, alike):
    transcripts = (record([x], torch.ones(2)).transcript(None) for x in (first, second))
    assert are_alike(*transcripts) is alike


def test_transcripts_are_unpickled_without_torch_and_numpy():
    """Threads of the grading process receive them, and may not import PyTorch at the same time."""
    sent = pickle.dumps(record([torch.ones(2)], torch.zeros(2)).transcript(None))
    program = (
        "import pickle, sys; pickle.loads(sys.stdin.buffer.read());"
        "sys.exit(str({'torch', 'numpy'} & {*sys.modules} or '') or 0)"
    )
    subprocess.run([sys.executable, "-c", program], input=sent, check=True, cwd=ROOT)


def test_transcript_ends_with_the_error_that_ended_the_check():
    recorder = Recorder(__file__)
    assert recorder.transcript(ValueError("mine")) == (("raised", "ValueError"),)
    assert recorder.transcript(CheckFailure("no such name", detail="names")) == (
        ("failed", "no such name"),
    )


def test_transcript_contains_the_exception_of_a_call():
    recorder = Recorder(__file__)
    with observed_by(recorder):
        assert_raises(ValueError, int, "x")
        assert_raises(TypeError, int, "x")
        assert_raises(TypeError, int, "1")
    values = [entry[1] for entry in recorder.transcript(None)]
    assert values == ["ValueError", "ValueError", ""]
