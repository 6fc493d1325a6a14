"""Grades a class: notebooks travel by value to Dask workers, results come back as plain data."""

import contextlib
import dataclasses
import itertools
import math
import queue
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sized
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from types import MappingProxyType
from typing import Any

from autograder.class_run.cluster import ClusterError, resources_of, usual_workers
from autograder.class_run.course import Course, installed_reference
from autograder.class_run.due import Due, Given
from autograder.class_run.judge_process import JudgeProcess
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.result_store import ResultStore, fingerprint
from autograder.class_run.submissions import (
    UnreadableError,
    find_submissions,
    read_notebook,
    unread,
)
from autograder.clean_text import one_line
from autograder.homework_source.homework import Homework, HomeworkError
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.judging.results import Status, SubmissionResult, interrupted
from autograder.sandbox.sandbox import check_sandbox
from autograder.sandbox.zygote import SandboxError
from autograder.teams import read_teams

_TRIES = 3
_PAUSE_SECONDS = 0.5
_REJOIN_SECONDS = 15.0  # in which a worker that died may be started again
_ASK_SECONDS = 0.5  # between two questions whether there are further notebooks
_MOST_NAMED = 5  # checks that the reference solution does not pass
_RECOUNT_SECONDS = 1.0  # between two looks at how many workers there are

_turn = threading.Lock()  # a worker has one judge, whatever number of threads Dask gives it


def grade_class(
    homework: Homework,
    submissions: Path,
    options: GradingOptions,
    *,
    root: Path,
    judges: JudgePool | None = None,
    store: ResultStore | None = None,
    on_start: Callable[[int], None] = lambda count: None,
    on_result: Callable[[SubmissionResult], None] = lambda result: None,
) -> list[SubmissionResult]:
    """Grade every submission in a folder.

    Args:
        homework: The homework.
        submissions: Folder laid out as nbgrader's: ``<student>/<homework>/<homework>.ipynb``.
        options: How to grade.
        root: The project's folder.
        judges: Give out those that grade on this machine; if None, they are started here, and
            ended.
        store: Keeps each result as it comes, and gives back those of an earlier run.
        on_start: Called with the number of submissions before the first is graded.
        on_result: Called with each result as it comes, in this process.

    Returns:
        One result for each student, sorted by student; nobody is left out.

    Raises:
        SubmissionsError: The folder is missing or holds no student.
        SandboxError: The sandbox does not work here.
        ClusterError: The scheduler does not answer or is gone, has no worker, or has one that
            would grade otherwise than this machine. What was graded is kept.
        HomeworkError: The homework's source is not well formed, or its reference solution does not
            pass a check: see ``try_reference``.
        OSError: A result can't be kept, on a full disk, say. Those kept before it stay.
    """
    notebooks = find_submissions(submissions.resolve(), homework.id)
    if options.isolated and not options.cluster.scheduler:  # else each worker finds out for itself
        check_sandbox()
    course = Course.load(homework, root)
    results = []
    with contextlib.ExitStack() as opened:
        if judges is None:
            judges = opened.enter_context(contextlib.closing(JudgePool()))
        if options.force or not store or not store.has_graded(course):
            try_reference(course, options, judges)
        on_start(len(notebooks))
        teams = read_teams(submissions, homework.id)
        for result in grade_notebooks(
            course, notebooks, options, judges=judges, store=store, teams=teams
        ):
            results.append(result)
            on_result(result)
    return sorted(results, key=lambda result: result.student)


def try_reference(course: Course, options: GradingOptions, judges: JudgePool) -> None:
    """Grade the reference solution, so that no broken check takes points from a class."""
    homework = course.homework
    with tempfile.TemporaryDirectory(prefix="reference-") as folder:
        path = Path(folder, f"{homework.id}.ipynb")
        path.write_text(instructors_notebook(homework), encoding="utf-8")
        given = {"reference": (path, options.seed)}
        for graded in _grade_in_parallel(course, given, options, judges, None):
            for result, _ in graded:
                check_reference(result)


def check_reference(result: SubmissionResult) -> None:
    """Raise an error if the reference solution lost points."""
    reference = f"nobody was graded: the reference solution of {result.homework}"
    if result.interrupted:
        raise HomeworkError(f"{reference} can't be graded: {one_line(result.flags[0].text, 400)}")
    lost = [c for c in result.checks if c.status not in (Status.PASS, Status.MANUAL)]
    if lost:
        names = ", ".join(check.check for check in lost[:_MOST_NAMED])
        more = f" and {len(lost) - _MOST_NAMED} more checks" if lost[_MOST_NAMED:] else ""
        why = one_line(lost[0].message or lost[0].status, 400)
        raise HomeworkError(f"{reference} does not pass {names}{more}; {lost[0].check} says: {why}")


def grade_notebooks(
    course: Course,
    notebooks: Mapping[str, Path],
    options: GradingOptions,
    *,
    judges: JudgePool,
    store: ResultStore | None = None,
    teams: Mapping[str, str] = MappingProxyType({}),
    more: Callable[[], Mapping[str, Path]] | None = None,
) -> Iterator[SubmissionResult]:
    """Grade notebooks, those that are not graded yet.

    The one notebook of a team is graded once, and each member has the same marks, drawn with the
    same inputs.
    """
    due = Due(course, options, store, teams)
    yield from due.take(notebooks)
    known: list[SubmissionResult] = []

    def further() -> dict[str, Given]:
        known.extend(due.take(more() if more else {}))
        return due.missing()

    for graded in _grade_in_parallel(
        course, due.missing(), options, judges, further if more else None
    ):
        yield from known
        known.clear()
        for result, made_from in graded:
            yield from due.give(result, made_from)
    yield from known  # of who came last


_Graded = list[tuple[SubmissionResult, str]]
"""Results that have come, each with the fingerprint of its notebook; empty if it must be redone."""


def _grade_in_parallel(
    course: Course,
    notebooks: dict[str, Given],
    options: GradingOptions,
    judges: JudgePool,
    further: Callable[[], dict[str, Given]] | None,
) -> Iterator[_Graded]:
    """Yield results as they come; nothing now and then, where there may be further notebooks."""
    if not notebooks:
        return iter(())
    if options.cluster.scheduler:
        return ([graded] for graded in _grade_on_cluster(course, notebooks, options))
    return _grade_here(course, notebooks, options, judges, further)


def _grade_here(
    course: Course,
    notebooks: dict[str, Given],
    options: GradingOptions,
    judges: JudgePool,
    further: Callable[[], dict[str, Given]] | None,
) -> Iterator[_Graded]:
    """Grade on this machine: each thread here waits for a judge in a process of its own."""
    count = judges_here(options)
    if not further:
        count = min(count, len(notebooks))
    idle: queue.LifoQueue[JudgeProcess] = queue.LifoQueue()  # who has worked knows the homework
    for judge in judges.acquire(count, course, options, others=count - 1):
        idle.put(judge)

    def grade(student: str, path: Path, seed: int | None) -> tuple[SubmissionResult, str]:
        judge = idle.get()
        try:
            notebook = read_notebook(path)
            result = grade_patiently(judge, notebook, student, seed)
            return result, fingerprint(course, notebook)
        except UnreadableError as error:
            return unread(course.homework, student, error), ""
        except SandboxError as error:
            return _failed(course.homework, student, error), ""
        finally:
            idle.put(judge)

    with ThreadPoolExecutor(count) as threads:
        try:
            waiting = {threads.submit(grade, name, *given) for name, given in notebooks.items()}
            while waiting:
                seconds = _ASK_SECONDS if further else None
                done, waiting = wait(waiting, seconds, return_when=FIRST_COMPLETED)
                yield [future.result() for future in done]
                for name, given in further().items() if further else ():
                    waiting.add(threads.submit(grade, name, *given))
        except BaseException:  # nobody has patience for the rest
            threads.shutdown(wait=False, cancel_futures=True)
            judges.close()
            raise


def judges_here(options: GradingOptions) -> int:
    """Return how many judges grade at the same time on this machine, if there is work for them."""
    return options.cluster.workers or usual_workers(options.device)


def _grade_on_cluster(
    course: Course, notebooks: dict[str, Given], options: GradingOptions
) -> Iterator[tuple[SubmissionResult, str]]:
    """Send notebooks by value to the workers of a scheduler, a few at a time."""
    from distributed import CancelledError, as_completed, wait

    with options.cluster.connect(options.device) as client:
        shared = client.scatter(course, broadcast=True)
        underway: dict[Any, str] = {}
        made_from: dict[str, str] = {}
        vanished: list[SubmissionResult] = []
        again: list[str] = []

        def submit(student: str) -> Any:
            path, seed = notebooks[student]
            try:
                notebook = read_notebook(path)
            except UnreadableError as error:
                vanished.append(unread(course.homework, student, error))
                return None
            made_from[student] = fingerprint(course, notebook)
            return client.submit(
                _grade_one, shared, notebook, student, seed, options,
                pure=False, resources=resources_of(options.device),
            )  # fmt: skip

        def submit_each() -> Iterator[Any]:
            for student in notebooks:
                if future := submit(student):
                    underway[future] = student
                    yield future

        submitted = submit_each()
        room = _Room(client)
        finished = as_completed(list(itertools.islice(submitted, room.beside(underway))))
        for future in finished:
            student = underway.pop(future)
            if result := _result_of(future):
                yield result, made_from[student]
            elif isinstance(error := _error_of(future, client), ClusterError):
                raise error
            else:  # its worker died, with what else waited there
                again.append(student)
            finished.update(list(itertools.islice(submitted, room.beside(underway))))
        for student in again:  # one at a time, so that who kills workers is alone with them
            options.cluster.wait_for_a_worker(client, options.device)
            shared = client.scatter(course, broadcast=True)
            future = submit(student)
            if not future:
                continue
            with contextlib.suppress(CancelledError):
                wait(future)
            if result := _result_of(future):
                yield result, made_from[student]
            else:
                yield _failed(course.homework, student, _error_of(future, client)), ""
        yield from ((result, "") for result in vanished)


def _result_of(future: Any) -> SubmissionResult | None:
    """Return what a worker found; nothing if it found none, or is gone before it was fetched."""
    from distributed import CancelledError

    with contextlib.suppress(CancelledError):
        if future.status == "finished":
            return SubmissionResult.from_json(future.result())
    return None


def _error_of(future: Any, client: Any) -> BaseException:
    """Return why a submission was not graded: on account of its worker, or of the cluster."""
    from distributed import CancelledError

    if future.status == "error":
        with contextlib.suppress(CancelledError):
            error: BaseException = future.exception()
            return error
    gives_up = time.monotonic() + _REJOIN_SECONDS
    while client.status == "running" and time.monotonic() < gives_up:
        if client.scheduler_info(n_workers=-1)["workers"]:
            return RuntimeError("its worker was lost")
        time.sleep(_PAUSE_SECONDS)
    return ClusterError(
        "the Dask scheduler is gone, or all its workers are; what was graded is kept: run again"
    )


class _Room:
    """How many notebooks may be under way: a few for each thread, so that memory stays flat.

    Workers join while others grade, when jobs that waited in a queue begin: they are counted again,
    yet not with each result, for the scheduler has to be asked.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._slots = 0
        self._counted = -math.inf

    def beside(self, underway: Sized) -> int:
        """Return how many more may be submitted."""
        if time.monotonic() - self._counted > _RECOUNT_SECONDS:
            threads = self._client.scheduler_info(n_workers=0)["total_threads"]
            self._slots = 4 * max(threads, 1)
            self._counted = time.monotonic()
        return max(self._slots - len(underway), 0)


def _grade_one(
    course: Course, notebook: bytes, student: str, seed: int | None, options: GradingOptions
) -> dict[str, Any]:
    """Grade one submission; runs in a Dask worker, which keeps its judge for the next."""
    from distributed import get_worker

    if course.reference not in ("", installed_reference()):
        raise ClusterError(
            f"the worker on {socket.gethostname()} has another version of course_lib installed: "
            "its marks would not be ours. Install the same one there"
        )
    if options.device == "cuda" and not _has_gpu():
        raise ClusterError(
            f"the worker on {socket.gethostname()} offers a GPU, and torch can use none there; see "
            "with nvidia-smi what it has, or start it without --resources GPU=1"
        )
    with _turn:
        judge = _judges_of(get_worker()).acquire_one(course, options)
        return grade_patiently(judge, notebook, student, seed).to_json()


def _has_gpu() -> bool:
    import torch

    return torch.cuda.device_count() > 0


def _judges_of(worker: Any) -> JudgePool:
    """Return the judges that a Dask worker keeps as long as it lives."""
    if not hasattr(worker, "judges"):
        worker.judges = JudgePool(scratch=Path(worker.local_directory))
    return worker.judges


def grade_patiently(
    judge: JudgeProcess, notebook: bytes, student: str, seed: int | None = None
) -> SubmissionResult:
    """Grade, and begin again when the forking process is killed.

    A process of the student's that crashed may have been ended from outside: by a kill, or by a
    machine short of memory. Such a submission is graded once more, with the same inputs; what was
    noticed before it crashed stays noticed.
    """
    seed = secrets.randbits(62) if seed is None else seed
    for _ in range(_TRIES):
        try:
            result = judge.grade(notebook, student, seed=seed)
            ended = [check.status for check in result.checks]
            ended += [failure.status for failure in result.cell_failures]
            if Status.CRASH not in ended:
                return result
            again = judge.grade(notebook, student, seed=seed)
            flags = tuple(dict.fromkeys((*result.flags, *again.flags)))
            return dataclasses.replace(again, flags=flags)
        except SandboxError:
            time.sleep(_PAUSE_SECONDS)
    return judge.grade(notebook, student, seed=seed)


def _failed(homework: Homework, student: str, error: BaseException) -> SubmissionResult:
    return interrupted(homework, student, f"grading failed: {type(error).__name__}: {error}")
