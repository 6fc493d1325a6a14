"""python -m autograder forget: remove a person from everything that grading wrote."""

import csv
import dataclasses
import glob
import io
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from autograder.class_folders import (
    AUTOGRADED,
    CHANGES,
    COURSE_PAGE,
    COURSE_TABLE,
    FEEDBACK,
    GRADES,
    LOG,
    REPORT,
    RESULTS,
    SIMILAR,
    SUBMITTED,
    TEAMS,
    course_folder,
)
from autograder.class_run.result_store import ResultStore, result_file
from autograder.clean_text import distinct_line, one_line
from autograder.cli.errors import BadInputError, alone_in, told_in_one_line
from autograder.cli.options import DatabaseUrl, Graded, usable_gradebook
from autograder.cli.terminal import output
from autograder.files import write_atomically
from autograder.judging.results import Flag, FlagKind
from autograder.reports.csv_text import inert
from autograder.teams import read_all_teams, teams_text
from course_lib.atomic_write import UNFINISHED

_ID = "student_id"  # as nbgrader export calls the column
_PAGES = (REPORT, COURSE_PAGE, SIMILAR)  # about the whole class


def forget(
    student: Annotated[str, typer.Argument(help="The student's id, as in grades.csv.")],
    out: Graded,
    submissions: Annotated[
        Path | None,
        typer.Option(help="The folder of the class, to remove the student's there too."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    db: DatabaseUrl = "",
) -> None:
    """Remove a person from everything that grading wrote.

    That is results, feedback, the gradebook's rows, notebooks, lines of marks.log and of the
    tables. It is listed first, and removed after a question. Exit code 1 says that the answer was
    no, or that a file can't be read that may name the person.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from autograder.gradebook.rows import count_rows, remove_rows

    with told_in_one_line():
        if student in ("", ".", "..") or "/" in student or "\0" in student:
            raise BadInputError(f"{student!r} is no student's id")
        if not out.is_dir():
            raise BadInputError(f"there is no folder {out}")
        course = course_folder(out)
        db_url = usable_gradebook(db, course)
    with alone_in(out), told_in_one_line(SQLAlchemyError):
        places = _places(student, out, course)
        if submissions and (submissions / student).exists():
            places.append(submissions / student)
        rows = count_rows(student, course, db_url)
        shared = [out / name for name in (GRADES, CHANGES, COURSE_TABLE)]
        shared += sorted({out / LOG, course / LOG})  # the second is of nbgrader autograde
        shared += [submissions / TEAMS] if submissions else []
        lines = [p for p in shared if p.exists() and _without(student, p) != _text(p)]
        if not places and not rows and not lines:
            raise BadInputError(f"nothing in {out} is known of {student!r}")
        _tell(places, rows, lines)
        if not yes and not typer.confirm(
            f"Remove all of this of {one_line(student, 80)}, for ever?"
        ):
            raise typer.Exit(1)
        try:
            # In this order the same command, run again, finds the remains of an interrupted run.
            if rows:
                remove_rows(student, course, db_url)
            unread = _forget_likeness(student, out)
            for path in lines:
                write_atomically(path, _without(student, path))
            _remove(places, out)
        except OSError as error:
            raise BadInputError(f"not all is removed, run it again: {error}") from error
    for path in unread:
        words = f"{one_line(str(path), 4000)} can't be read: see whether it is about the student"
        typer.echo(f"Error: {words}, and remove it then", err=True)
    output().print(
        "Removed here. Platforms, backups, your downloads, class lists and dates.toml may\n"
        "still hold data of the student: remove it there yourself.\n"
        "Pages about the class are gone: python -m autograder report writes one again."
    )
    if unread:
        raise typer.Exit(1)


def _places(student: str, out: Path, course: Path) -> list[Path]:
    """Return the existing files and folders of a student, in the folders ``out`` and ``course``.

    If there are any, the pages about the whole class are added, because they name the student.
    """
    name = glob.escape(result_file(student))
    own = [
        *out.glob(f"{RESULTS}/*/{name}"),
        *out.glob(f"{RESULTS}/*/left/{name}"),
        out / FEEDBACK / student,
        *(course / step / student for step in (SUBMITTED, AUTOGRADED, FEEDBACK)),
    ]
    found = sorted({path for path in own if path.exists()})
    return [*found, *(out / page for page in _PAGES if found and (out / page).exists())]


def _tell(places: list[Path], rows: int, lines: list[Path]) -> None:
    console = output()
    for path in places:
        console.print(f"  {one_line(str(path), 4000)}", soft_wrap=True)
    for path in lines:
        console.print(f"  lines in {path}", soft_wrap=True)
    if rows:
        console.print(f"  rows of {rows - 1} submissions in the gradebook")


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="backslashreplace")


def _without(student: str, path: Path) -> str:
    """Return the text of a log, a table or the file of teams without a student's lines."""
    text = _text(path)
    if path.name == TEAMS:
        teams = read_all_teams(path.parent)
        known = [of for of in teams.values() if of.pop(student, None) is not None]
        return teams_text(teams) if known else text
    if path.name == LOG:
        logged = text.splitlines(keepends=True)
        kept = (x for x in logged if x.split("\t")[1:2] != [distinct_line(student)])
        alike = rf"flag, {FlagKind.SIMILAR}: [^;\t\n]*"  # flags of others may name the student
        return re.sub(alike, lambda f: _name(student).sub("(removed)", f[0]), "".join(kept))
    made = io.StringIO()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    place = rows[0].index(_ID) if rows and _ID in rows[0] else 0
    others = (row for row in rows if row[place : place + 1] != [inert(student)])
    csv.writer(made, lineterminator="\n").writerows(others)
    return made.getvalue()


def _forget_likeness(student: str, out: Path) -> list[Path]:
    """Remove the flags that name a student from other students' results.

    Returned are the paths of other students' results that could not be read.
    """
    unread: list[Path] = []
    for folder in (*out.glob("results/*"), *out.glob("results/*/left")):
        store = ResultStore(folder)
        for result in store.read_all(on_unreadable=unread.append):
            flags = tuple(flag for flag in result.flags if not _names_in(flag, student))
            if flags != result.flags and result.student != student:
                store.amend(dataclasses.replace(result, flags=flags))
    return [path for path in unread if path.name != result_file(student)]


def _names_in(flag: Flag, student: str) -> bool:
    likened = flag.kind is FlagKind.SIMILAR and bool(_name(student).search(flag.text))
    return likened or student in flag.students


def _name(student: str) -> re.Pattern[str]:
    """Return a pattern that finds the student's id, but not inside a longer id."""
    return re.compile(rf"(?<![\w.@-]){re.escape(student)}(?![\w@-])")


def _remove(places: list[Path], out: Path) -> None:
    """Remove files and folders: move each into a temporary folder in ``out``, then delete that."""
    gone = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=out))
    for number, path in enumerate(places):
        shutil.move(path, gone / str(number))
    shutil.rmtree(gone)
