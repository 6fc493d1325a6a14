"""Every attack earns only the points of its honest exercises, and affects no other submission."""

import importlib
import json
from functools import cache

import nbformat
import psutil
import pytest

from autograder.class_run.course import Course
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.homework_source.cell_text import regions
from autograder.homework_source.homework import CellKind
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import Status, SubmissionResult
from autograder.marks.standing import stand
from autograder.reports.feedback import render_feedback
from autograder.sandbox.worker.isolation import Limits
from tests.daily import with_proofs
from tests.homework.hostile.attack import Attack
from tests.homework.submissions import Submission, make_notebook
from tests.homework.tables import ROOT, load_homework, read_released

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.depends_on(
        "assignments", "autograder", "course_lib", "solutions", "tests/homework"
    ),
]

HOMEWORK = "hw03-self-attention"
DAILY = {
    "fooling_the_check": "equals-everything expanded numpy freed-memory by-heart when-graded",
    "fooling_the_runner": (
        "display-hooks event-hooks patched-worker exceptions mean-exceptions late-thread"
    ),
    "notebook_forgery": "deleted unmarked outputs failing-cells much-code",
    "reaching_out": "searches judges-memory kills inodes",
    "reaching_the_ta": "says-8",
    "delegation": "subclass withheld part",
}
"""The attacks of each module that ``make test`` tries. Tests of one part each try the others as
well; here ``make proof`` tries them."""
HONEST = Submission(student="honest", what="as solved")


@cache
def judges():
    return JudgePool()


@cache
def judge():
    """Return a judge of the homework with short time limits and small workers."""
    limits = TimeLimits(check_seconds=1.0, submission_seconds=60.0)
    small = Limits(memory_mb=1024, scratch_mb=16, open_files=64, processes=64)
    course = Course.load(load_homework(HOMEWORK), ROOT)
    return judges().open(course, GradingOptions(limits=limits, worker_limits=small))


def handed_in(submission: Submission, forge=None) -> bytes:
    """Return a submission's file, after ``forge`` has changed its JSON or replaced its bytes."""
    notebook = make_notebook(submission, load_homework(HOMEWORK), read_released(HOMEWORK))
    data = json.loads(nbformat.writes(notebook))
    forged = forge(data) if forge else None
    return json.dumps(data).encode() if forged is None else forged


def grade(attack: Attack) -> SubmissionResult:
    """Return the judge's result for the submission of an attack."""
    data = handed_in(attack.submission, attack.forge)
    return judge().grade(data, attack.submission.student, seed=4_185_921_337)


def told(result: SubmissionResult) -> str:
    """Return all text of a result that the student sees."""
    page = render_feedback(stand(result), load_homework(HOMEWORK))
    return page + json.dumps([vars(check) for check in result.checks], default=str)


def secrets() -> set[str]:
    """Return the lines of hidden tests that occur in none of the student's files."""
    cells = [cell for cell in load_homework(HOMEWORK).cells if cell.kind is CellKind.TEST]
    public = "\n".join(cell.source for cell in read_released(HOMEWORK).cells)
    lines = {
        line.strip()
        for cell in cells
        for region in regions(cell)
        for line in cell.source.split("\n")[region.start : region.stop - 2]
    }
    return {line for line in lines if len(line) > 25 and line not in public and "hint=" not in line}


def problems(attack: Attack, result: SubmissionResult) -> list[str]:
    """Return a description of each way in which an attack succeeded; empty if it failed."""
    homework = load_homework(HOMEWORK)
    lost = {c.check for c in result.checks if c.status not in (Status.PASS, Status.MANUAL)}
    flags = [f"{flag.text} {flag.where}" for flag in result.flags]
    shown = told(result)
    found = [f"earned {check}" for check in attack.must_lose(homework) - lost]
    too_much = lost - attack.may_lose(homework)
    found += [f"{c.check}: {c.message}" for c in result.checks if c.check in too_much]
    found += [f"leaked {secret}" for secret in secrets() if secret in shown]
    found += ["leaked the seed"] if str(result.seed) in shown else []
    found += [f.message for f in result.cell_failures if "FOUND" in f.message]
    found += ["flooded the feedback"] if len(shown) > 400_000 else []
    if not any(attack.flagged in flag for flag in flags or [""]):
        found.append(f"not flagged as {attack.flagged!r}: {flags}")
    return found


def processes() -> int:
    """Return the number of processes that the judges' server has started, directly or not."""
    (server,) = judges()._servers.values()
    return len(psutil.Process(server._process.pid).children(recursive=True))


@pytest.mark.parametrize("group", with_proofs(["", *DAILY], DAILY), ids=["daily", *DAILY])
def test_attacks_earn_what_their_honest_parts_earn(group):
    attacks = []
    for name in [group] if group else DAILY:
        every = importlib.import_module(f"tests.homework.hostile.{name}").ATTACKS
        daily = [a for a in every if a.submission.student in DAILY[name].split()]
        assert len(daily) == len(DAILY[name].split())
        attacks += [attack for attack in every if attack not in daily] if group else daily
    judge().grade(handed_in(HONEST), "honest", seed=4_185_921_337)
    alone = processes()
    results = {attack.submission.student: grade(attack) for attack in attacks}
    assert len(results) == len(attacks)
    reached = {a.submission.student: problems(a, results[a.submission.student]) for a in attacks}
    assert not (bad := {name: found for name, found in reached.items() if found}), json.dumps(bad)
    honest = judge().grade(handed_in(HONEST), "honest", seed=4_185_921_337)
    assert (honest.score, honest.flags, honest.cell_failures) == (19.0, (), ())
    assert processes() == alone
