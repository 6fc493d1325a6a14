"""python -m autograder feedback, report: pages written again from the results that were kept."""

from pathlib import Path
from typing import Annotated

import typer

from autograder.atomic_write import staging
from autograder.class_folders import FEEDBACK, GRADES, NBGRADER, REPORT, submitted_in
from autograder.cli.bad_input import not_written, told_in_one_line
from autograder.cli.one_at_a_time import alone_in
from autograder.cli.options import BookUrl, DatabaseUrl, DatesFile, Graded, HomeworkName
from autograder.cli.plan import usable_book_url, usable_dates, usable_gradebook
from autograder.cli.standings import standings_of, tell_unequal_teams, terms_so_far
from autograder.cli.stored_results import KeptResults, end_if_unread, stored_results
from autograder.cli.terminal import StepProgress, output
from autograder.homework_source.homework import HomeworkError
from autograder.reports.class_outputs import staging_report, write_feedback, write_report
from autograder.reports.grades import write_grades
from autograder.term.pages import write_course, write_indexes


def feedback(
    homework: HomeworkName,
    out: Graded,
    book_url: BookUrl = "",
    db: DatabaseUrl = "",
    dates: DatesFile = None,
) -> None:
    """Write every feedback page again."""
    with alone_in(out), told_in_one_line(HomeworkError):
        kept = KeptResults(out)
        results, graded = stored_results(homework, kept)
        usable_book_url(book_url)
        course_dates = usable_dates(dates)
        db_url = usable_gradebook(db, out / NBGRADER, is_read=True)
        standings = standings_of(results, kept, db_url, course_dates)
        try:
            with staging(out) as stage, StepProgress("Writing") as progress:
                progress.begin(len(results))
                write_feedback(
                    standings, graded, stage, book_url=book_url, on_page=progress.advance
                )
                terms = terms_so_far(standings, graded.id, kept, db_url, course_dates)
                write_course(terms, stage)
                write_indexes(terms, stage)
        except OSError as error:
            raise not_written(out, error) from error
    output().print(f"{len(results)} pages in {out / FEEDBACK}", soft_wrap=True)
    end_if_unread(kept)


def report(
    homework: HomeworkName,
    out: Graded,
    compare: Annotated[
        Path | None,
        typer.Option(help="Where another class was graded into, last year's, to compare with."),
    ] = None,
    db: DatabaseUrl = "",
    dates: DatesFile = None,
) -> None:
    """Write the report and the grades again."""
    with alone_in(out), told_in_one_line(HomeworkError):
        kept = KeptResults(out)
        results, graded = stored_results(homework, kept)
        course_dates = usable_dates(dates)
        db_url = usable_gradebook(db, out / NBGRADER, is_read=True)
        standings = standings_of(results, kept, db_url, course_dates)
        terms = terms_so_far(standings, graded.id, kept, db_url, course_dates)
        last_year = KeptResults(compare or out)
        before = stored_results(homework, last_year)[0] if compare else []
        try:
            with staging_report(out) as stage:
                write_course(terms, stage)
                write_grades(standings, stage / GRADES)
                write_report(standings, graded, stage, submitted=submitted_in(out), before=before)
        except OSError as error:
            raise not_written(out, error) from error
    output().print(f"{out / REPORT}\n{out / GRADES}", soft_wrap=True)
    unequal = tell_unequal_teams(standings)
    end_if_unread(kept, last_year)
    if unequal:
        raise typer.Exit(1)
