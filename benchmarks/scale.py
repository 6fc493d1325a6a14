"""Estimates the time for a very large class from measured rates, with simulated workers.

    python -m benchmarks.scale

The simulated run uses the loop that grades a real class, with a real result for each submission,
but its workers only sleep for as long as grading takes. Workers, scheduler and class run share this
process, so separate machines would have a higher rate.
"""

import argparse
import contextlib
import itertools
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.class_run.course import Course
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.result_store import ResultStore
from autograder.cluster import grading as cluster_grading
from autograder.cluster.scheduler import Cluster
from autograder.gradebook.writer import GradebookWriter
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult
from benchmarks.autograder import HOMEWORK, ROOT, write_class

SUBMISSIONS, MACHINES, CORES = 100_000, 100, 2
THREADS = 20  # per simulated worker, which reduces the number of workers


class SimulatedCluster(Cluster):
    """A cluster whose workers are threads of this process."""

    @contextlib.contextmanager
    def connect(self, device: str = "cpu") -> Iterator[Any]:
        """Yield a Dask client with ``MACHINES * CORES`` workers; ``device`` is ignored."""
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=MACHINES * CORES // THREADS, threads_per_worker=THREADS,
                processes=False, dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):  # fmt: skip
            yield client


def measure_judge(notebook: bytes, course: Course) -> tuple[SubmissionResult, float]:
    """Grade a notebook (JSON) several times; return a result, and the median seconds when warm."""
    judge = JudgePool().open(course, GradingOptions())
    results = [judge.grade(notebook, "student", seed=1) for _ in range(8)]
    return results[-1], sorted(result.seconds for result in results[2:])[3]


def measure_writer(folder: Path, result: SubmissionResult, count: int) -> float:
    """Return the seconds that the gradebook's writer takes for a result with its notebooks.

    It writes ``result`` for the first ``count`` students of the class in ``folder``.
    """
    times: list[float] = []
    with GradebookWriter(
        folder / "class", load_homework(HOMEWORK, ROOT), course_folder=folder / "nbgrader",
        on_recorded=lambda student: times.append(time.perf_counter()),
    ) as recorder:  # fmt: skip
        for student in sorted(path.name for path in (folder / "class").iterdir())[:count]:
            recorder.record(replace(result, student=student))
    return (times[-1] - times[0]) / (len(times) - 1)


def measure_scheduler(
    folder: Path, course: Course, result: SubmissionResult, seconds: float, count: int
) -> float:
    """Return the number of results per second that simulated workers deliver to the store.

    Args:
        folder: The folder of the class and of the store.
        course: The course.
        result: The result that each worker returns.
        seconds: The time that a worker takes for it.
        count: Number of submissions.
    """
    data = result.to_json()
    notebook = next((folder / "class").rglob("*.ipynb"))
    store = ResultStore(folder / "results")

    def sleep(course: Course, notebook: bytes, student: str, *rest: Any) -> dict[str, Any]:
        time.sleep(seconds)
        return {**data, "student": student}

    original, cluster_grading._grade_one = cluster_grading._grade_one, sleep
    try:
        notebooks = {f"student-{n}": (notebook, None) for n in range(count)}
        cluster = SimulatedCluster(scheduler="tcp://simulated:1", trusted_network=True)
        ended = []
        graded = cluster_grading.grade_on_cluster(cluster, course, notebooks, GradingOptions())
        for found, made_from in itertools.chain.from_iterable(graded):
            store.keep(found, made_from)
            ended.append(time.perf_counter())
    finally:
        cluster_grading._grade_one = original
    warm = count // 5
    return (len(ended) - warm) / (ended[-1] - ended[warm - 1])


def main() -> None:
    """Measure judge, writer and scheduler, and print the estimated times of the large class."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--simulated", type=int, default=5000, help="submissions of the simulation")
    parser.add_argument("--recorded", type=int, default=100, help="results for the one writer")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_class(folder / "class", arguments.recorded)
        course = Course.load(load_homework(HOMEWORK, ROOT), ROOT)
        notebook = next((folder / "class").rglob("*.ipynb")).read_bytes()
        result, grading = measure_judge(notebook, course)
        writing = measure_writer(folder, result, arguments.recorded)
        rate = measure_scheduler(folder, course, result, grading, arguments.simulated)
    wanted = MACHINES * CORES / grading
    print(f"grading a submission, warm: {grading * 1000:.0f} ms of a worker")
    print(f"{MACHINES} machines with {CORES} workers each could grade {wanted:.0f} a second")
    print(f"simulated, through one scheduler and one class run: {rate:.0f} a second, results kept")
    print(f"the one writer of the gradebook: {writing * 1000:.1f} ms, {1 / writing:.0f} a second\n")
    for what, speed in (("workers", wanted), ("scheduler", rate), ("writer", 1 / writing)):
        print(f"{SUBMISSIONS:,} submissions, {what}: {SUBMISSIONS / speed / 60:.0f} minutes")


if __name__ == "__main__":
    main()
