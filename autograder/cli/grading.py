"""What ``grade`` and ``regrade`` do alike: check the arguments, grade, write, record."""

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autograder.atomic_write import staging
from autograder.class_run.regrade import Change
from autograder.class_run.result_store import ResultStore
from autograder.clean_text import one_line
from autograder.cli.bad_input import BadInputError, told_in_one_line
from autograder.cli.options import Device
from autograder.cli.project import ROOT
from autograder.cli.terminal import StepProgress, listed, output
from autograder.homework_source.book_headings import with_headings
from autograder.homework_source.homework import Homework, HomeworkError, resolve_homework
from autograder.homework_source.nbgrader_settings import SettingsError
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult
from autograder.reports.class_outputs import write_outputs
from autograder.reports.feedback import check_book_url
from autograder.sandbox.zygote import SandboxError

if TYPE_CHECKING:
    from autograder.class_run.cluster import Cluster
    from autograder.class_run.judges import Judges
    from autograder.class_run.options import GradingOptions
    from autograder.gradebook.gradebook import GradebookError, GradebookRecorder


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to grade, and where to write: checked, so that grading can begin.

    Attributes:
        homework_id: Such as ``hw03-self-attention``.
        submissions: The class's folder.
        out: Where to write.
        db_url: The gradebook's database; a file in ``out`` if empty.
        book_url: Address of the folder with the book's chapters; may be empty.
    """

    homework_id: str
    submissions: Path
    out: Path
    db_url: str
    book_url: str

    @cached_property
    def homework(self) -> Homework:
        """The homework, read when it is first asked for."""
        return load_homework(self.homework_id, ROOT)

    @property
    def store(self) -> ResultStore:
        """Where results are kept between runs."""
        return ResultStore(self.out / "results" / self.homework_id)


def make_plan(homework: str, submissions: Path, out: Path, *, db: str, book_url: str) -> Plan:
    """Refuse what can't work, before anything is graded or written.

    Args:
        homework: Its number, such as ``hw03``, or its id.
        submissions: The class's folder.
        out: Where to write.
        db: The gradebook's database; a file in ``out`` if empty and nbgrader_config.py names none.
        book_url: Address of the folder with the book's chapters; may be empty.

    Returns:
        The plan.

    Raises:
        Exit: With code 2, if an argument can't be used.
    """
    with told_in_one_line(HomeworkError):
        homework_id = resolve_homework(homework, ROOT)
        _check_places(submissions, out)
        try:
            check_book_url(book_url)
        except ValueError as error:
            raise BadInputError(f"--book-url: {error}") from error
        db_url = usable_database(db)
    return Plan(
        homework_id=homework_id, submissions=submissions, out=out, db_url=db_url, book_url=book_url
    )


def begin_judges(scheduler: str, *, sandbox: bool, device: Device) -> "Judges":
    """Begin to start what grades on this machine: it takes seconds, in which one can go on.

    Args:
        scheduler: Address of a running Dask scheduler; then nothing is started here.
        sandbox: False runs students' code without protection.
        device: Where the layers run.

    Returns:
        What gives out judges; to be closed.
    """
    from autograder.class_run.judges import Judges

    judges = Judges()
    if not scheduler:
        judges.prepare(isolated=sandbox, device=device.value)
    return judges


def make_cluster(
    scheduler: str,
    workers: int | None,
    ca: Path | None,
    cert: Path | None,
    key: Path | None,
    *,
    trusted_network: bool,
) -> "Cluster":
    """Say where to grade.

    Args:
        scheduler: Address of a running Dask scheduler; empty for this machine.
        workers: How many submissions at a time on this machine; as many as cores if None.
        ca: Certificate of the authority, for a ``tls://`` scheduler.
        cert: This client's certificate, likewise.
        key: Its key, likewise.
        trusted_network: Whether a ``tcp://`` scheduler's network is said to be trusted.

    Returns:
        Where to grade.

    Raises:
        Exit: With code 2, if an argument can't be used.
    """
    from autograder.class_run.cluster import Cluster

    with told_in_one_line(ValueError):
        return Cluster(
            scheduler=scheduler, workers=workers, ca_file=ca, cert_file=cert, key_file=key,
            trusted_network=trusted_network,
        )  # fmt: skip


def make_options(
    cluster: "Cluster",
    *,
    time_limit: float | None,
    sandbox: bool,
    device: Device,
    seed: int | None = None,
    force: bool = False,
) -> "GradingOptions":
    """Put together how to grade: what was asked for, and what nbgrader_config.py says.

    Args:
        cluster: Where to grade.
        time_limit: Seconds that one check or one cell may take; as configured if None.
        sandbox: False runs students' code without protection.
        device: Where the layers run.
        seed: Draws the hidden inputs, and everything is graded again; a fresh one for each
            submission if None.
        force: Grade again also what an earlier run has graded.

    Returns:
        The options.

    Raises:
        Exit: With code 2, if one can't be used, or nbgrader_config.py can't be read.
    """
    from autograder.class_run.options import GradingOptions
    from autograder.gradebook.preprocessor import configured_judge
    from autograder.judging.check_limits import TimeLimits
    from autograder.sandbox.time_limit import PATIENCE

    with told_in_one_line(SettingsError):
        if not cluster.scheduler:  # elsewhere, each worker finds out for itself
            _check_device(device)
        configured = configured_judge(ROOT)
    check_seconds = time_limit or configured.check_seconds
    return GradingOptions(
        limits=TimeLimits(
            check_seconds=check_seconds,
            submission_seconds=max(PATIENCE * check_seconds, configured.submission_seconds),
        ),
        worker_limits=configured.worker_limits,
        isolated=sandbox,
        device=device.value,
        cluster=cluster,
        seed=seed,
        force=force or seed is not None,
    )


def grade_and_record(
    plan: Plan, options: "GradingOptions", judges: "Judges"
) -> tuple[list[SubmissionResult], str]:
    """Grade what is not graded yet, and write results into nbgrader's gradebook as they come.

    Args:
        plan: What to grade, and where to write.
        options: How to grade.
        judges: What grades on this machine.

    Returns:
        One result for each student; and what nbgrader refused, in a line, empty if nothing.

    Raises:
        Exit: With code 2, if grading can't begin.
    """
    from autograder.gradebook.course_config import write_course_config
    from autograder.gradebook.gradebook import GradebookError

    results: list[SubmissionResult] = []
    recorder = make_recorder(plan)
    try:
        with contextlib.ExitStack() as recording:

            def begin() -> None:  # not before grading can begin: nothing is written if it can't
                recording.enter_context(recorder)
                write_course_config(plan.out / "nbgrader", ROOT, plan.db_url)

            results = _grade(plan, options, judges, begin, recorder.record)
    except GradebookError as error:
        return results, what_was_refused(error)
    return results, ""


def make_recorder(plan: Plan) -> "GradebookRecorder":
    """Return what writes into nbgrader's gradebook; nothing is written before it is entered.

    Args:
        plan: The grading.

    Raises:
        Exit: With code 2, if nbgrader can't use the homework.
    """
    from autograder.gradebook.gradebook import GradebookRecorder

    with told_in_one_line(HomeworkError):
        return GradebookRecorder(
            plan.submissions, plan.homework,
            course_folder=plan.out / "nbgrader", db_url=plan.db_url,
        )  # fmt: skip


def what_was_refused(error: "GradebookError") -> str:
    """Return what nbgrader refused, in a line.

    Args:
        error: The end of a recording.
    """
    return one_line(str(error).strip().rpartition("\n")[2], 1000)


def _grade(
    plan: Plan,
    options: "GradingOptions",
    judges: "Judges",
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
    """Keep the class as it is now, with what is noticed only when all of it is there.

    Args:
        plan: The grading.
        results: What it found: one for each student.

    Returns:
        The results, with flags for submissions that are alike.

    Raises:
        HomeworkError: The released notebook can't be read.
        OSError: Something can't be written.
    """
    from autograder.class_run.similarity import flag_similar

    if left := plan.store.set_aside(result.student for result in results):
        words = f"Not among the submissions any more, set aside in {plan.store.left}: "
        output().print(words + listed(left), soft_wrap=True)
    for result in results:
        if result.error:  # kept for the report, yet graded again by the next run
            plan.store.keep(result, made_from="")
    released = ROOT / "assignments" / plan.homework_id / f"{plan.homework_id}.ipynb"
    flagged = flag_similar(results, plan.submissions, plan.homework, released)
    for result, was in zip(flagged, results, strict=True):
        if result != was:  # for ``report``, which reads what is kept
            plan.store.amend(result)
    return flagged


def write_everything(
    plan: Plan,
    results: Sequence[SubmissionResult],
    changes: Sequence[Change] | None = None,
    *,
    pages_of: Sequence[SubmissionResult] | None = None,
) -> None:
    """Write feedback, report, grades and log: all of them, or none.

    Args:
        plan: The grading.
        results: What it found.
        changes: Marks that changed, for the report; None unless this is a regrade.
        pages_of: Those whose feedback is other than before; all of them if None.

    Raises:
        Exit: With code 2, if something can't be written.
    """
    graded = with_headings(plan.homework, ROOT)
    with told_in_one_line():
        try:
            with staging(plan.out) as stage:
                write_outputs(
                    results, graded, stage,
                    changes=changes, book_url=plan.book_url, log_of=plan.out, pages_of=pages_of,
                )  # fmt: skip
        except OSError as error:
            raise BadInputError(f"{plan.out} can't be written: {error}") from error


def tell_where(plan: Plan, results: Sequence[SubmissionResult], refused: str) -> None:
    """Say where everything is, and what is missing.

    Args:
        plan: The grading.
        results: What it found.
        refused: What nbgrader refused; empty if nothing.

    Raises:
        Exit: With code 1, if nbgrader refused something, or somebody's grading was interrupted.
    """
    console = output()
    console.print("\nWhere to look", style="bold")
    places = {
        "report": plan.out / "report.html",
        "grades": plan.out / "grades.csv",
        "reasons": plan.out / "marks.log",
        "feedback": plan.out / "feedback",
    }
    if not refused:
        places["gradebook"] = plan.out / "nbgrader" / ("" if plan.db_url else "gradebook.db")
    for name, place in places.items():
        console.print(f"  {name:<11}{place}", soft_wrap=True)
    if refused:
        typer.echo(f"Error: nbgrader's gradebook is not complete: {refused}", err=True)
    interrupted = [result.student for result in results if result.interrupted]
    if interrupted:
        words = "grading was interrupted on the course's side, run the same command again, for"
        typer.echo(f"Error: {words}: {listed(interrupted)}", err=True)
    if refused or interrupted:
        raise typer.Exit(1)


def usable_database(db: str) -> str:
    """Choose the gradebook's database, and connect to it once.

    Args:
        db: The address asked for; may be empty.

    Returns:
        It, or what nbgrader_config.py names; empty for a file in the course folder.

    Raises:
        BadInputError: The database can't be used, or nbgrader_config.py can't be read.
    """
    from autograder.gradebook.database import DatabaseError, check_database, configured_url

    try:
        db_url = db or configured_url(ROOT)
    except SettingsError as error:
        raise BadInputError(str(error)) from error
    if db_url:
        try:
            check_database(db_url)
        except DatabaseError as error:
            raise BadInputError(f"--db: {error}") from error
    return db_url


def _check_places(submissions: Path, out: Path) -> None:
    if out.resolve().is_relative_to(submissions.resolve()):
        raise BadInputError(f"--out {out} lies in --submissions {submissions}: a student's place")
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise BadInputError(f"--out {out} can't be a folder: {there} is a file")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise BadInputError(f"--out {out} can't be written: {error.strerror}") from error


def _check_device(device: Device) -> None:
    if device is Device.CUDA:
        import torch

        if not torch.cuda.device_count():  # unlike is_available, it leaves CUDA alone
            raise BadInputError("--device cuda: this machine has no GPU that torch can use")
