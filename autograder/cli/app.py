"""The command line: all commands in one application; each one's docstring is its help."""

import inspect
import logging
from collections.abc import Callable

import typer

from autograder.cli.commands.backup import backup, restore
from autograder.cli.commands.collect import collect
from autograder.cli.commands.doctor import doctor
from autograder.cli.commands.export import export
from autograder.cli.commands.forget import forget
from autograder.cli.commands.grade import grade, regrade
from autograder.cli.commands.nbgrader_course import nbgrader_course
from autograder.cli.commands.release import release, students
from autograder.cli.commands.stored import feedback, report

# nbgrader logs exceptions to this logger, with a traceback, and raises them too.
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


def _add(command: Callable[..., None], *examples: str) -> None:
    """Add a command; ``examples`` are arguments of example calls in its help."""
    name = command.__name__.replace("_", "-")
    lines = [f"  python -m autograder {name} {example}".rstrip() for example in examples]
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    app.command(
        name,
        help="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),
        epilog="\n\n".join(("[bold]Examples[/bold]", *lines)),
    )(command)


_CLASS = "hw03 --submissions class --out out"

_add(release, "hw03")
_add(students, "build/students", "build/students hw01 hw02")
_add(
    collect,
    "hw03 submissions.zip --into class",
    "hw03 submissions.zip --into class --roster class.csv",
    "hw03 moodle.zip --into class --worksheet worksheet.csv",
    "hw03 hw03-self-attention-submissions --into class",
)
_add(
    grade,
    _CLASS,
    f"{_CLASS} --workers 8",
    f"{_CLASS} --time-limit 60",
    f"{_CLASS} --seed 7",
    f"{_CLASS} --watch",
    f"{_CLASS} --db postgresql://ta@db.example.org/gradebook",
)
_add(regrade, _CLASS)
_add(feedback, "hw03 --out out --book-url https://example.org/book")
_add(report, "hw03 --out out", "hw03 --out out --compare last-year/out")
_add(
    export,
    "hw03 --out out --to canvas --file canvas.csv --column 'Homework 3 (98765)'",
    "hw03 --out out --to moodle --worksheet worksheet.csv --file marks.csv",
    "hw03 --out out --to moodle --worksheet worksheet.csv --file marks.csv --feedback feedback.zip",
    "hw03 --out out --to gradescope --file results",
)
_add(
    forget,
    "lovelaceada_12345 --out out --submissions class",
    "lovelaceada_12345 --out out --yes",
)
_add(backup, "backups/week-5.zip --out out")
_add(restore, "backups/week-5.zip --out restored")
_add(
    nbgrader_course,
    "seq2seq",
    "seq2seq hw03 hw04 --exchange /srv/exchange",
    "seq2seq --course cs224 --db postgresql://ta@db.example.org/gradebook",
)
_add(
    doctor,
    "",
    "--db postgresql://ta@db.example.org/gradebook",
    "--scheduler tcp://10.0.0.1:8786 --trusted-network",
)
