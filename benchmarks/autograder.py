"""Grades one class three times, with nbgrader, the judge on one worker and on two, and compares.

    python -m benchmarks.autograder --submissions 40

Every submission is a right one, so that both should give full marks; the run fails if they differ.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.quick_imports import skip_imports

if __name__ == "__main__":
    skip_imports()  # like the command

from autograder.class_run.judges import JudgePool

if TYPE_CHECKING:
    from autograder.judging.results import SubmissionResult

ROOT = Path(__file__).parents[1]
HOMEWORK = "hw03-self-attention"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The time that one grader takes for the class.

    Attributes:
        name: Name of the grader, such as ``nbgrader autograde``.
        seconds: Wall time of the whole class, from the command to the gradebook.
        marks: Points by student.
        spent: Seconds of each step of grading, by its description; empty if unknown.
    """

    name: str
    seconds: float
    marks: dict[str, float]
    spent: dict[str, float] = field(default_factory=dict)


def write_class(folder: Path, count: int) -> None:
    """Write ``count`` right submissions into ``folder``, laid out as nbgrader's ``submitted``.

    Each has a comment of its own, so that no two are the same.
    """
    from autograder.homework_source.instructors_notebook import instructors_notebook
    from autograder.homework_source.source import load_homework

    solved = json.loads(instructors_notebook(load_homework(HOMEWORK, ROOT)))
    for number in range(count):
        for cell in solved["cells"]:
            if cell["metadata"].get("course", {}).get("kind") == "solution":
                cell["source"] = f"# submission {number}\n" + "".join(cell["source"])
        path = folder / f"student-{number:04d}" / HOMEWORK / f"{HOMEWORK}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(solved))


def time_nbgrader(submissions: Path, course: Path) -> Timing:
    """Copy a class into a new course folder, and time unchanged ``nbgrader autograde`` on it.

    nbgrader runs hidden tests in the student's kernel.
    """
    from autograder.homework_source.instructors_notebook import self_contained_notebook
    from autograder.homework_source.source import load_homework

    shutil.copytree(submissions, course / "submitted")
    source = course / "source" / HOMEWORK / f"{HOMEWORK}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(self_contained_notebook(load_homework(HOMEWORK, ROOT)))
    (course / "nbgrader_config.py").write_text("")
    # nbgrader runs alembic by its bare name, which only an activated environment would find.
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": path}

    def run(command: str) -> float:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "nbgrader", command, HOMEWORK],
            cwd=course, env=environment, check=True, capture_output=True,
        )  # fmt: skip
        return time.perf_counter() - started

    run("generate_assignment")
    seconds = run("autograde")
    return Timing(name="nbgrader autograde", seconds=seconds, marks=_marks(course))


def time_judge(submissions: Path, course: Path, workers: int) -> Timing:
    """Time the judge in a process of its own, from its start to the complete gradebook.

    The assignment is put into the gradebook in ``course`` before, outside the measured time.
    """
    from autograder.gradebook.course_assignment import ensure_assignment
    from autograder.homework_source.source import load_homework

    ensure_assignment(load_homework(HOMEWORK, ROOT), course, f"sqlite:///{course}/gradebook.db")
    how = [str(workers), submissions, course, str(time.time())]
    judged = subprocess.run(
        [sys.executable, "-m", "benchmarks.autograder", "--judge", *how],
        cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    report = json.loads(judged.stdout.splitlines()[-1])
    name = f"the judge, {workers} worker{'s' * (workers > 1)}"
    return Timing(name=name, seconds=report["seconds"], marks=_marks(course), spent=report["spent"])


def judge(submissions: Path, course: Path, workers: int, began: float) -> dict[str, Any]:
    """Grade a class with the judge in this process, and return the seconds that it takes.

    ``began`` is the time (Unix, seconds) at which this process was started. In the result,
    ``seconds`` counts from there, and ``spent`` has the seconds of each step.
    """
    first: list[float] = []
    judges = JudgePool()
    judges.prepare(isolated=True, device="cpu")  # like the command, before further imports
    from autograder.homework_source.source import load_homework

    homework = load_homework(HOMEWORK, ROOT)
    judges.preload(homework)
    from autograder.class_run.options import GradingOptions
    from autograder.class_run.run import grade_class
    from autograder.gradebook.writer import GradebookWriter

    with (
        contextlib.closing(judges),
        GradebookWriter(submissions, homework, course_folder=course) as recorder,
    ):

        def take(result: "SubmissionResult") -> None:
            first.append(time.time() - began - result.seconds)
            recorder.record(result)

        results = grade_class(
            homework,
            submissions,
            GradingOptions(workers=workers),
            root=ROOT,
            judges=judges,
            on_result=take,
        )
        graded = time.time()
    seconds = time.time() - began
    again = time.perf_counter()
    alone = course.with_name(f"{course.name}-again")
    with GradebookWriter(submissions, homework, course_folder=alone) as recorder:
        for result in results:
            recorder.record(result)
    checks = sum(check.seconds for result in results for check in result.checks)
    spent = {
        "until the first is begun: Python, PyTorch, sandbox": first[0],
        "checks, with the student's code that they call": checks / workers,
        "fork, student's cells, reading them": (sum(r.seconds for r in results) - checks) / workers,
        "gradebook and notebooks after the last is graded": began + seconds - graded,
        "gradebook and notebooks, had they not been written meanwhile": time.perf_counter() - again,
    }
    return {"seconds": seconds, "spent": spent}


def _marks(course: Path) -> dict[str, float]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        graded = gradebook.assignment_submissions(HOMEWORK)
        return {submission.student.id: submission.score for submission in graded}


def main() -> None:
    """Grade the class with nbgrader and the judge, and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.autograder", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--submissions", type=int, default=40, help="size of the class")
    parser.add_argument(
        "--judge", nargs=4, metavar=("WORKERS", "CLASS", "COURSE", "BEGAN"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.judge:
        workers, submissions, course, began = options.judge
        print(json.dumps(judge(Path(submissions), Path(course), int(workers), float(began))))
        return
    count = options.submissions
    with tempfile.TemporaryDirectory() as folder:
        submissions = Path(folder) / "class"
        write_class(submissions, count)
        timings = [
            time_nbgrader(submissions, Path(folder) / "nbgrader"),
            *(time_judge(submissions, Path(folder) / f"judge{n}", n) for n in (1, 2)),
        ]
    for timing in timings[1:]:
        if timing.marks != timings[0].marks:
            differ = timing.marks.items() ^ timings[0].marks.items()
            sys.exit(f"{timings[0].name} and {timing.name} give different marks: {sorted(differ)}")
    print(f"{count} submissions of {HOMEWORK}, {os.cpu_count()} cores, {platform.machine()}\n")
    print("| | seconds | seconds a submission | submissions a minute | ratio |")
    print("|---|---|---|---|---|")
    for t in timings:
        print(
            f"| {t.name} | {t.seconds:.1f} | {t.seconds / count:.2f} | "
            f"{60 * count / t.seconds:.0f} | {timings[0].seconds / t.seconds:.1f} |"
        )
    print(f"\n| where the time goes, seconds | {' | '.join(t.name for t in timings[1:])} |")
    print("|---|" + "---|" * len(timings[1:]))
    for step in timings[-1].spent:
        print(f"| {step} | {' | '.join(f'{t.spent[step]:.1f}' for t in timings[1:])} |")


if __name__ == "__main__":
    main()
