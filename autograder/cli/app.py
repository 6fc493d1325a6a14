"""The commands put together, with the help that they show."""

import logging

import typer

from autograder.cli.commands.backup import backup, restore
from autograder.cli.commands.collect import collect
from autograder.cli.commands.doctor import doctor
from autograder.cli.commands.export import export
from autograder.cli.commands.forget import forget
from autograder.cli.commands.grade import grade
from autograder.cli.commands.nbgrader_course import nbgrader_course
from autograder.cli.commands.regrade import regrade
from autograder.cli.commands.release import release
from autograder.cli.commands.stored import feedback, report
from autograder.cli.commands.students import students

# What nbgrader logs there, with its traceback, it raises as well: we say it in a line.
logging.getLogger("tornado.application").addFilter(lambda record: False)

app = typer.Typer(
    help="Release homework, collect it, grade a class in a sandbox, see how it went, export the "
    "points. Exit codes: 0 all is done, 1 something is left to look at, 2 nothing was done.",
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
    help="Lay out what was released as a branch for Colab, Kaggle, Binder, JupyterHubs and VS "
    "Code, which .ci/publish-branch publishes. The library of a homework holds what earlier ones "
    "ask for: name those that students may have.",
    epilog=_examples(
        "python -m autograder students build/students",
        "python -m autograder students build/students hw01 hw02",
    ),
)(students)
app.command(
    help="Bring what was handed in into the layout that grading reads: from a folder, a zip of "
    "Canvas, Moodle, Blackboard, Brightspace or Gradescope, or a GitHub Classroom clone. "
    "Each student's last notebook counts; files that can't be collected are named, and newer "
    "notebooks stay. "
    "Exit code 1 says that something was not collected.",
    epilog=_examples(
        "python -m autograder collect hw03 submissions.zip --into class",
        "python -m autograder collect hw03 submissions.zip --into class --roster class.csv",
        "python -m autograder collect hw03 moodle.zip --into class --worksheet worksheet.csv",
        "python -m autograder collect hw03 hw03-self-attention-submissions --into class",
    ),
)(collect)
app.command(
    help="Grade a class, and write grades.csv, report.html, a feedback page for each student and "
    "an nbgrader gradebook. Submissions lie as nbgrader collects them: "
    "DIR/<student>/<homework>/<homework>.ipynb. Run again, it grades what is missing. Exit code 1 "
    "says that nbgrader refused something, or that somebody's grading was interrupted.",
    epilog=_examples(
        "python -m autograder grade hw03 --submissions class --out out",
        "python -m autograder grade hw03 --submissions class --out out --workers 8",
        "python -m autograder grade hw03 --submissions class --out out --time-limit 60",
        "python -m autograder grade hw03 --submissions class --out out --seed 7",
        "python -m autograder grade hw03 --submissions class --out out --watch",
        "python -m autograder grade hw03 --submissions class --out out "
        "--db postgresql://ta@db.example.org/gradebook",
    ),
)(grade)
app.command(
    help="After a test has changed: grade a graded class again, and say whose marks changed, in "
    "which check, and why, in the terminal, in report.html and in changes.csv. Marks that were "
    "given by hand stay. Exit code 1 says that nbgrader refused something, or that somebody's "
    "grading was interrupted.",
    epilog=_examples("python -m autograder regrade hw03 --submissions class --out out"),
)(regrade)
app.command(
    help="Write every feedback page again, from the results that grading kept. Exit code 1 says "
    "that one of them can't be read.",
    epilog=_examples(
        "python -m autograder feedback hw03 --out out --book-url https://example.org/book"
    ),
)(feedback)
app.command(
    help="Write report.html, grades.csv and the table of the course again, from the results that "
    "grading kept and what was given by hand; with --compare beside another class. Exit code 1 "
    "says that a result can't be read, or that members of a team have other points than others.",
    epilog=_examples(
        "python -m autograder report hw03 --out out",
        "python -m autograder report hw03 --out out --compare last-year/out",
    ),
)(report)
app.command(
    help="Write the points in the form that another system reads: with those given by hand, if "
    "there are any in the gradebook, and with what lateness takes off; with --feedback also what "
    "students are told. Exit code 1 says that some points are still to be given, or were given to "
    "some of a team, or that somebody is left out: for no id there, because grading was "
    "interrupted, or because a result can't be read.",
    epilog=_examples(
        "python -m autograder export hw03 --out out --to canvas --file canvas.csv "
        "--column 'Homework 3 (98765)'",
        "python -m autograder export hw03 --out out --to moodle --worksheet worksheet.csv "
        "--file marks.csv",
        "python -m autograder export hw03 --out out --to moodle --worksheet worksheet.csv "
        "--file marks.csv --feedback feedback.zip",
        "python -m autograder export hw03 --out out --to gradescope --file results",
    ),
)(export)
app.command(
    help="Remove a person from everything that grading wrote: results, feedback, the gradebook's "
    "rows, notebooks, lines of marks.log and of the tables. Says what, and asks. Exit code 1 says "
    "that the answer was no, or that a file can't be read that may name the person.",
    epilog=_examples(
        "python -m autograder forget lovelaceada_12345 --out out --submissions class",
        "python -m autograder forget lovelaceada_12345 --out out --yes",
    ),
)(forget)
app.command(
    help="Copy all that grading wrote into one file: results, feedback, tables, notebooks, and "
    "SQLite's gradebook, which may be in use meanwhile. A file that exists is refused. Exit code 1 "
    "says that a link is left out, or that the gradebook is damaged.",
    epilog=_examples("python -m autograder backup backups/week-5.zip --out out"),
)(backup)
app.command(
    help="Lay out what a backup holds, in a new folder; what is not whole is refused. Exit code 1 "
    "says that the gradebook was damaged when it was copied.",
    epilog=_examples("python -m autograder restore backups/week-5.zip --out restored"),
)(restore)
app.command(
    "nbgrader-course",
    help="Lay out a course folder in which nbgrader's own commands and formgrader work, with the "
    "judge underneath: source notebooks, settings, due dates. This project is only read. Exit code "
    "1 says that something is missing that handing out, handing in or grading needs.",
    epilog=_examples(
        "python -m autograder nbgrader-course seq2seq",
        "python -m autograder nbgrader-course seq2seq hw03 hw04 --exchange /srv/exchange",
        "python -m autograder nbgrader-course seq2seq --course cs224 "
        "--db postgresql://ta@db.example.org/gradebook",
    ),
)(nbgrader_course)
app.command(
    help="Look at what grading needs on this machine, and say how to fix what is missing. "
    "Exit code 1 says that grading can't run.",
    epilog=_examples(
        "python -m autograder doctor",
        "python -m autograder doctor --db postgresql://ta@db.example.org/gradebook",
        "python -m autograder doctor --scheduler tcp://10.0.0.1:8786 --trusted-network",
    ),
)(doctor)
