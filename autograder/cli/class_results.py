"""The stored results of a class, joined with hand grades and lateness; all outputs use them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path

import typer

from autograder.class_folders import COURSE_TABLE, NBGRADER, RESULTS
from autograder.class_run.result_store import BEFORE, ResultStore, is_unreadable, result_file
from autograder.clean_text import one_line
from autograder.cli.errors import BadInputError
from autograder.cli.options import ROOT, usable_dates, usable_gradebook
from autograder.cli.terminal import listed
from autograder.homework_source.book_links import with_headings
from autograder.homework_source.homework import Homework, all_homeworks, resolve_homework
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Lateness, Standing, stand, unequal_teams
from autograder.reports.status_words import format_points
from autograder.term.dates import Dates
from autograder.term.totals import Term, terms_of

_MOST_NAMED = 20  # unread files in a message


class ClassResults:
    """The stored results of a class, as one command reads them.

    Args:
        out: The output folder of grading.
        dates: Due dates, and what lateness costs.
        db_url: The gradebook's database; a file in nbgrader's folder if empty.

    Attributes:
        unread: The files that could not be read, in the order of reading.
    """

    def __init__(self, out: Path, dates: Dates | None = None, db_url: str = "") -> None:
        self.out, self.dates, self.db_url = out, dates or Dates(), db_url
        self.unread: dict[Path, None] = {}

    @classmethod
    def opened(cls, out: Path, db: str, dates: Path | None) -> "ClassResults":
        """Return a class's results, after checking the options of a command that reads them."""
        course_dates = usable_dates(dates)
        return cls(out, course_dates, usable_gradebook(db, out / NBGRADER, is_read=True))

    def of(self, homework_id: str, students: Iterable[str] | None = None) -> list[SubmissionResult]:
        """Return the readable results of a homework, or of some students, sorted by student."""
        store = ResultStore(self.out / RESULTS / homework_id)
        return store.read_all(students, on_unreadable=lambda path: self.unread.update({path: None}))

    def graded(self, homework: str) -> tuple[list[SubmissionResult], Homework]:
        """Return a homework's results, of which there is at least one, and the homework.

        Raises:
            BadInputError: There are no readable results.
            HomeworkError: There is no such homework.
        """
        homework_id = resolve_homework(homework, ROOT)
        results = self.of(homework_id)
        if not results:
            readable = " that can be read" if self.unread else ""
            raise BadInputError(
                f"{self.out} holds no results of {homework_id}{readable}: grade it first"
            )
        return results, with_headings(load_homework(homework_id, ROOT), ROOT)

    @cached_property
    def lateness(self) -> Callable[[SubmissionResult], Lateness]:
        """A function that returns how late a submission is; every output with marks uses it."""
        others: dict[str, list[SubmissionResult]] = defaultdict(list)
        if self.dates.grace_days:  # only they depend on a student's other homeworks
            for homework in self.dates.due:
                for result in self.of(homework):
                    others[result.student].append(result)
        return lambda result: self.dates.lateness(result, others[result.student])

    def standings(self, results: Sequence[SubmissionResult]) -> list[Standing]:
        """Return one homework's results joined with hand grades and lateness, in the same order."""
        if not results:
            return []
        homework = results[0].homework
        extended = {name for name, until in self.dates.extensions.items() if homework in until}
        if nobody := sorted(extended - {result.student for result in results}):
            words = "dates.toml grants extensions to students without a submission"
            typer.echo(f"Warning: {words}: {listed(nobody)}", err=True)
        return self._joined(results)

    def _joined(self, results: Sequence[SubmissionResult]) -> list[Standing]:
        from autograder.gradebook.database import DatabaseError
        from autograder.gradebook.hand_grades import read_hand_grades

        try:
            given = read_hand_grades(results[0].homework, self.out / NBGRADER, self.db_url)
        except DatabaseError as error:
            raise BadInputError(str(error)) from error
        return [stand(one, given.get(one.student), self.lateness(one)) for one in results]

    def terms(
        self,
        standings: Sequence[Standing],
        homework_id: str,
        *,
        students: Collection[str] | None = None,
    ) -> dict[str, Term]:
        """Return each student's marks in all homeworks; ``standings`` are those of ``homework_id``.

        With ``students``, only their other results are read, and no warnings are shown.
        """
        everything = list(standings)
        for homework in all_homeworks(ROOT):
            if homework != homework_id and (results := self.of(homework, students)):
                everything += self._joined(results)
        if students is None:
            self._warn_of_left_out(everything)
        graded = None if students is None else self.homeworks()
        return terms_of(everything, self.dates, graded, is_unread=self._is_unread)

    def homeworks(self) -> set[str]:
        """Return the ids of the homeworks with stored results."""
        return self._folders() & set(all_homeworks(ROOT))

    def _folders(self) -> set[str]:
        folders = {path.parent for path in (self.out / RESULTS).glob("*/*.json")}
        return {folder.name for folder in folders if BEFORE not in folder.suffixes}

    def _is_unread(self, student: str, homework_id: str) -> bool:
        return self.out / RESULTS / homework_id / result_file(student) in self.unread

    def _warn_of_left_out(self, everything: Sequence[Standing]) -> None:
        known = {standing.student for standing in everything}
        if nobody := sorted(self.dates.excused.keys() - known):
            words = f"dates.toml excuses students of whom nothing is graded: {listed(nobody)}"
            typer.echo(f"Warning: {words}", err=True)
        if strangers := sorted(self._folders() - set(all_homeworks(ROOT))):
            words = f"no homework of this project: {listed(strangers)}"
            typer.echo(f"Warning: {COURSE_TABLE} leaves out results of {words}", err=True)

    def tell_unread(self) -> bool:
        """Name the result files that could not be read on stderr; return whether there are any."""
        for path in list(self.unread)[:_MOST_NAMED]:
            if is_unreadable(path):
                words = "can't be read, and is left out: grade that homework again"
            elif path.exists():
                words = "could not be read, and is graded again; the earlier result is lost"
            else:
                words = "could not be read, and is set aside"
            typer.echo(f"Error: {one_line(str(path), 4000)} {words}", err=True)
        if len(self.unread) > _MOST_NAMED:
            typer.echo(f"... and {len(self.unread) - _MOST_NAMED} more files", err=True)
        return bool(self.unread)


def tell_unequal_teams(standings: Sequence[Standing]) -> bool:
    """Print teams whose members have different hand grades, on stderr; return if there are any."""
    teams = unequal_teams(standings)
    for team in teams:
        points = [f"{one_line(s.student, 80)} {format_points(s.result.score)}" for s in team]
        words = f"One notebook, handed in together, and other points by hand: {', '.join(points)}"
        typer.echo(words, err=True)
    return bool(teams)
