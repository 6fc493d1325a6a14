"""python -m autograder grade."""

from typing import Annotated

import typer

from autograder.cli.grading import (
    grade_and_record,
    make_cluster,
    make_options,
    make_plan,
    tell_where,
    write_everything,
)
from autograder.cli.one_at_a_time import alone_in
from autograder.cli.options import (
    BookUrl,
    DatabaseUrl,
    Device,
    DeviceChoice,
    HomeworkName,
    Out,
    SandboxChoice,
    Scheduler,
    Submissions,
    TimeLimit,
    TlsCa,
    TlsCert,
    TlsKey,
    Workers,
)
from autograder.cli.terminal import output, print_grades


def grade(
    homework: HomeworkName,
    submissions: Submissions,
    out: Out,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    sandbox: SandboxChoice = True,
    device: DeviceChoice = Device.CPU,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Draws the hidden inputs. Grades everything again, as --force does.",
            show_default="anew for each submission",
        ),
    ] = None,
    scheduler: Scheduler = "",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force/--only-missing",
            help="Grade again what an earlier run into --out has graded: under another limit, say.",
        ),
    ] = False,
    db: DatabaseUrl = "",
    book_url: BookUrl = "",
) -> None:
    """Grade a class and write what comes of it.

    Args:
        homework: Its number, such as ``hw03``, or its id.
        submissions: Folder laid out as nbgrader's.
        out: Folder for grades.csv, report.html, marks.log, feedback and nbgrader's course.
        workers: Submissions at a time; as many as cores if None.
        time_limit: Seconds that one check or one cell may take; as configured if None.
        sandbox: False runs students' code without protection.
        device: Where the layers run.
        seed: Draws the hidden inputs, and everything is graded again; a fresh one for each
            submission if None.
        scheduler: Address of a running Dask scheduler; empty grades on this machine.
        tls_ca: Certificate of the authority, for a ``tls://`` scheduler.
        tls_cert: This client's certificate, likewise.
        tls_key: Its key, likewise.
        force: Grade again also what an earlier run into ``out`` has graded.
        db: The gradebook's database; a file in ``out`` if empty and nbgrader_config.py names none.
        book_url: Address of the folder with the book's chapters; without it they are only named.

    Raises:
        Exit: With code 2, if an argument can't be used, and nothing is written then; with code
            1, if nbgrader refused to record a grade, or somebody's grading was interrupted.
    """
    plan = make_plan(homework, submissions, out, db=db, book_url=book_url)
    options = make_options(
        make_cluster(scheduler, workers, tls_ca, tls_cert, tls_key),
        time_limit=time_limit, sandbox=sandbox, device=device, seed=seed, force=force,
    )  # fmt: skip
    with alone_in(plan.out):
        results, refused = grade_and_record(plan, options)
        write_everything(plan, results)
    print_grades(results, output())
    tell_where(plan, results, refused)
