"""python -m autograder doctor."""

import contextlib
import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from autograder.clean_text import one_line
from autograder.cli.options import (
    ROOT,
    DatabaseToTry,
    Scheduler,
    TlsCa,
    TlsCert,
    TlsKey,
    TrustedNetwork,
)
from autograder.cli.terminal import output

_OLDEST_PYTHON, _NEWEST_PYTHON = (3, 11, 2), (3, 14)
_PACKAGES = ("torch", "nbgrader", "distributed", "safetensors", "sqlalchemy", "psycopg")
_INSTALL = "make install GROUPS=judge"
_NEEDED_GIB = 2.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that grading uses.

    Attributes:
        subject: Its name.
        state: ``ok``, ``missing`` (grading needs it) or ``without`` (grading works without it).
        found: The version or state that was found.
        fix: How to mend it; empty if nothing is to do.
    """

    subject: str
    state: str
    found: str
    fix: str = ""


def doctor(
    db: DatabaseToTry = "",
    scheduler: Scheduler = "",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    trusted_network: TrustedNetwork = False,
) -> None:
    """Look at what grading needs on this machine, and say how to fix what is missing.

    Exit code 1 says that grading can't run.
    """
    findings = examine(ROOT, db_url=db)
    findings.append(_workers(scheduler, tls_ca, tls_cert, tls_key, trusted_network))
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    marks = {"ok": ("✓", "green"), "missing": ("✗", "bold red"), "without": ("–", "yellow")}
    for finding in findings:
        symbol, colour = marks[finding.state]
        words = Text(finding.found)
        if finding.fix:
            words.append(f"\n{finding.fix}", style="bold")
        table.add_row(Text(f"{symbol} {finding.state}", style=colour), finding.subject, words)
    console = output()
    console.print(table)
    if any(finding.state == "missing" for finding in findings):
        console.print("\nGrading can't run here yet.")
        raise typer.Exit(1)
    console.print("\nReady to grade.")


def examine(root: Path, *, db_url: str = "") -> list[Finding]:
    """Look at everything that grading needs on this machine."""
    local = [_python(), *_packages(root), _sandbox(), _memory(), _gpu()]
    return [*local, _database(root, db_url), *_dates(root), _disk(root)]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    fits = sys.version_info[:3] >= _OLDEST_PYTHON and sys.version_info[:2] <= _NEWEST_PYTHON
    fix = f"make the environment again: make distclean; {_INSTALL} PYTHON=python3.14"
    fix = "" if fits else fix
    return Finding(subject="Python", state="ok" if fits else "missing", found=version, fix=fix)


def _packages(root: Path) -> list[Finding]:
    """Compare what is installed with the pins."""
    files = sorted((root / "requirements").glob("*.txt"))
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", "".join(map(_text, files)), re.MULTILINE))
    findings = []
    for name in _PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            findings.append(Finding(subject=name, state="missing", found="", fix=_INSTALL))
            continue
        release = version.split("+")[0]  # torch's build tag is no other version
        pin = pins.get(name, release)
        same = release == pin
        findings.append(
            Finding(
                subject=name,
                state="ok" if same else "without",
                found=version,
                fix="" if same else f"tested with {pin}: {_INSTALL}",
            )
        )
    return findings


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _sandbox() -> Finding:
    refused = _refusal_of("import torch; torch.ones(2).sum()", device="cpu")
    if refused:
        return Finding(subject="sandbox", state="missing", found="", fix=refused)
    return Finding(subject="sandbox", state="ok", found="a cell ran in it")


def _refusal_of(cell: str, *, device: str) -> str:
    """Run one cell as grading does; return why it did not run, else an empty text."""
    from autograder.judging.student_process import StudentProcess
    from autograder.sandbox.sandbox import Sandbox, check_sandbox
    from autograder.sandbox.worker.isolation import Limits
    from autograder.sandbox.zygote import SandboxError

    try:
        check_sandbox()
        with tempfile.TemporaryDirectory() as library:
            (Path(library) / "course_lib").mkdir()
            made = Sandbox(Path(library), limits=Limits(), device=device)
            with contextlib.closing(made) as sandbox:
                process = StudentProcess(sandbox, seconds=60.0, submission_seconds=60.0)
                failure = process.run_cell("a cell", cell)
    except SandboxError as error:
        *_, reason = str(error).splitlines()  # the last line of a worker's traceback
        return reason
    return failure.message if failure else ""


def _memory() -> Finding:
    """Say how the memory of students' processes is limited."""
    from autograder.sandbox.cgroup import delegated_group

    looked = "looked at five times a second"
    if group := delegated_group():
        found = f"limited by the kernel, in groups below {group}, and {looked}"
        return Finding(subject="memory", state="ok", found=found)
    return Finding(subject="memory", state="ok", found=looked)


def _gpu() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding(subject="GPU", state="without", found="torch is not installed")
    if not torch.cuda.is_available():
        return Finding(subject="GPU", state="without", found="none; grading runs on the CPU")
    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    found = ", ".join(names)
    refused = _refusal_of("import torch; torch.ones(2, device='cuda').sum()", device="cuda")
    if refused:
        in_words = f"{found}, but CUDA does not start in the sandbox"
        return Finding(subject="GPU", state="without", found=in_words, fix=refused)
    return Finding(subject="GPU", state="ok", found=f"{found}; use --device cuda")


def _database(root: Path, db_url: str) -> Finding:
    """Look at the gradebook's database, and at the program that nbgrader runs for it."""
    from traitlets.config import Config

    from autograder.gradebook.database import DatabaseError, check_database, configured_url
    from autograder.homework_source.nbgrader_settings import SettingsError, configure

    try:
        db_url = db_url or configured_url(root)
        found = check_database(db_url or "sqlite://")
    except (DatabaseError, SettingsError) as error:
        return Finding(subject="database", state="missing", found="", fix=str(error))
    configure(Config())  # puts this environment's programs on $PATH
    if not shutil.which("alembic"):
        return Finding(subject="database", state="missing", found="no alembic", fix=_INSTALL)
    where = "answers" if db_url else "a file where grading writes"
    return Finding(subject="database", state="ok", found=f"{found}, {where}")


def _dates(root: Path) -> list[Finding]:
    """Read the course's dates, if it has any: every command stops at an error in them."""
    from autograder.homework_source.homework import all_homeworks
    from autograder.term.dates import DATES_FILE, DatesError, read_dates

    file = root / DATES_FILE
    if not file.is_file():
        return []
    try:
        due = len(read_dates(file, all_homeworks(root)).due)
    except DatesError as error:
        return [Finding(subject=DATES_FILE, state="missing", found="", fix=str(error))]
    found = f"{due} {'homework has' if due == 1 else 'homeworks have'} a date"
    return [Finding(subject=DATES_FILE, state="ok", found=found)]


def _workers(
    scheduler: str, ca: Path | None, cert: Path | None, key: Path | None, trusted: bool
) -> Finding:
    """Count the submissions at a time here, or the workers of a running scheduler."""
    from autograder.cluster.scheduler import Cluster, ClusterError

    if not scheduler:
        cores = os.cpu_count() or 1
        found = f"{cores} at a time on this machine"
        return Finding(subject="submissions", state="ok", found=found)
    try:
        cluster = Cluster(
            scheduler=scheduler, ca_file=ca, cert_file=cert, key_file=key, trusted_network=trusted
        )
        with cluster.connect() as client:
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
            client.get_versions(check=True)
    except (ClusterError, ValueError) as error:
        fix = one_line(str(error), 600)
        return Finding(subject="Dask", state="missing", found=scheduler, fix=fix)
    found = f"{scheduler}, {workers} {'worker' if workers == 1 else 'workers'}"
    return Finding(subject="Dask", state="ok", found=found)


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free / 2**30
    enough = free >= _NEEDED_GIB
    return Finding(
        subject="free disk",
        state="ok" if enough else "missing",
        found=f"{free:.1f} GiB",
        fix="" if enough else f"grading a class wants {_NEEDED_GIB:g} GiB; make clean frees some",
    )
