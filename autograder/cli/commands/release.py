"""python -m autograder release."""

import typer

from autograder.cli.bad_input import told_in_one_line
from autograder.cli.options import HomeworkName
from autograder.cli.project import ROOT


def release(homework: HomeworkName) -> None:
    """Make what students get."""
    from autograder.homework_source.homework import HomeworkError, resolve_homework

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
