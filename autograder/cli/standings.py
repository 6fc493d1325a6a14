"""What all commands take for a submission's mark: results joined with what stands beside them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

import typer

from autograder.class_folders import COURSE_TABLE, NBGRADER
from autograder.clean_text import one_line
from autograder.cli.bad_input import BadInputError
from autograder.cli.project import ROOT
from autograder.cli.stored_results import KeptResults
from autograder.cli.terminal import listed
from autograder.homework_source.homework import all_homeworks
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Lateness, Standing, stand, unequal_teams
from autograder.reports.status_words import format_points
from autograder.term.dates import Dates
from autograder.term.totals import Term, terms_of


def standings_of(
    results: Sequence[SubmissionResult], kept: KeptResults, db_url: str, dates: Dates
) -> list[Standing]:
    """Join results with what was given by hand, and with the course's dates."""
    if not results:
        return []
    homework = results[0].homework
    extended = {student for student, until in dates.extensions.items() if homework in until}
    if nobody := sorted(extended - {result.student for result in results}):
        words = f"dates.toml grants extensions to students without a submission: {listed(nobody)}"
        typer.echo(f"Warning: {words}", err=True)
    return _join(results, kept, db_url, dates)


def _join(
    results: Sequence[SubmissionResult], kept: KeptResults, db_url: str, dates: Dates
) -> list[Standing]:
    from autograder.gradebook.database import DatabaseError
    from autograder.gradebook.hand_grades import read_hand_grades

    try:
        given = read_hand_grades(results[0].homework, kept.out / NBGRADER, db_url)
    except DatabaseError as error:
        raise BadInputError(str(error)) from error
    late = lateness_in(kept, dates)
    return [stand(result, given.get(result.student), late(result)) for result in results]


def tell_unequal_teams(standings: Sequence[Standing]) -> bool:
    """Name on stderr the teams whose members have other points by hand than one another."""
    teams = unequal_teams(standings)
    for team in teams:
        points = [f"{one_line(s.student, 80)} {format_points(s.result.score)}" for s in team]
        words = f"One notebook, handed in together, and other points by hand: {', '.join(points)}"
        typer.echo(words, err=True)
    return bool(teams)


def terms_so_far(
    standings: Sequence[Standing],
    homework_id: str,
    kept: KeptResults,
    db_url: str,
    dates: Dates,
    *,
    students: Collection[str] | None = None,
) -> dict[str, Term]:
    """Put every student's homeworks together, all that are kept."""
    everything = list(standings)
    for homework in all_homeworks(ROOT):
        if homework != homework_id:
            results = kept.of(homework, students)
            everything += _join(results, kept, db_url, dates) if results else []
    if students is None:
        _tell_what_is_left_out(everything, kept, dates)
    graded = None if students is None else kept.homeworks()
    return terms_of(everything, dates, graded, is_unread=kept.is_unread)


def _tell_what_is_left_out(everything: Sequence[Standing], kept: KeptResults, dates: Dates) -> None:
    known = {standing.student for standing in everything}
    if nobody := sorted(dates.excused.keys() - known):
        words = f"dates.toml excuses students of whom nothing is graded: {listed(nobody)}"
        typer.echo(f"Warning: {words}", err=True)
    if strangers := kept.strangers():
        words = f"no homework of this project: {listed(strangers)}"
        typer.echo(f"Warning: {COURSE_TABLE} leaves out results of {words}", err=True)


def lateness_in(kept: KeptResults, dates: Dates) -> Callable[[SubmissionResult], Lateness]:
    """Return what says how late a submission is, by what is kept of the student's others."""
    others: dict[str, list[SubmissionResult]] = defaultdict(list)
    if dates.grace_days:  # only they depend on other homeworks
        for homework in dates.due:
            for result in kept.of(homework):
                others[result.student].append(result)
    return lambda result: dates.lateness(result, others[result.student])
