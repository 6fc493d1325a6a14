"""Grading as ``grade`` and ``regrade`` do it: with a bar, into the gradebook, and kept."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from autograder.class_folders import NBGRADER
from autograder.clean_text import one_line, without_sql
from autograder.cli.bad_input import told_in_one_line
from autograder.cli.options import Device
from autograder.cli.plan import Plan, released_notebook
from autograder.cli.project import ROOT
from autograder.cli.standings import lateness_in
from autograder.cli.terminal import StepProgress, listed, output
from autograder.homework_source.homework import HomeworkError
from autograder.judging.results import Flag, FlagKind, SubmissionResult
from autograder.sandbox.zygote import SandboxError

if TYPE_CHECKING:
    from autograder.class_run.judges import JudgePool
    from autograder.class_run.options import GradingOptions
    from autograder.gradebook.database import GradebookError
    from autograder.gradebook.writer import GradebookWriter


def begin_judges(scheduler: str, *, sandbox: bool, device: Device) -> "JudgePool":
    """Begin to start what grades on this machine: it takes seconds, in which one can go on."""
    from autograder.class_run.judges import JudgePool

    judges = JudgePool()
    if not scheduler:
        judges.prepare(isolated=sandbox, device=device.value)
    return judges


@contextlib.contextmanager
def telling_what_is_kept(plan: Plan) -> Iterator[None]:
    """Tell what is kept, and how to go on, if Ctrl-C ends the block."""
    try:
        yield
    except KeyboardInterrupt:
        kept = len(plan.store.fingerprints())
        whose = f"the results of {kept} {'student' if kept == 1 else 'students'} are"
        words = f"{whose} kept in {plan.out}; the same command goes on from there"
        typer.echo(f"Ended by Ctrl-C: {words if kept else 'nothing was graded yet'}.", err=True)
        raise typer.Exit(130) from None


def grade_and_record(
    plan: Plan,
    options: "GradingOptions",
    judges: "JudgePool",
    *,
    on_start: Callable[[], object] = lambda: None,
) -> tuple[list[SubmissionResult], str]:
    """Grade what is not graded yet, and write results into nbgrader's gradebook as they come."""
    with told_in_one_line(HomeworkError):
        judges.preload(plan.homework)  # before what follows is imported
    from autograder.gradebook.course_config import write_course_config
    from autograder.gradebook.database import GradebookError

    results: list[SubmissionResult] = []
    try:
        with gradebook_writer(plan) as writer:

            def begin() -> None:  # not before grading can begin: nothing is written if it can't
                on_start()
                write_course_config(plan.out / NBGRADER, ROOT, plan.db_url, plan.dates_file)

            results = _grade(plan, options, judges, begin, writer.record)
    except GradebookError as error:
        return flag_unrecorded(plan, results, error.refused), what_was_refused(error)
    return flag_unrecorded(plan, results, {}), ""


def gradebook_writer(plan: Plan) -> "GradebookWriter":
    """Return the writer of nbgrader's gradebook; it writes nothing before its first result."""
    from autograder.gradebook.writer import GradebookWriter

    with told_in_one_line(HomeworkError):
        return GradebookWriter(
            plan.submissions, plan.homework,
            course_folder=plan.out / NBGRADER, db_url=plan.db_url,
            dates=plan.dates, lateness=lateness_in(plan.kept, plan.dates),
        )  # fmt: skip


def what_was_refused(error: "GradebookError") -> str:
    """Return what nbgrader refused, in a line."""
    return one_line(without_sql(str(error)).strip().rpartition("\n")[2], 1000)


def _grade(
    plan: Plan,
    options: "GradingOptions",
    judges: "JudgePool",
    begin: Callable[[], None],
    record: Callable[[SubmissionResult], None],
) -> list[SubmissionResult]:
    from autograder.class_run.cluster import ClusterError
    from autograder.class_run.run import grade_class
    from autograder.class_run.submissions import SubmissionsError

    with (
        # OSError: a disk that is full, say
        told_in_one_line(HomeworkError, SandboxError, SubmissionsError, ClusterError, OSError),
        StepProgress("Grading") as progress,
    ):

        def on_start(count: int) -> None:
            begin()
            progress.begin(count)

        def on_result(result: SubmissionResult) -> None:
            record(result)
            progress.advance(result.student)

        results = grade_class(
            plan.homework,
            plan.submissions,
            options,
            root=ROOT,
            judges=judges,
            store=plan.store,
            on_start=on_start,
            on_result=on_result,
        )
    with told_in_one_line(HomeworkError, OSError):
        return keep_all(plan, results)


def keep_all(plan: Plan, results: Sequence[SubmissionResult]) -> list[SubmissionResult]:
    """Keep the class as it is now, with what is noticed only when all of it is there."""
    if left := plan.store.set_aside(result.student for result in results):
        words = f"Not among the submissions any more, set aside in {plan.store.left}: "
        output().print(words + listed(left), soft_wrap=True)
    for result in results:
        if result.error:  # kept for the report, yet graded again by the next run
            plan.store.keep_ungraded(result)
    if len(results) < 2:  # nobody to be compared with
        return list(results)
    from autograder.class_run.similarity import flag_similar

    released = released_notebook(plan.homework_id)
    flagged = flag_similar(results, plan.submissions, plan.homework, released)
    return _amended(plan, flagged, results)


def flag_unrecorded(
    plan: Plan, results: Sequence[SubmissionResult], refused: Mapping[str, str]
) -> list[SubmissionResult]:
    """Flag the results that are not in nbgrader's gradebook, for the report."""
    flagged = []
    for result in results:
        flags = [flag for flag in result.flags if flag.kind is not FlagKind.UNRECORDED]
        if reason := refused.get(result.student):
            text = f"not recorded: {one_line(without_sql(reason), 300)}"
            flags.append(Flag(kind=FlagKind.UNRECORDED, text=text))
        flagged.append(replace(result, flags=tuple(flags)))
    with told_in_one_line(OSError):
        return _amended(plan, flagged, results)


def _amended(
    plan: Plan, results: Sequence[SubmissionResult], before: Sequence[SubmissionResult]
) -> list[SubmissionResult]:
    """Keep results that are other than before, for ``report``, which reads what is kept."""
    for result, was in zip(results, before, strict=True):
        if result != was:
            plan.store.amend(result)
    return list(results)
