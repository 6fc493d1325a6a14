"""python -m autograder collect."""

from pathlib import Path
from typing import Annotated

import typer

from autograder.class_folders import is_graded_into
from autograder.cli.errors import BadInputError, told_in_one_line, writing
from autograder.cli.options import ROOT, DatesFile, HomeworkName, RosterFile, usable_dates
from autograder.cli.terminal import StepProgress, output, print_collection
from autograder.collecting.collect import collect as collect_class
from autograder.collecting.handed_in import SourceError
from autograder.collecting.lms_names import Naming
from autograder.collecting.moodle import read_worksheet
from autograder.collecting.roster import Roster, TableError, read_roster
from autograder.homework_source.homework import HomeworkError, resolve_homework


def collect(
    homework: HomeworkName,
    source: Annotated[Path, typer.Argument(help="The folder or zip that was downloaded.")],
    into: Annotated[Path, typer.Option(help="The class's folder; made if it is not there.")],
    roster: RosterFile = None,
    naming: Annotated[
        Naming | None,
        typer.Option(help="Whose names the files have.", show_default="found out"),
    ] = None,
    worksheet: Annotated[
        Path | None,
        typer.Option(
            help="Moodle's grading worksheet of this assignment. It has each student's number and "
            "time of submission, which its zip lacks."
        ),
    ] = None,
    dates: DatesFile = None,
    force: Annotated[
        bool, typer.Option(help="Also replace notebooks that are newer than the new ones.")
    ] = False,
) -> None:
    """Copy submissions into the layout that grading reads.

    The source is a folder, a zip of Canvas, Moodle, Blackboard, Brightspace or Gradescope, or a
    GitHub Classroom clone. Each student's last notebook counts; files that can't be collected are
    named, and newer notebooks stay. Exit code 1 says that something was not collected.
    """
    with told_in_one_line(HomeworkError, SourceError, TableError):
        homework_id = resolve_homework(homework, ROOT)
        people = read_roster(roster) if roster else Roster()
        zone = usable_dates(dates).zone
        participants = read_worksheet(worksheet, zone) if worksheet else None
        if source.is_dir() and into.resolve().is_relative_to(source.resolve()):
            raise BadInputError(f"--into {into} lies in {source}, which is collected from")
        if is_graded_into(into):
            raise BadInputError(
                f"--into {into} is the output folder of grading: give the folder of submissions"
            )
        with writing(into), StepProgress("Collecting") as progress:
            collection = collect_class(
                source,
                homework_id,
                into,
                roster=people,
                naming=naming,
                worksheet=participants,
                zone=zone,
                force=force,
                on_start=progress.begin,
                on_student=progress.advance,
            )
    console = output()
    print_collection(collection, console)
    if collection.naming is Naming.MOODLE and not worksheet:
        console.print(
            "When they were handed in is not known, nor whose ID number or e-mail is whose: "
            "Moodle says so with --worksheet"
        )
    console.print(f"\nGrade them: python -m autograder grade {homework} --submissions {into} ...")
    if not collection.complete:
        raise typer.Exit(1)
