"""python -m autograder export."""

import enum
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.class_results import ClassResults, tell_unequal_teams
from autograder.cli.errors import BadInputError, told_in_one_line, writing
from autograder.cli.options import (
    BookUrl,
    DatabaseUrl,
    DatesFile,
    Graded,
    HomeworkName,
    RosterFile,
    check_book,
)
from autograder.cli.terminal import listed, output
from autograder.collecting.moodle import MoodlePeople, maximum_grade, read_worksheet
from autograder.collecting.roster import Roster, TableError, read_roster
from autograder.exports.canvas import canvas_csv, canvas_feedback, canvas_mark, feedback_in_words
from autograder.exports.gradescope import gradescope_results
from autograder.exports.mark import Mark, SharedIdError, comment_of, guess_lms_id, refuse_shared_ids
from autograder.exports.moodle import moodle_csv, moodle_feedback
from autograder.files import staging, write_atomically
from autograder.homework_source.homework import HomeworkError
from autograder.marks.standing import Standing
from autograder.reports.feedback import render_feedback
from autograder.reports.status_words import format_points


class Target(enum.StrEnum):
    """The systems that points can be exported to."""

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
            help="For Moodle: its grading worksheet of this assignment, which has each student's "
            "number."
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
    """Write the points in the form that another system reads.

    Points given by hand count, and lateness is deducted; with --feedback also what students are
    told is written. Exit code 1 says that some points are still to be given, or were given to some
    of a team, or that somebody is left out: without an id there, because grading was interrupted,
    or because a result can't be read.
    """
    with told_in_one_line(HomeworkError, SharedIdError, TableError):
        check_book(book_url)
        _check(to, file, column, worksheet, feedback)
        kept = ClassResults.opened(out, db, dates)
        results, graded = kept.graded(homework)
        people = read_roster(roster) if roster else Roster()
        standings = kept.standings([result for result in results if not result.interrupted])
        marks = [_mark(standing, people) for standing in standings]
        maximum = None
        if to is Target.CANVAS:
            marks = [canvas_mark(mark) for mark in marks]
        if worksheet:
            participants = read_worksheet(worksheet, kept.dates.zone).values()
            maximum = maximum_grade(participants)
            moodle = MoodlePeople(participants, people)
            marks = [_moodle_mark(mark, moodle) for mark in marks]
        known = marks if to is Target.GRADESCOPE else [mark for mark in marks if mark.lms_id]
        with writing(file):
            if to is Target.GRADESCOPE:
                _write_results(standings, file)
            else:
                refuse_shared_ids(known)
                _write(file, moodle_csv(known, maximum) if worksheet else canvas_csv(known, column))
            if feedback:
                found = {standing.student: standing for standing in standings}
                if to is Target.CANVAS:
                    texts = {m.student: feedback_in_words(found[m.student]) for m in known}
                    _write(feedback, canvas_feedback(known, texts))
                else:
                    pages = {
                        mark.student: render_feedback(
                            found[mark.student], graded, book_url=book_url, alone=True
                        ).encode()
                        for mark in known
                    }
                    _write(feedback, moodle_feedback(known, pages, f"{graded.id}.html"))
    if worksheet and marks:
        _tell_maximum(maximum, max(mark.max_score for mark in marks))
    count = len(known)
    output().print(f"{file}: {count} {'student' if count == 1 else 'students'}", soft_wrap=True)
    by = "--worksheet and --roster tell" if worksheet else "--roster tells"
    left_out = {
        f"no id there is known ({by} it)": [m.student for m in marks if m not in known],
        "grading was interrupted (grade again)": [r.student for r in results if r.interrupted],
    }
    unread = kept.tell_unread()
    for reason, students in left_out.items():
        if students:
            typer.echo(f"Left out, for {reason}: {listed(students)}", err=True)
    if waiting := sum(standing.waiting for standing in standings):
        typer.echo(f"{waiting} submissions still wait to be graded by hand", err=True)
    if tell_unequal_teams(standings) or any(left_out.values()) or waiting or unread:
        raise typer.Exit(1)


def _check(
    to: Target, file: Path, column: str, worksheet: Path | None, feedback: Path | None
) -> None:
    """Reject the options if a system needs one that is missing, or does not use a given one."""
    if to is Target.CANVAS and not column:
        raise BadInputError(
            "--column is missing: what does Canvas call the assignment? It is the heading of a "
            "column in the grades that Canvas exports, such as 'Homework 3 (98765)'"
        )
    if to is Target.GRADESCOPE and feedback:
        raise BadInputError("--feedback: what --file holds for Gradescope is the feedback")
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


def _moodle_mark(mark: Mark, moodle: MoodlePeople) -> Mark:
    participant = moodle.find(mark.student)
    number, name = (participant.number, participant.name) if participant else ("", "")
    return replace(mark, lms_id=number, name=name)


def _write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, content)


def _write_results(standings: Sequence[Standing], folder: Path) -> None:
    with staging(folder) as stage:
        for standing in standings:
            path = stage / standing.student / "results.json"
            path.parent.mkdir()
            made = gradescope_results(standing)
            write_atomically(path, json.dumps(made, indent=2, ensure_ascii=False))


def _tell_maximum(moodles: float | None, ours: float) -> None:
    if moodles is None:
        words = f"the worksheet tells no maximum: see that Moodle's is {format_points(ours)} points"
    elif moodles != ours:
        words = f"scaled from {format_points(ours)} points to {format_points(moodles)}, Moodle's"
    else:
        return
    output().print(f"Points: {words}")
