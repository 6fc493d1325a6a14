"""python -m autograder grade, regrade.

The class is graded, and each result stored as it comes. Then the gradebook, feedback, report and
tables are written from the results, and the changed marks are shown.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from autograder.class_folders import FEEDBACK, GRADEBOOK, GRADES, LOG, NBGRADER, REPORT
from autograder.class_run.result_store import only_course_differs
from autograder.clean_text import one_line
from autograder.cli.errors import BadInputError, alone_in, told_in_one_line
from autograder.cli.grading import (
    Plan,
    grade_now,
    grading_options,
    keep_all,
    make_plan,
    record,
    write_everything,
)
from autograder.cli.options import GradeSettings, GradingSettings, takes
from autograder.cli.terminal import listed, output, print_changes, print_grades
from autograder.cli.watch import watch_class
from autograder.homework_source.homework import HomeworkError
from autograder.judging.results import FlagKind, SubmissionResult
from autograder.marks.changes import Change, compare

if TYPE_CHECKING:
    from autograder.class_run.options import GradingOptions

_MOST_CAUSES = 3  # of interruptions that are shown


@takes(GradeSettings)
def grade(settings: GradeSettings) -> None:
    """Grade a class and write grades, a report, feedback pages and an nbgrader gradebook.

    Submissions lie as nbgrader collects them: DIR/<student>/<homework>/<homework>.ipynb. Run
    again, it grades only missing ones. Exit code 1 says that nbgrader refused something, or that
    somebody's grading was interrupted.
    """
    if settings.watch and settings.scheduler:
        with told_in_one_line():
            raise BadInputError("--watch grades on this machine: --scheduler does not go with it")
    grade_and_write(settings)


@takes(GradingSettings)
def regrade(settings: GradingSettings) -> None:
    """Grade a graded class again after a test has changed, and show whose marks changed, and why.

    The changes are shown in the terminal, in report.html and in changes.csv. Marks that were given
    by hand stay. A regrade that was killed may be run again: it still compares with the marks from
    before it. Exit code 1 says that nbgrader refused something, or that somebody's grading was
    interrupted.
    """
    grade_and_write(settings, is_regrade=True)


def grade_and_write(settings: GradingSettings, *, is_regrade: bool = False) -> None:
    """Grade a class, and write all outputs from its results."""
    from autograder.class_run.judges import JudgePool

    with contextlib.closing(JudgePool()) as judges:
        if not settings.scheduler:  # it takes seconds; meanwhile the options are checked
            judges.prepare(isolated=settings.sandbox, device=settings.device.value)
        plan = make_plan(settings)
        options = grading_options(settings)
        with alone_in(plan.out), telling_what_is_kept(plan):
            before = _Before.read(plan, is_regrade=is_regrade)
            with told_in_one_line(HomeworkError):
                before.check_tests(plan, options)
                judges.preload(plan.homework)
            if settings.watch:
                results, refused = watch_class(plan, options, judges)
            else:
                on_start = plan.store.keep_copy if is_regrade else lambda: None
                results = grade_now(plan, options, judges, on_start)
                results, refused = record(plan, keep_all(plan, results))
            again = before.graded_again(plan)
            changes = before.changes(results, again)
            standings = write_everything(plan, results, changes)
            if not any(result.interrupted for result in results):  # else the next run compares
                before.remove_copy(plan)
    if is_regrade:
        print_changes(changes or (), len(results), output())
    else:
        print_grades(standings, output())
        if changes is not None:
            words = "Its tests, its solution or the library are others than when these were graded:"
            output().print(f"\n{words} {len(again)} were graded again, as regrade does.")
            print_changes(changes, len(again), output())
    tell_where(plan, results, refused)


@contextlib.contextmanager
def telling_what_is_kept(plan: Plan) -> Iterator[None]:
    """If Ctrl-C ends the block, show how many results are stored, and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        kept = len(plan.store.fingerprints())
        whose = f"the results of {kept} {'student' if kept == 1 else 'students'} are"
        words = f"{whose} kept in {plan.out}; the same command goes on from there"
        typer.echo(f"Ended by Ctrl-C: {words if kept else 'nothing was graded yet'}.", err=True)
        raise typer.Exit(130) from None


@dataclass(frozen=True, kw_only=True)
class _Before:
    """The class's results before this grading, to compare the new ones with.

    A regrade compares all of them; ``grade`` only notebooks that are graded again because the
    tests, the solution or the library have changed.

    Attributes:
        results: The stored results.
        made_from: The fingerprint of each, by student, see ``result_store``.
        is_regrade: Whether the command is ``regrade``.
        has_copy: Whether the results are also in a copy of the store, which a regrade makes.
    """

    results: Sequence[SubmissionResult]
    made_from: Mapping[str, str]
    is_regrade: bool
    has_copy: bool

    @classmethod
    def read(cls, plan: Plan, *, is_regrade: bool) -> "_Before":
        """Return the stored results, or those in the copy that an interrupted regrade has left."""
        results = plan.kept.of(plan.homework_id)
        if is_regrade and not results:
            readable = " that can be read" if plan.kept.unread else ""
            with told_in_one_line():
                raise BadInputError(
                    f"{plan.out} holds no results of {plan.homework_id}{readable}: grade it first"
                )
        copy = plan.store.find_copy()
        return cls(
            results=copy.read_all() if copy else results,
            made_from=(copy or plan.store).fingerprints(),
            is_regrade=is_regrade,
            has_copy=is_regrade or copy is not None,
        )

    def check_tests(self, plan: Plan, options: "GradingOptions") -> None:
        """Raise ``BadInputError`` if none of the stored results' tests is in the homework any more.

        A regrade and ``--force``, given by the ``options``, allow that.
        """
        tests = {cell.grade_id for cell in plan.homework.checks}
        graded_by = {check.check for result in self.results for check in result.checks}
        if graded_by and not graded_by & tests and not (options.force or self.is_regrade):
            raise BadInputError(
                f"none of the tests that this class was graded with is in solutions/"
                f"{plan.homework_id}.py any more: is it the right file? If so, say --force"
            )

    def graded_again(self, plan: Plan) -> set[str]:
        """Return the students whose unchanged notebook was graded again, by a changed course."""
        before, now = self.made_from, plan.store.fingerprints()
        both = before.keys() & now.keys()
        return {name for name in both if only_course_differs(before[name], now[name])}

    def changes(
        self, results: Sequence[SubmissionResult], again: set[str]
    ) -> Sequence[Change] | None:
        """Return the changed marks; None if there is nothing to compare.

        A regrade compares all students, ``grade`` only those in ``again``.
        """
        if self.is_regrade:
            interrupted = {result.student for result in results if result.interrupted}
            found = compare(self.results, results)
            return [change for change in found if change.student not in interrupted]
        if not again:
            return None
        before, now = ([r for r in of if r.student in again] for of in (self.results, results))
        return compare(before, now)

    def remove_copy(self, plan: Plan) -> None:
        """Remove the copy of the result store, if there is one, after the changes were written."""
        if self.has_copy and (copy := plan.store.find_copy()):
            copy.remove()


def tell_where(plan: Plan, results: Sequence[SubmissionResult], refused: str) -> None:
    """List the files written and the results missing; exit with 1 if any are missing.

    ``refused`` is why nbgrader's gradebook lacks some of the results; empty if it has all.
    """
    console = output()
    console.print("\nWhere to look", style="bold")
    places = {
        "report": plan.out / REPORT,
        "grades": plan.out / GRADES,
        "reasons": plan.out / LOG,
        "feedback": plan.out / FEEDBACK,
    }
    if not refused:
        places["gradebook"] = plan.out / NBGRADER / ("" if plan.kept.db_url else GRADEBOOK)
    for name, place in places.items():
        console.print(f"  {name:<11}{place}", soft_wrap=True)
    if refused:
        typer.echo(f"Error: nbgrader's gradebook is not complete: {refused}", err=True)
    interrupted = [result for result in results if result.interrupted]
    if interrupted:
        names = listed([result.student for result in interrupted])
        typer.echo(f"Error: grading was interrupted on the course's side for {names}:", err=True)
        for cause in _causes(interrupted):
            typer.echo(f"  {cause}", err=True)
        typer.echo("See what `doctor` says, then run the same command again.", err=True)
    if plan.kept.tell_unread() or refused or interrupted:
        raise typer.Exit(1)


def _causes(interrupted: Sequence[SubmissionResult]) -> list[str]:
    """Return a line for each cause of interruptions, with its count, the most frequent first."""
    texts = Counter(
        one_line(flag.text, 600)
        for result in interrupted
        for flag in result.flags
        if flag.kind is FlagKind.INTERRUPTED
    )
    most = texts.most_common(_MOST_CAUSES)
    more = [f"... and {len(texts) - len(most)} other causes"] if len(texts) > len(most) else []
    return [f"{text} ({count} times)" if count > 1 else text for text, count in most] + more
