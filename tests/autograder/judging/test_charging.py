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
    """Return a variant named ``name`` that loses these checks.

    Its edit puts the name in the place of a piece of the solution ``1 2``.
    """
    source = "1 2".replace(piece, name) if piece else name
    return Variant(
        exercise="f",
        name=name,
        source=source,
        lost=tuple(f"f-{check}" for check in lost.split()),
        hint=hint or f"You {name}.",
        base="1 2",
        edits=((piece, name),) if piece else (),
    )


def graded(variants, transcripts, submission):
    """Charge a submission; return the lost checks, the hints by check, and all results.

    Transcripts are by source: one letter per check, a space for a pass.
    """

    def run(variant, check):
        came = transcripts[variant.source]["abc".index(check[-1])]
        return () if came == " " else (("value", came),)

    results = {}
    for (name, cell), came in zip(CHECKS.items(), submission, strict=True):
        found = not_earned(cell, Status.PASS if came == " " else Status.FAIL)
        results[f"f-{name}"] = replace(found, transcript=() if came == " " else (("value", came),))
    homework = Homework(
        id="hw00-f", title="", cells=tuple(CHECKS.values()), variants=tuple(variants)
    )
    found = charge(homework, results, run)
    lost = "".join(check[-1] for check, r in found.items() if r.status is not Status.PASS)
    return lost, {check[-1]: r.hint for check, r in found.items() if r.hint}, found


def test_known_mistake_costs_only_its_check():
    lost, hints, found = graded([wrong("v", "b")], {"v": "xyz"}, "xyz")
    assert (lost, hints) == ("b", {"b": "You v."})
    assert (found["f-a"].score, found["f-a"].charged_in) == (2.0, "f-b")


def test_unexplained_checks_are_lost():
    assert graded([wrong("v", "b")], {"v": "xyz"}, "xyq")[0] == "bc"


def test_check_is_lost_if_the_check_that_charges_it_passed():
    lost, hints, _ = graded([wrong("v", "b")], {"v": "xyz"}, "x z")
    assert lost == "ac"
    assert hints == {"a": "You v.", "c": "You v."}


def test_unknown_mistake_costs_each_failed_check():
    assert graded([wrong("v", "b")], {"v": "xyz"}, "qrs")[:2] == ("abc", {})


def test_two_separate_mistakes_cost_both_checks():
    variants = [wrong("v", "a"), wrong("w", "b")]
    assert graded(variants, {"v": "x  ", "w": " y "}, "xy ")[0] == "ab"


def test_two_combined_mistakes_are_recognised():
    variants = [wrong("v", "a", piece="1"), wrong("w", "b", piece="2")]
    transcripts = {"v 2": "x p", "1 w": " yq", "v w": "xyz"}
    lost, _, found = graded(variants, transcripts, "xyz")
    assert lost == "ab"
    assert found["f-c"].charged_in == "f-a"


def test_variant_that_explains_most_checks_is_chosen():
    variants = [wrong("v", "a"), wrong("w", "c")]
    assert graded(variants, {"v": "x  ", "w": "xyz"}, "xyz")[0] == "c"


def test_solution_that_computes_nothing_loses_all_named_checks():
    assert graded([wrong("v", "a b c")], {"v": "xyz"}, "xyz")[0] == "abc"


def test_hint_about_the_second_of_two_mistakes_does_not_repeat_the_first():
    variants = [wrong("v", "a", piece="1"), wrong("w", "b", piece="2"), wrong("u", "b", piece="2")]
    transcripts = {"v 2": "x  ", "1 w": " y ", "1 u": " y ", "v w": "xz ", "v u": "xz "}
    assert graded(variants, transcripts, "xz ")[1] == {
        "a": "You v.",
        "b": "One of these: You w. Or: You u.",
    }


def test_hint_names_all_equivalent_mistakes():
    variants = [wrong("v", "a"), wrong("w", "a"), wrong("u", "a", hint="You v.")]
    transcripts = dict.fromkeys("vwu", "xy ")
    assert graded(variants, transcripts, "xy ")[1] == {"a": "One of these: You v. Or: You w."}


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
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
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
