"""Grades a class with and without notebooks whose function never returns, and compares.

    python -m benchmarks.endless                              # prints a table
    python -m benchmarks.endless --submissions 400 --write    # puts it into benchmarks/README.md

Grades a class of right submissions of hw03; then, for each exercise, the same class in which some
notebooks never return from that exercise's function. The judges start before the timing. Prints
elapsed time, and processor time, which other work on the machine does not change. Needs bubblewrap.
With 40 submissions it takes a few minutes on an idle machine.
"""

import argparse
import contextlib
import datetime
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil

from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_class
from autograder.homework_source.homework import CellKind
from autograder.homework_source.source import load_homework
from benchmarks.__main__ import replace_section
from benchmarks.autograder import HOMEWORK, ROOT, write_class

BEGIN, END = "<!-- endless: written by python -m benchmarks.endless -->", "<!-- end of endless -->"
_ENDLESS = "\n\n\ndef endless(*args, **kwargs):\n    while True:\n        pass\n\n\n"


def make_endless(notebook: Path, exercise: str) -> None:
    """Edit a solved notebook's file so that an exercise's function or ``forward`` never returns."""
    read = nbformat.read(notebook, as_version=4)
    for cell in read.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == exercise:
            part = f"{exercise}.forward" if f"class {exercise}" in cell.source else exercise
            cell.source += f"{_ENDLESS}{part} = endless"
    nbformat.write(read, notebook)


@dataclass(frozen=True)
class Spent:
    """The seconds that grading a class takes.

    Attributes:
        clock: Elapsed seconds.
        processor: Processor seconds of this process, judges, sandbox and student code.
    """

    clock: float
    processor: float


def time_class(
    folder: Path, options: GradingOptions, judges: JudgePool, endless: set[str]
) -> Spent:
    """Grade the class in a folder with running judges, and return the time.

    The program exits unless exactly the ``endless`` students lose points.
    """
    homework = load_homework(HOMEWORK, ROOT)
    started, used = time.perf_counter(), _processor_seconds()
    results = grade_class(homework, folder, options, root=ROOT, judges=judges)
    spent = Spent(time.perf_counter() - started, _processor_seconds() - used)
    best = max(result.score for result in results)
    lost = {result.student for result in results if result.score < best}
    if lost != endless:
        sys.exit(f"of {sorted(endless)} points should be lost, and were of {sorted(lost)}")
    return spent


def _processor_seconds() -> float:
    here = psutil.Process()
    used = 0.0
    for process in (here, *here.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # ended since; its parent has its time
            times = process.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
    return used


def measure(count: int, percent: float, workers: int) -> dict[str, Spent]:
    """Time a class without endless notebooks, then with some for each exercise.

    Args:
        count: Number of submissions.
        percent: Percentage of endless notebooks; at least one is endless.
        workers: Number of workers.

    Returns:
        The times by the exercise that never returns; under ``""`` those of the first class.
    """
    homework = load_homework(HOMEWORK, ROOT)
    options = GradingOptions(workers=workers)
    exercises = [cell.grade_id for cell in homework.cells if cell.kind is CellKind.SOLUTION]
    some = max(round(count * percent / 100), 1)
    found: dict[str, Spent] = {}
    with contextlib.closing(JudgePool()) as judges, tempfile.TemporaryDirectory() as scratch:
        write_class(Path(scratch, "first"), workers)
        time_class(Path(scratch, "first"), options, judges, set())  # starts everything
        for exercise in ("", *exercises):
            folder = Path(scratch, f"class-{exercise}")
            write_class(folder, count)
            students = sorted(path.name for path in folder.iterdir())
            endless = {students[n * count // some] for n in range(some)} if exercise else set()
            for student in endless:
                make_endless(folder / student / HOMEWORK / f"{HOMEWORK}.ipynb", exercise)
            found[exercise] = time_class(folder, options, judges, endless)
            print(f"{exercise or 'none'}: {found[exercise]}", file=sys.stderr, flush=True)
    return found


def table(found: dict[str, Spent], count: int, percent: float, workers: int) -> str:
    """Return the results of ``measure`` and its arguments as a Markdown table."""
    some = max(round(count * percent / 100), 1)
    rows = [
        f"{datetime.date.today():%-d %B %Y}, {count} submissions of {HOMEWORK}, {some} of them "
        f"endless, {workers} workers on {os.cpu_count()} processors; the machine's load "
        f"over the last 15 minutes was {os.getloadavg()[2]:.1f}.",
        "",
        "| never returns | seconds | beside the class without | of the processor | beside it |",
        "|---|---:|---:|---:|---:|",
    ]
    without = found[""]
    for exercise, spent in found.items():
        name = f"`{exercise}`" if exercise else "nothing"
        clock, processor = spent.clock / without.clock, spent.processor / without.processor
        rows.append(
            f"| {name} | {spent.clock:.1f} | {clock:.2f} | {spent.processor:.1f} | "
            f"{processor:.2f} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Print the table of measured times, and with ``--write`` put it into the README."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.endless", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--submissions", type=int, default=40, help="size of the class")
    parser.add_argument("--percent", type=float, default=5.0, help="that never return")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="to benchmarks/README.md")
    given = parser.parse_args()
    how = given.submissions, given.percent, given.workers
    text = table(measure(*how), *how)
    print(text)
    if given.write:
        replace_section(BEGIN, END, text)


if __name__ == "__main__":
    main()
