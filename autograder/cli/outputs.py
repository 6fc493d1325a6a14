"""What ``grade`` and ``regrade`` write at their end, and what they say about it."""

from collections import Counter
from collections.abc import Sequence

import typer

from autograder.class_folders import (
    FEEDBACK,
    GRADEBOOK,
    GRADES,
    LOG,
    NBGRADER,
    REPORT,
    submitted_in,
)
from autograder.clean_text import one_line
from autograder.cli.bad_input import not_written, told_in_one_line
from autograder.cli.plan import Plan
from autograder.cli.project import ROOT
from autograder.cli.standings import standings_of, terms_so_far
from autograder.cli.terminal import listed, output
from autograder.homework_source.book_links import with_headings
from autograder.judging.results import FlagKind, SubmissionResult
from autograder.marks.changes import Change
from autograder.marks.standing import Standing
from autograder.reports.class_outputs import staging_report, write_outputs
from autograder.term.pages import write_course, write_indexes

_MOST_CAUSES = 3  # that are told


def write_everything(
    plan: Plan,
    results: Sequence[SubmissionResult],
    changes: Sequence[Change] | None = None,
    *,
    pages_of: Sequence[SubmissionResult] | None = None,
) -> list[Standing]:
    """Write feedback, report, grades and log: all of them, or none."""
    graded = with_headings(plan.homework, ROOT)
    with told_in_one_line():
        standings = standings_of(results, plan.kept, plan.db_url, plan.dates)
        fresh = None if pages_of is None else {result.student for result in pages_of}
        pages = [s for s in standings if fresh is None or s.student in fresh]
        try:
            with staging_report(plan.out) as stage:
                write_outputs(
                    standings, graded, stage,
                    changes=changes, book_url=plan.book_url, log_of=plan.out, pages_of=pages,
                    submitted=submitted_in(plan.out),
                )  # fmt: skip
                # While one watches, only what has changed is read and written.
                terms = terms_so_far(
                    pages, plan.homework_id, plan.kept, plan.db_url, plan.dates, students=fresh
                )
                if fresh is None:
                    write_course(terms, stage)
                write_indexes(terms, stage)
        except OSError as error:
            raise not_written(plan.out, error) from error
    return standings


def tell_where(plan: Plan, results: Sequence[SubmissionResult], refused: str) -> None:
    """Say where everything is, and what is missing."""
    console = output()
    console.print("\nWhere to look", style="bold")
    places = {
        "report": plan.out / REPORT,
        "grades": plan.out / GRADES,
        "reasons": plan.out / LOG,
        "feedback": plan.out / FEEDBACK,
    }
    if not refused:
        places["gradebook"] = plan.out / NBGRADER / ("" if plan.db_url else GRADEBOOK)
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
    """Return why gradings were interrupted, the most frequent first, and how often each."""
    texts = Counter(
        one_line(flag.text, 600)
        for result in interrupted
        for flag in result.flags
        if flag.kind is FlagKind.INTERRUPTED
    )
    most = texts.most_common(_MOST_CAUSES)
    more = [f"... and {len(texts) - len(most)} other causes"] if len(texts) > len(most) else []
    return [f"{text} ({count} times)" if count > 1 else text for text, count in most] + more
