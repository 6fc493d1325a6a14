"""python -m autograder feedback, report: write pages again from the stored results."""

from pathlib import Path
from typing import Annotated

import typer

from autograder.class_folders import FEEDBACK, GRADES, REPORT
from autograder.cli.class_results import ClassResults, tell_unequal_teams
from autograder.cli.errors import alone_in, told_in_one_line, writing
from autograder.cli.options import BookUrl, DatabaseUrl, DatesFile, Graded, HomeworkName, check_book
from autograder.cli.terminal import StepProgress, output
from autograder.files import staging
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
    """Write every feedback page again, from the results that grading kept.

    Exit code 1 says that one of them can't be read.
    """
    with alone_in(out), told_in_one_line(HomeworkError):
        check_book(book_url)
        kept = ClassResults.opened(out, db, dates)
        results, graded = kept.graded(homework)
        standings = kept.standings(results)
        with writing(out), staging(out) as stage, StepProgress("Writing") as progress:
            progress.begin(len(results))
            write_feedback(standings, graded, stage, book_url=book_url, on_page=progress.advance)
            terms = kept.terms(standings, graded.id)
            write_course(terms, stage)
            write_indexes(terms, stage)
    output().print(f"{len(results)} pages in {out / FEEDBACK}", soft_wrap=True)
    if kept.tell_unread():
        raise typer.Exit(1)


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
    """Write report.html, grades.csv and the table of the course again, from the stored results.

    Points given by hand count; with --compare the report shows another class beside this one. Exit
    code 1 says that a result can't be read, or that members of a team have different points.
    """
    with alone_in(out), told_in_one_line(HomeworkError):
        kept = ClassResults.opened(out, db, dates)
        results, graded = kept.graded(homework)
        standings = kept.standings(results)
        terms = kept.terms(standings, graded.id)
        last_year = ClassResults(compare or out)
        before = last_year.graded(homework)[0] if compare else []
        with writing(out), staging_report(out) as stage:
            write_course(terms, stage)
            write_grades(standings, stage / GRADES)
            write_report(standings, graded, stage, out=out, before=before)
    output().print(f"{out / REPORT}\n{out / GRADES}", soft_wrap=True)
    if any((tell_unequal_teams(standings), kept.tell_unread(), last_year.tell_unread())):
        raise typer.Exit(1)
