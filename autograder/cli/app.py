"""The commands put together, with the help that they show."""

import typer

from autograder.cli.collect import collect
from autograder.cli.doctor import doctor
from autograder.cli.grade import grade
from autograder.cli.release import release

app = typer.Typer(
    help="Release homework, grade a class in a sandbox, and see how it went.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they would print what variables hold: seeds, hidden tests
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _examples(*lines: str) -> str:
    """Show one example a line; typer joins lines that no blank line parts."""
    return "\n\n".join(("[bold]Examples[/bold]", *(f"  {line}" for line in lines)))


app.command(
    help="Make what students get: the notebook without solutions and hidden tests, the library "
    "without the layers it asks for, the requirements.",
    epilog=_examples("python -m autograder release hw03"),
)(release)
app.command(
    help="Bring what was handed in into the layout that grading reads: from a folder, a zip of "
    "Canvas, Moodle or Gradescope, or a GitHub Classroom clone. Each student's last notebook "
    "counts; what can't be collected is named, and newer notebooks stay. "
    "Exit code 1 says that something was not collected.",
    epilog=_examples(
        "python -m autograder collect hw03 submissions.zip --into class",
        "python -m autograder collect hw03 submissions.zip --into class --roster class.csv",
        "python -m autograder collect hw03 hw03-self-attention-submissions --into class",
    ),
)(collect)
app.command(
    help="Grade a class, and write grades.csv, report.html, a feedback page for each student and "
    "an nbgrader gradebook. Submissions lie as nbgrader collects them: "
    "DIR/<student>/<homework>/<homework>.ipynb.",
    epilog=_examples(
        "python -m autograder grade hw03 --submissions class --out out",
        "python -m autograder grade hw03 --submissions class --out out --workers 8",
        "python -m autograder grade hw03 --submissions class --out out --time-limit 60",
        "python -m autograder grade hw03 --submissions class --out out --seed 7",
    ),
)(grade)
app.command(
    help="Look at what grading needs on this machine, and say how to mend what is missing.",
    epilog=_examples("python -m autograder doctor"),
)(doctor)
