"""python -m autograder students."""

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.bad_input import told_in_one_line
from autograder.cli.project import ROOT


def students(
    folder: Annotated[Path, typer.Argument(help="Where to; it must be empty or missing.")],
    homework: Annotated[
        list[str] | None, typer.Argument(help="What students may have; all, if none is named.")
    ] = None,
) -> None:
    """Lay out released homework as the branch that students find on the web."""
    from autograder.homework_source.homework import (
        HomeworkError,
        all_homeworks,
        resolve_homework,
    )
    from autograder.releasing.students_folder import write_students_folder

    with told_in_one_line(HomeworkError, OSError):
        found = [resolve_homework(name, ROOT) for name in homework or []] or all_homeworks(ROOT)
        write_students_folder(sorted(set(found)), ROOT, folder)
    typer.echo(f"{folder} holds {', '.join(sorted(set(found)))}. To publish it:")
    typer.echo(f"  .ci/publish-branch students {folder} 'The homework'")
