"""Options that several commands share, each described once."""

import enum
from pathlib import Path
from typing import Annotated

import typer


class Device(enum.StrEnum):
    """Where the layers run."""

    CPU = "cpu"
    CUDA = "cuda"


HomeworkName = Annotated[str, typer.Argument(help="Its number, hw03, or its whole name.")]
Submissions = Annotated[Path, typer.Option(help="The folder of the class.")]
Out = Annotated[Path, typer.Option(help="Where to write; made if it is not there.")]
Graded = Annotated[Path, typer.Option("--out", help="Where grading wrote.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Submissions at a time.", show_default="as many as cores")
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        max=86_400,
        help="Seconds of processor time that one check or cell may take. What is graded already "
        "keeps its marks: grade --force grades it again under this limit.",
        show_default="30, or what nbgrader_config.py says",
    ),
]
SandboxChoice = Annotated[
    bool,
    typer.Option(
        "--sandbox/--no-sandbox",
        help="--no-sandbox runs students' code with your rights. For trusted code alone.",
    ),
]
DeviceChoice = Annotated[Device, typer.Option(help="Where the layers run.")]
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
