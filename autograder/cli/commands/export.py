"""python -m autograder export."""

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from autograder.atomic_write import staging, write_atomically
from autograder.class_folders import NBGRADER
from autograder.cli.bad_input import BadInputError, not_written, told_in_one_line
from autograder.cli.options import (
    BookUrl,
    DatabaseUrl,
    DatesFile,
    Graded,
    HomeworkName,
    RosterFile,
)
from autograder.cli.plan import usable_book_url, usable_dates, usable_gradebook
from autograder.cli.standings import standings_of, tell_unequal_teams
from autograder.cli.stored_results import KeptResults, stored_results
from autograder.cli.terminal import listed, output
from autograder.collecting.moodle import MoodlePeople, maximum_grade, read_worksheet
from autograder.collecting.roster import Roster, TableError, read_roster
from autograder.homework_source.homework import Homework, HomeworkError
from autograder.marks.standing import Standing
from autograder.reports.exports import (
    Mark,
    SharedIdError,
    canvas_csv,
    canvas_feedback,
    canvas_mark,
    comment_of,
    feedback_in_words,
    gradescope_results,
    guess_lms_id,
    moodle_csv,
    moodle_feedback,
    refuse_shared_ids,
)
from autograder.reports.feedback import render_feedback
from autograder.reports.status_words import format_points


class Target(enum.StrEnum):
    """The systems that points can be written for."""

    CANVAS = "canvas"
    MOODLE = "moodle"
    GRADESCOPE = "gradescope"


def export(
    homework: HomeworkName,
    out: Graded,
    to: Annotated[Target, typer.Option(help="The system that is to read it.")],
    file: Annotated[
        Path,
        typer.Option(help="What to write: a CSV; for Gradescope a folder, a results.json each."),
    ],
    roster: RosterFile = None,
    worksheet: Annotated[
        Path | None,
        typer.Option(
            help="For Moodle: its grading worksheet of this assignment, which says who has which "
            "number in it."
        ),
    ] = None,
    column: Annotated[
        str,
        typer.Option(help="For Canvas: the assignment, as Canvas's export heads its column."),
    ] = "",
    feedback: Annotated[
        Path | None,
        typer.Option(
            help="Also what students are told: for Moodle a zip of feedback files, for Canvas "
            "comments as JSON for its API. Gradescope's results hold it."
        ),
    ] = None,
    book_url: BookUrl = "",
    db: DatabaseUrl = "",
    dates: DatesFile = None,
) -> None:
    """Write the points in the form that another system reads."""
    with told_in_one_line(HomeworkError, SharedIdError, TableError):
        usable_book_url(book_url)
        _check_worksheet(to, worksheet, file)
        if to is Target.CANVAS and not column:
            raise BadInputError(
                "--column is missing: what does Canvas call the assignment? It is the heading of a "
                "column in the grades that Canvas exports, such as 'Homework 3 (98765)'"
            )
        if to is Target.GRADESCOPE and feedback:
            raise BadInputError("--feedback: what --file holds for Gradescope is the feedback")
        kept = KeptResults(out)
        results, graded = stored_results(homework, kept)
        people = read_roster(roster) if roster else Roster()
        interrupted = [result.student for result in results if result.interrupted]
        results = [result for result in results if not result.interrupted]  # 0 is no mark of theirs
        terms = usable_dates(dates)
        gradebook = usable_gradebook(db, out / NBGRADER, is_read=True)
        standings = standings_of(results, kept, gradebook, terms)
        maximum = None
        if worksheet:
            told = read_worksheet(worksheet, terms.zone)
            maximum = maximum_grade(told.values())
            moodle = MoodlePeople(told.values(), people)
            marks = [_moodle_mark(standing, people, moodle) for standing in standings]
        else:
            marks = [_mark(standing, people) for standing in standings]
        if to is Target.CANVAS:
            marks = [canvas_mark(mark) for mark in marks]
        try:
            if to is Target.GRADESCOPE:
                _write_results(standings, file)
            else:
                known = [mark for mark in marks if mark.lms_id]
                refuse_shared_ids(known)
                text = moodle_csv(known, maximum) if worksheet else canvas_csv(known, column)
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(file, text)
                if feedback:
                    said = _feedback(to, standings, known, graded, book_url)
                    feedback.parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(feedback, said)
        except OSError as error:
            raise not_written(file, error) from error
    if worksheet and marks:
        _tell_maximum(maximum, max(mark.max_score for mark in marks))
    unknown = [m.student for m in marks if not m.lms_id and to is not Target.GRADESCOPE]
    waiting = sum(standing.waiting for standing in standings)
    by = "--worksheet and --roster tell" if worksheet else "--roster tells"
    left_out = {
        f"no id there is known ({by} it)": unknown,
        "grading was interrupted (grade again)": interrupted,
    }
    unread = kept.tell_unread()
    is_left = _tell(file, len(marks) - len(unknown), left_out, waiting)
    if tell_unequal_teams(standings) or is_left or unread:
        raise typer.Exit(1)


def _tell_maximum(moodles: float | None, ours: float) -> None:
    if moodles is None:
        words = f"the worksheet tells no maximum: see that Moodle's is {format_points(ours)} points"
    elif moodles != ours:
        words = f"scaled from {format_points(ours)} points to {format_points(moodles)}, Moodle's"
    else:
        return
    output().print(f"Points: {words}")


def _check_worksheet(to: Target, worksheet: Path | None, file: Path) -> None:
    if to is Target.MOODLE and not worksheet:
        raise BadInputError(
            "--worksheet is missing: which number has each student in this assignment? Switch "
            "Moodle to English, open the assignment's submissions, and choose Download grading "
            "worksheet"
        )
    if worksheet and to is not Target.MOODLE:
        raise BadInputError(f"--worksheet is Moodle's: it says nothing for {to.value}")
    if worksheet and file.resolve() == worksheet.resolve():
        raise BadInputError(f"--file {file} would take the place of --worksheet: name another")


def _feedback(
    to: Target,
    standings: Sequence[Standing],
    marks: Sequence[Mark],
    homework: Homework,
    book_url: str,
) -> bytes | str:
    """Put what students are told in the form that the other system reads."""
    found = {standing.student: standing for standing in standings}
    if to is Target.CANVAS:
        texts = {mark.student: feedback_in_words(found[mark.student]) for mark in marks}
        return canvas_feedback(marks, texts)
    pages = {
        mark.student: render_feedback(
            found[mark.student], homework, book_url=book_url, alone=True
        ).encode()
        for mark in marks
    }
    return moodle_feedback(marks, pages, f"{homework.id}.html")


def _mark(standing: Standing, people: Roster) -> Mark:
    person = people.of(standing.student)
    return Mark(
        student=standing.student,
        score=standing.score,
        max_score=standing.max_score,
        lms_id=person.lms_id if person else guess_lms_id(standing.student),
        name=person.name if person else "",
        section=person.section if person else "",
        comment=comment_of(standing),
    )


def _moodle_mark(standing: Standing, people: Roster, moodle: MoodlePeople) -> Mark:
    participant = moodle.find(standing.student)
    return replace(
        _mark(standing, people),
        lms_id=participant.number if participant else "",
        name=participant.name if participant else "",
    )


def _write_results(standings: Sequence[Standing], folder: Path) -> None:
    with staging(folder) as stage:
        for standing in standings:
            path = stage / standing.student / "results.json"
            path.parent.mkdir()
            made = gradescope_results(standing)
            write_atomically(path, json.dumps(made, indent=2, ensure_ascii=False))


def _tell(file: Path, count: int, left_out: Mapping[str, Sequence[str]], waiting: int) -> bool:
    """Say what was written; and whether something is left to look at, and what."""
    output().print(f"{file}: {count} {'student' if count == 1 else 'students'}", soft_wrap=True)
    for reason, students in left_out.items():
        if students:
            typer.echo(f"Left out, for {reason}: {listed(students)}", err=True)
    if waiting:
        typer.echo(f"{waiting} submissions still wait to be graded by hand", err=True)
    return bool(waiting) or any(left_out.values())
