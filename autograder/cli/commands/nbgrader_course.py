"""python -m autograder nbgrader-course."""

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.errors import told_in_one_line
from autograder.cli.options import ROOT, DatabaseUrl, DatesFile, usable_database, usable_dates
from autograder.homework_source.homework import HomeworkError, all_homeworks, resolve_homework
from autograder.homework_source.source import load_homework


def nbgrader_course(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; new, or empty.")],
    homework: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to hand out: hw03, or whole names.", show_default="all there are"
        ),
    ] = None,
    course: Annotated[
        str,
        typer.Option(help="The course's name in the exchange.", show_default="the folder's name"),
    ] = "",
    exchange: Annotated[
        Path | None,
        typer.Option(help="Where the exchange is.", show_default="nbgrader's own place"),
    ] = None,
    db: DatabaseUrl = "",
    dates: DatesFile = None,
) -> None:
    """Lay out a course folder for nbgrader's commands and formgrader, with the judge underneath.

    It holds source notebooks, settings and due dates. This project is only read. Exit code 1 says
    that something is missing that handing out, handing in or grading needs.
    """
    with told_in_one_line(HomeworkError):
        homework_ids = [resolve_homework(name, ROOT) for name in homework or all_homeworks(ROOT)]
    from autograder.gradebook.course_folder import (
        CourseFolderError,
        check_course_folder,
        lay_out_course,
        missing_for_course,
    )

    course_id = course or folder.resolve().name
    with told_in_one_line(HomeworkError, CourseFolderError, OSError):
        check_course_folder(folder, course_id)
        lay_out_course(
            folder, [load_homework(name, ROOT) for name in dict.fromkeys(homework_ids)], ROOT,
            course_id=course_id, exchange=exchange, db_url=usable_database(db),
            dates=usable_dates(dates), dates_file=dates,
        )  # fmt: skip
    first = homework_ids[0]
    typer.echo(f"{folder} is ready for nbgrader, as the course {course_id}. In it:")
    for step in ("generate_assignment", "release_assignment", "collect", "autograde"):
        typer.echo(f"  nbgrader {step} {first}")
    missing = missing_for_course(exchange)
    for line in missing:
        typer.echo(f"Missing: {line}", err=True)
    raise typer.Exit(1 if missing else 0)
