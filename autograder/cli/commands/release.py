"""python -m autograder release, students."""

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.errors import told_in_one_line
from autograder.cli.options import ROOT, HomeworkName
from autograder.homework_source.homework import HomeworkError, all_homeworks, resolve_homework


def release(homework: HomeworkName) -> None:
    """Make the notebook without solutions and hidden tests, and the library that students get.

    The library lacks the layers that the homework asks for; the pinned requirements are beside it.
    """
    with told_in_one_line(HomeworkError):
        homework_id = resolve_homework(homework, ROOT)
        from autograder.releasing.release import release as make_release

        made = make_release(homework_id, ROOT)
    for warning in made.warnings:
        typer.echo(f"Warning: {warning}", err=True)
    typer.echo(f"Released {homework_id}:")
    for name, path in (
        ("notebook", made.assignment),
        ("for students", made.folder),
        ("as a zip", made.archive),
    ):
        typer.echo(f"  {name:<14}{path.relative_to(ROOT)}")


def students(
    folder: Annotated[Path, typer.Argument(help="Where to; it must be empty or missing.")],
    homework: Annotated[
        list[str] | None, typer.Argument(help="What students may have; all, if none is named.")
    ] = None,
) -> None:
    """Lay out released homework as a branch for Colab, Kaggle, Binder, JupyterHubs and VS Code.

    .ci/publish-branch publishes it. The library of a homework holds the solutions of earlier ones:
    name those homeworks that students may have.
    """
    from autograder.releasing.students_branch import write_students_folder

    with told_in_one_line(HomeworkError, OSError):
        found = [resolve_homework(name, ROOT) for name in homework or []] or all_homeworks(ROOT)
        write_students_folder(sorted(set(found)), ROOT, folder)
    typer.echo(f"{folder} holds {', '.join(sorted(set(found)))}. To publish it:")
    typer.echo(f"  .ci/publish-branch students {folder} 'The homework'")
