"""python -m autograder grade."""

import enum
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from autograder.atomic_write import staging, write_atomically
from autograder.clean_text import one_line
from autograder.cli.bad_input import ROOT, BadInputError, told_in_one_line
from autograder.feedback import check_book_url, feedback_path, render_feedback
from autograder.grades import write_grades
from autograder.homework import Homework, HomeworkError, read_source_notebook, resolve_homework
from autograder.report import render_report
from autograder.results import SubmissionResult
from autograder.sandbox import SandboxError
from autograder.source import build_source_notebook
from autograder.terminal import StepProgress, output, print_grades


class Device(enum.StrEnum):
    """Where the layers run."""

    CPU = "cpu"
    CUDA = "cuda"


def grade(
    homework: Annotated[str, typer.Argument(help="Its number, hw03, or its whole name.")],
    submissions: Annotated[Path, typer.Option(help="The folder of the class.")],
    out: Annotated[Path, typer.Option(help="Where to write; made if it is not there.")],
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Submissions at a time.", show_default="as many as cores"),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds that one check or cell may take.")
    ] = 30.0,
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox/--no-sandbox",
            help="--no-sandbox runs students' code with your rights. For trusted code alone.",
        ),
    ] = True,
    device: Annotated[Device, typer.Option(help="Where the layers run.")] = Device.CPU,
    seed: Annotated[
        int | None,
        typer.Option(help="Draws the hidden inputs.", show_default="anew for each submission"),
    ] = None,
    scheduler: Annotated[
        str,
        typer.Option(help="A running Dask scheduler, tcp://HOST:PORT or tls://HOST:PORT."),
    ] = "",
    tls_ca: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="For tls://: authority.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="For tls://: certificate.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="For tls://: its key.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option(help="Grade again what an earlier run into --out has graded."),
    ] = False,
    book_url: Annotated[
        str,
        typer.Option(help="Address of the book's chapters, for links in the feedback."),
    ] = "",
) -> None:
    """Grade a class and write what comes of it.

    Args:
        homework: Its number, such as ``hw03``, or its id.
        submissions: Folder laid out as nbgrader's.
        out: Folder for grades.csv, report.html, feedback and nbgrader's course.
        workers: Submissions at a time; as many as cores if None.
        time_limit: Seconds that one check or one cell may take.
        sandbox: False runs students' code without protection.
        device: Where the layers run.
        seed: Draws the hidden inputs; a fresh one for each submission if None.
        scheduler: Address of a running Dask scheduler; empty grades on this machine.
        tls_ca: Certificate of the authority, for a ``tls://`` scheduler.
        tls_cert: This client's certificate, likewise.
        tls_key: Its key, likewise.
        force: Grade again also what an earlier run into ``out`` has graded.
        book_url: Address of the folder with the book's chapters; without it they are only named.

    Raises:
        Exit: With code 2, if an argument can't be used, and nothing is written then; with code
            1, if nbgrader refused to record a grade.
    """
    with told_in_one_line(HomeworkError, SandboxError):
        homework_id = resolve_homework(homework, ROOT)
        _check_arguments(submissions, out, device, book_url)
    from autograder.class_run import SubmissionsError, grade_class
    from autograder.cluster import Cluster, ClusterError
    from autograder.gradebook import GradebookError, record_in_gradebook
    from autograder.judge import TimeLimits
    from autograder.result_store import ResultStore

    with told_in_one_line(ValueError):
        cluster = Cluster(
            scheduler=scheduler,
            workers=workers,
            device=device.value,
            ca_file=tls_ca,
            cert_file=tls_cert,
            key_file=tls_key,
        )
    limits = TimeLimits(
        check_seconds=time_limit,
        submission_seconds=max(time_limit, TimeLimits.submission_seconds),
    )
    with (
        told_in_one_line(HomeworkError, SandboxError, SubmissionsError, ClusterError),
        StepProgress("Grading") as progress,
    ):
        results = grade_class(
            homework_id,
            submissions,
            root=ROOT,
            limits=limits,
            cluster=cluster,
            isolated=sandbox,
            seed=seed,
            store=ResultStore(out / "results" / homework_id),
            force=force or seed is not None,
            on_start=progress.begin,
            on_result=lambda result: progress.advance(result.student),
        )
    with told_in_one_line(HomeworkError):
        graded = read_source_notebook(build_source_notebook(homework_id, ROOT))
        try:
            write_outputs(results, graded, out, book_url=book_url)
        except OSError as error:
            raise BadInputError(f"{out} can't be written: {error}") from error
    course_folder = out / "nbgrader"
    refused = ""
    try:
        with StepProgress("Recording") as progress:
            progress.begin(len(results))
            record_in_gradebook(
                results,
                submissions,
                homework_id,
                root=ROOT,
                course_folder=course_folder,
                on_recorded=progress.advance,
            )
    except GradebookError as error:
        refused = one_line(str(error).strip().rpartition("\n")[2], 1000)
    console = output()
    print_grades(results, console)
    console.print("\nWhere to look", style="bold")
    places = {"report": "report.html", "grades": "grades.csv", "feedback": "feedback"}
    if not refused:
        places["gradebook"] = f"{course_folder.name}/gradebook.db"
    for name, place in places.items():
        console.print(f"  {name:<11}{out / place}", soft_wrap=True)
    if refused:
        typer.echo(f"Error: nbgrader's gradebook is not complete: {refused}", err=True)
        raise typer.Exit(1)


def write_outputs(
    results: Sequence[SubmissionResult], homework: Homework, out: Path, *, book_url: str = ""
) -> None:
    """Write grades, feedback and report: all of them, or none.

    Feedback on other homeworks that is already there stays.

    Args:
        results: The class's results; at least one.
        homework: The homework that was graded.
        out: The folder; made if it is not there.
        book_url: Address of the folder with the book's chapters; may be empty.

    Raises:
        OSError: Something could not be written.
    """
    with staging(out) as stage:
        for result in results:
            page = stage / feedback_path(result)
            page.parent.mkdir(parents=True)
            write_atomically(page, render_feedback(result, homework, book_url=book_url))
        write_grades(results, stage / "grades.csv")
        write_atomically(stage / "report.html", render_report(results, homework))


def _check_arguments(submissions: Path, out: Path, device: Device, book_url: str) -> None:
    """Refuse what can't work, before anything is started or written."""
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
    try:
        check_book_url(book_url)
    except ValueError as error:
        raise BadInputError(f"--book-url: {error}") from error
    if device is Device.CUDA:
        import torch

        if not torch.cuda.device_count():  # unlike is_available, it leaves CUDA alone
            raise BadInputError("--device cuda: this machine has no GPU that torch can use")
