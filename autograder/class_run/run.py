"""Grades a class: finds the notebooks, judges those without a result, and stores each result."""

import contextlib
import dataclasses
import os
import queue
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from types import MappingProxyType

from autograder.class_run.course import Course
from autograder.class_run.due import Due, Given, Graded
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
_ASK_SECONDS = 0.5  # between two looks for further notebooks
_MOST_NAMED = 5  # failed checks of the reference solution in a message

Elsewhere = Callable[[Course, Mapping[str, Given], GradingOptions], Iterator[list[Graded]]]
"""Grades notebooks, given by student, on other machines: see the package ``cluster``."""


def grade_class(
    homework: Homework,
    submissions: Path,
    options: GradingOptions,
    *,
    root: Path,
    judges: JudgePool | None = None,
    store: ResultStore | None = None,
    elsewhere: Elsewhere | None = None,
    on_start: Callable[[int], None] = lambda count: None,
    on_result: Callable[[SubmissionResult], None] = lambda result: None,
) -> list[SubmissionResult]:
    """Grade every submission in a folder.

    Args:
        homework: The homework.
        submissions: Folder in nbgrader's layout: ``<student>/<homework>/<homework>.ipynb``.
        options: How to grade.
        root: The project's folder.
        judges: Judges on this machine; started and closed here if None.
        store: Keeps each result as it comes, and returns those of an earlier run.
        elsewhere: Grades on other machines; on this one if None.
        on_start: Called with the number of submissions before the first is graded.
        on_result: Called with each result as it comes.

    Returns:
        One result for each student, sorted by student; nobody is left out.

    Raises:
        SubmissionsError: The folder is missing or holds no student.
        SandboxError: The sandbox does not work here.
        HomeworkError: The homework is not well formed, or its reference solution fails a check.
        OSError: A result can't be stored. Those stored before it stay.
    """
    notebooks = find_submissions(submissions.resolve(), homework.id)
    if options.isolated and not elsewhere:
        check_sandbox()
    course = Course.load(homework, root)
    results = []
    with contextlib.ExitStack() as opened:
        if judges is None:
            judges = opened.enter_context(contextlib.closing(JudgePool()))
        if options.force or not store or not store.has_graded(course):
            try_reference(course, options, judges, elsewhere)
        on_start(len(notebooks))
        for result in grade_notebooks(
            course, notebooks, options, judges=judges, store=store, elsewhere=elsewhere,
            teams=read_teams(submissions, homework.id),
        ):  # fmt: skip
            results.append(result)
            on_result(result)
    return sorted(results, key=lambda result: result.student)


def try_reference(
    course: Course,
    options: GradingOptions,
    judges: JudgePool,
    elsewhere: Elsewhere | None = None,
) -> None:
    """Grade the reference solution, so that no broken check costs a class points.

    Raises:
        HomeworkError: See ``check_reference``.
    """
    homework = course.homework
    with tempfile.TemporaryDirectory(prefix="reference-") as folder:
        path = Path(folder, f"{homework.id}.ipynb")
        path.write_text(instructors_notebook(homework), encoding="utf-8")
        given = {"reference": (path, judges.seed if options.seed is None else options.seed)}
        for graded in _grade_all(course, given, options, judges, elsewhere):
            for result, _ in graded:
                check_reference(result)


def check_reference(result: SubmissionResult) -> None:
    """Reject a reference solution that lost points.

    Raises:
        HomeworkError: The message names the checks, and quotes the first one's message.
    """
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
    elsewhere: Elsewhere | None = None,
) -> Iterator[SubmissionResult]:
    """Yield one result for each student as it comes; grade only notebooks without a stored result.

    ``notebooks`` and ``teams`` map students to files and teams. While notebooks are graded on this
    machine, ``more`` is called repeatedly; it returns further ones, of other students.
    """
    due = Due(course, options, store, teams, judges.seed)
    yield from due.take(notebooks)
    known: list[SubmissionResult] = []

    def further() -> dict[str, Given]:
        known.extend(due.take(more() if more else {}))
        return due.missing()

    for graded in _grade_all(
        course, due.missing(), options, judges, elsewhere, further if more else None
    ):
        yield from known
        known.clear()
        for result, made_from in graded:
            yield from due.give(result, made_from)
    yield from known  # the last submissions


def _grade_all(
    course: Course,
    notebooks: dict[str, Given],
    options: GradingOptions,
    judges: JudgePool,
    elsewhere: Elsewhere | None,
    further: Callable[[], dict[str, Given]] | None = None,
) -> Iterator[list[Graded]]:
    """Yield lists of results as they come, from ``elsewhere`` if it is given, else from here.

    ``further`` returns the notebooks that arrived meanwhile; if it is given, lists may be empty.
    """
    if not notebooks:
        return iter(())
    if elsewhere:
        return elsewhere(course, notebooks, options)
    return _grade_here(course, notebooks, options, judges, further)


def _grade_here(
    course: Course,
    notebooks: dict[str, Given],
    options: GradingOptions,
    judges: JudgePool,
    further: Callable[[], dict[str, Given]] | None,
) -> Iterator[list[Graded]]:
    """Yield lists of results, graded on this machine by several judge processes at a time.

    ``further`` is as in ``_grade_all``.
    """
    count = judges_here(options)
    if not further:
        count = min(count, len(notebooks))
    idle: queue.LifoQueue[JudgeProcess] = queue.LifoQueue()  # the last one knows the homework
    for judge in judges.acquire(count, course, options, others=count - 1):
        idle.put(judge)

    def grade(student: str, path: Path, seed: int) -> Graded:
        judge = idle.get()
        try:
            notebook = read_notebook(path)
            result = grade_patiently(judge, notebook, student, seed)
            return result, fingerprint(course, notebook)
        except UnreadableError as error:
            return unread(course.homework, student, error), ""
        except SandboxError as error:
            return failed(course.homework, student, error), ""
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
        except BaseException:  # Ctrl-C must not wait for the rest
            threads.shutdown(wait=False, cancel_futures=True)
            judges.close()
            raise


def judges_here(options: GradingOptions) -> int:
    """Return how many submissions this machine grades at a time: as many as cores, or GPUs."""
    if options.workers:
        return options.workers
    if options.device == "cuda":
        import torch

        return max(torch.cuda.device_count(), 1)
    return os.cpu_count() or 1


def grade_patiently(
    judge: JudgeProcess, notebook: bytes, student: str, seed: int
) -> SubmissionResult:
    """Grade a notebook; try again if the sandbox breaks down or the student's process crashes.

    A crash may come from outside, by a kill or a machine short of memory. The second run has the
    same inputs, and the flags of the first are kept.

    Raises:
        SandboxError: The sandbox still breaks down at the last try.
    """
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


def failed(homework: Homework, student: str, error: BaseException) -> SubmissionResult:
    """Return the result of a submission whose grading failed on the course's side."""
    return interrupted(homework, student, f"grading failed: {type(error).__name__}: {error}")
