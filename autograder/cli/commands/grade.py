"""python -m autograder grade."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.bad_input import BadInputError, told_in_one_line
from autograder.cli.grading import begin_judges, grade_and_record, telling_what_is_kept
from autograder.cli.one_at_a_time import alone_in
from autograder.cli.options import (
    BookUrl,
    DatabaseUrl,
    DatesFile,
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
    TrustedNetwork,
    Workers,
)
from autograder.cli.outputs import tell_where, write_everything
from autograder.cli.plan import Plan, make_options, make_plan
from autograder.cli.terminal import output, print_changes, print_grades
from autograder.cli.watch import watch_and_record
from autograder.homework_source.homework import HomeworkError

if TYPE_CHECKING:
    from autograder.judging.results import SubmissionResult
    from autograder.marks.changes import Change


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
            show_default="drawn for each submission",
        ),
    ] = None,
    scheduler: Scheduler = "",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    trusted_network: TrustedNetwork = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force/--only-missing",
            help="Grade again what an earlier run into --out has graded: under another limit, say.",
        ),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Stay, and grade at once what is handed in or changes, until Ctrl-C: PyTorch, "
            "the sandbox and a judge stay ready.",
        ),
    ] = False,
    db: DatabaseUrl = "",
    book_url: BookUrl = "",
    dates: DatesFile = None,
    due: Annotated[
        str,
        typer.Option(
            help="When it is due, such as 2026-10-12T23:59:00+02:00: written into the dates, where "
            "every command reads it.",
            show_default="what the dates say",
        ),
    ] = "",
) -> None:
    """Grade a class and write what comes of it.

    The arguments are the command's options, described where they are declared.
    """
    if watch and scheduler:
        with told_in_one_line():
            raise BadInputError("--watch grades on this machine: --scheduler does not go with it")
    with contextlib.closing(begin_judges(scheduler, sandbox=sandbox, device=device)) as judges:
        plan = make_plan(homework, submissions, out, db=db, book_url=book_url, dates=dates, due=due)
        options = make_options(
            scheduler=scheduler, workers=workers, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
            trusted_network=trusted_network,
            time_limit=time_limit, sandbox=sandbox, device=device, seed=seed, force=force,
        )  # fmt: skip
        with alone_in(plan.out), telling_what_is_kept(plan):
            before, made_from = plan.kept.of(plan.homework_id), plan.store.fingerprints()
            if not options.force:
                _refuse_a_file_without_their_tests(plan, before)
            if earlier := plan.store.find_copy():
                # A regrade was ended, and has not told what it changed.
                before, made_from = earlier.read_all(), earlier.fingerprints()
            do = watch_and_record if watch else grade_and_record
            results, refused = do(plan, options, judges)
            again = _graded_again(made_from, plan.store.fingerprints())
            changes = _compared(before, results, again) if again else None
            standings = write_everything(plan, results, changes)
            if earlier and not any(result.interrupted for result in results):
                earlier.remove()  # all is told; the next regrade is another
    print_grades(standings, output())
    if changes is not None:
        words = "Its tests, its solution or the library are others than when these were graded:"
        output().print(f"\n{words} {len(again)} were graded again, as regrade does.")
        print_changes(changes, len(again), output())
    tell_where(plan, results, refused)


def _refuse_a_file_without_their_tests(plan: Plan, before: Sequence["SubmissionResult"]) -> None:
    """Refuse to take all marks away: a file with none of the tests is another, or not whole."""
    with told_in_one_line(HomeworkError):
        tests = {cell.grade_id for cell in plan.homework.checks}
        graded_by = {check.check for result in before for check in result.checks}
        if graded_by and not graded_by & tests:
            raise BadInputError(
                f"none of the tests that this class was graded with is in solutions/"
                f"{plan.homework_id}.py any more: is it the right file? If so, say --force"
            )


def _graded_again(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return whose notebook is the same, and was graded again all the same."""
    from autograder.class_run.result_store import made_by_other_tests

    both = before.keys() & after.keys()
    return {student for student in both if made_by_other_tests(before[student], after[student])}


def _compared(
    before: Sequence["SubmissionResult"], after: Sequence["SubmissionResult"], whose: set[str]
) -> list["Change"]:
    """Return which of their marks changed."""
    from autograder.marks.changes import compare

    return compare(
        [result for result in before if result.student in whose],
        [result for result in after if result.student in whose],
    )
