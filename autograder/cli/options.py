"""Options that several commands share, each described once, and their checks."""

import enum
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from autograder.cli.errors import BadInputError
from autograder.homework_source.homework import all_homeworks
from autograder.homework_source.nbgrader_settings import SettingsError
from autograder.reports.feedback import check_book_url
from autograder.term.dates import DATES_FILE, Dates, DatesError, read_dates

ROOT = Path(__file__).parents[2]
"""The project's folder, which holds ``solutions``."""

_Settings = TypeVar("_Settings")
Command = Callable[..., None]


class Device(enum.StrEnum):
    """The device that the layers run on."""

    CPU = "cpu"
    CUDA = "cuda"


HomeworkName = Annotated[str, typer.Argument(help="Its number, hw03, or its whole name.")]
Graded = Annotated[Path, typer.Option("--out", help="Where grading wrote.")]
Scheduler = Annotated[
    str, typer.Option(help="A running Dask scheduler, tcp://HOST:PORT or tls://HOST:PORT.")
]
TrustedNetwork = Annotated[
    bool,
    typer.Option(
        "--trusted-network",
        help="For tcp://: nobody else can reach the scheduler, who could run code as you.",
    ),
]
TlsCa = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="For tls://: authority.")
]
TlsCert = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="For tls://: certificate.")
]
TlsKey = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="For tls://: its key.")
]
_DATABASE = (
    "The gradebook's database, such as postgresql://ta@host/gradebook. Passwords belong in "
    "~/.pgpass."
)
DatabaseUrl = Annotated[
    str,
    typer.Option(help=_DATABASE, show_default="what nbgrader_config.py says, else a file in --out"),
]
DatabaseToTry = Annotated[
    str,
    typer.Option("--db", help=_DATABASE, show_default="what nbgrader_config.py says, else SQLite"),
]
DatesFile = Annotated[
    Path | None,
    typer.Option(
        "--dates",
        help="When homework is due, and what being late costs: TOML.",
        show_default="dates.toml in the project's folder, if it is there",
    ),
]
RosterFile = Annotated[
    Path | None,
    typer.Option(
        "--roster",
        help="Class list: CSV with lms_id and student, and name, section if known. With Moodle "
        "lms_id is an ID number, e-mail address or full name.",
    ),
]
BookUrl = Annotated[
    str, typer.Option(help="Address of the book's chapters, for links in the feedback.")
]


@dataclass(frozen=True, kw_only=True)
class GradingSettings:
    """The options of ``regrade``, and default values for those that only ``grade`` has."""

    homework: HomeworkName
    submissions: Annotated[Path, typer.Option(help="The folder of the class.")]
    out: Graded
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Submissions at a time.", show_default="as many as cores"),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=86_400,
            help="Seconds of processor time that one check or cell may take. Graded "
            "submissions keep their marks: grade --force grades them again under this limit.",
            show_default="30, or what nbgrader_config.py says",
        ),
    ] = None
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox/--no-sandbox",
            help="--no-sandbox runs students' code with your rights. For trusted code alone.",
        ),
    ] = True
    device: Annotated[Device, typer.Option(help="Where the layers run.")] = Device.CPU
    scheduler: Scheduler = ""
    tls_ca: TlsCa = None
    tls_cert: TlsCert = None
    tls_key: TlsKey = None
    trusted_network: TrustedNetwork = False
    db: DatabaseUrl = ""
    book_url: BookUrl = ""
    dates: DatesFile = None
    seed: int | None = None
    force: bool = False
    watch: bool = False
    due: str = ""


@dataclass(frozen=True, kw_only=True)
class GradeSettings(GradingSettings):
    """The options of ``grade``."""

    out: Annotated[Path, typer.Option(help="Where to write; made if it is not there.")]
    seed: Annotated[
        int | None,
        typer.Option(
            help="Draws the hidden inputs. Grades everything again, as --force does.",
            show_default="drawn for each submission",
        ),
    ] = None
    force: Annotated[
        bool,
        typer.Option(
            "--force/--only-missing",
            help="Grade again the submissions of an earlier run: under another limit, say.",
        ),
    ] = False
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Stay, and grade new and changed submissions at once, until Ctrl-C: PyTorch, "
            "the sandbox and a judge stay ready.",
        ),
    ] = False
    due: Annotated[
        str,
        typer.Option(
            help="When it is due, such as 2026-10-12T23:59:00+02:00: written into the dates, where "
            "every command reads it.",
            show_default="the date in dates.toml",
        ),
    ] = ""


def takes(settings: type[_Settings]) -> Callable[[Callable[[_Settings], None]], Command]:
    """Return a decorator that turns a function of a dataclass into a command.

    The ``Annotated`` fields of the dataclass, ``settings``, become the command's options.
    """

    def decorate(run: Callable[[_Settings], None]) -> Command:
        def command(**given: Any) -> None:
            run(settings(**given))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        signature = inspect.signature(settings)
        fields = signature.parameters.values()
        options = [field for field in fields if hasattr(field.annotation, "__metadata__")]
        command.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
        return command

    return decorate


def usable_database(db: str) -> str:
    """Return the address of the gradebook's database, after connecting to it once.

    It is ``db``, else the one in nbgrader_config.py; empty for a file in nbgrader's folder.
    """
    from autograder.gradebook.database import DatabaseError, check_database, configured_url

    try:
        db_url = db or configured_url(ROOT)
        if db_url:
            check_database(db_url)
    except SettingsError as error:
        raise BadInputError(str(error)) from error
    except DatabaseError as error:
        raise BadInputError(f"--db: {error}") from error
    return db_url


def usable_gradebook(db: str, course_folder: Path, *, is_read: bool = False) -> str:
    """Return the gradebook's address, after checking that its file is not damaged.

    If ``is_read``, a missing file is an error too.
    """
    from autograder.gradebook.database import DatabaseError, check_gradebook

    db_url = usable_database(db)
    try:
        check_gradebook(course_folder, db_url, is_read=is_read)
    except DatabaseError as error:
        raise BadInputError(str(error)) from error
    return db_url


def check_book(book_url: str) -> None:
    """Raise ``BadInputError`` if ``book_url`` can't be the address of a book."""
    try:
        check_book_url(book_url)
    except ValueError as error:
        raise BadInputError(f"--book-url: {error}") from error


def usable_dates(file: Path | None) -> Dates:
    """Return the course's dates, from ``file`` or the project's dates.toml; else empty dates."""
    path = file or ROOT / DATES_FILE
    if file is None and not path.is_file():
        return Dates()
    try:
        return read_dates(path, all_homeworks(ROOT))
    except DatesError as error:
        raise BadInputError(str(error)) from error
