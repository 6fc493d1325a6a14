"""Grades a generated class, and checks that nothing grows and nothing is left behind.

    python -m benchmarks.class_of_1000
    python -m benchmarks.class_of_1000 --submissions 200

The class consists of copies of the sample class of hw03: right, wrong and hostile answers, crashes
and unreadable notebooks. Memory is the sum over all processes of the run, with shared pages counted
once, measured after each tenth of the class and at the end.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.class_run.options import GradingOptions
from autograder.class_run.result_store import ResultStore
from autograder.class_run.run import grade_class
from autograder.gradebook.writer import GradebookWriter
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import SubmissionResult
from tests.homework.submissions import write_class
from tests.homework.tables import load_homework, load_table, released_notebook

ROOT = Path(__file__).parents[1]
HOMEWORK = "hw03-self-attention"


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """The resources of a run at one time.

    Attributes:
        processes: This process and its descendants.
        memory: Their bytes; a page shared by n processes counts as an n-th for each.
        own_memory: Bytes of this process.
        descriptors: Open files of this process.
        files: Temporary files, without Dask's locks.
    """

    processes: int
    memory: int
    own_memory: int
    descriptors: int
    files: int


def footprint(scratch: Path) -> Footprint:
    """Measure this process and its descendants, and count their files in the folder ``scratch``."""
    family = list(_family(os.getpid()))
    return Footprint(
        processes=len(family),
        memory=sum(map(_memory, family)),
        own_memory=_memory(os.getpid()),
        descriptors=sum(1 for _ in Path("/proc/self/fd").iterdir()),
        files=sum(1 for path in scratch.rglob("*") if path.is_file() and path.suffix != ".lock"),
    )


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return
    for child in children:
        yield from _family(int(child))


def _memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


@dataclass
class Watch:
    """Measures resources while a class is graded: call it with each result.

    Attributes:
        count: Number of submissions in the class.
        scratch: The folder for temporary files.
        graded: Number of results so far.
        seen: The footprint after each tenth of the class.
    """

    count: int
    scratch: Path
    graded: int = 0
    seen: list[Footprint] = field(default_factory=list)

    def __call__(self, result: SubmissionResult) -> None:
        """Count a result; after each tenth of the class, keep the ``footprint`` of the run."""
        self.graded += 1
        if self.graded % max(self.count // 10, 1) == 0:
            self.seen.append(footprint(self.scratch))


def write_big_class(folder: Path, count: int) -> None:
    """Write ``count`` submissions into ``folder``, a subfolder each: copies of the sample class."""
    sample = folder.parent / "sample"
    homework = load_homework("hw03")
    students = load_table(HOMEWORK).sample_class
    write_class(students, homework, released_notebook(HOMEWORK), sample)
    for number in range(count):
        source = sample / students[number % len(students)].student
        shutil.copytree(source, folder / f"{source.name}-{number:04d}", symlinks=True)


def main() -> None:
    """Grade the class, and print the resources before, during and after the run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.class_of_1000", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--submissions", type=int, default=1000, help="size of the class")
    parser.add_argument("--time-limit", type=float, default=2.0, help="seconds of a check")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        os.environ["TMPDIR"] = str(scratch)  # for every process that the run starts
        _measure(Path(folder), scratch, arguments.submissions, arguments.time_limit)


def _measure(folder: Path, scratch: Path, count: int, time_limit: float) -> None:
    write_big_class(folder / "class", count)
    before, started, watch = footprint(scratch), time.monotonic(), Watch(count, scratch)
    with GradebookWriter(
        folder / "class", load_homework(HOMEWORK), course_folder=folder / "nbgrader"
    ) as recorder:

        def take(result: SubmissionResult) -> None:
            recorder.record(result)
            watch(result)

        results = grade_class(
            load_homework(HOMEWORK),
            folder / "class",
            GradingOptions(limits=TimeLimits(check_seconds=time_limit, submission_seconds=60.0)),
            root=ROOT,
            store=ResultStore(folder / "results"),
            on_result=take,
        )
    seconds = time.monotonic() - started
    after = footprint(scratch)
    marks = {(result.student.rpartition("-")[0], result.score) for result in results}
    differing = len(marks) - len({student for student, _ in marks})
    speed = f"{seconds:.0f} s, {60 * count / seconds:.0f} a minute"
    print(f"{len(results)} submissions, {os.cpu_count()} cores: {speed}")
    print(f"{differing} copies of a submission with other marks\n")
    print("| | processes | memory, MiB | of this process | open files | temporary files |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = {"before": before} | {f"{n * 10} %": seen for n, seen in enumerate(watch.seen, start=1)}
    for name, seen in (rows | {"after": after}).items():
        print(f"| {name} | {seen.processes} | {seen.memory >> 20} | {seen.own_memory >> 20} | "
              f"{seen.descriptors} | {seen.files} |")  # fmt: skip
    left = after.processes > before.processes + 2 or after.files > before.files
    if differing or left or after.descriptors > before.descriptors + 2:
        sys.exit("something grew, was left behind, or was marked in two ways")


if __name__ == "__main__":
    main()
