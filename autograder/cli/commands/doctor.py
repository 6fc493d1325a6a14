"""python -m autograder doctor."""

import contextlib
import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

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


class Finding(NamedTuple):
    """The state of one thing that grading uses.

    Attributes:
        subject: The thing's name.
        state: ``ok``, ``missing`` (grading needs it) or ``without`` (grading works without it).
        found: The version or state that was found.
        fix: How to mend it; empty if nothing needs to be done.
    """

    subject: str
    state: str
    found: str = ""
    fix: str = ""


def doctor(
    db: DatabaseToTry = "",
    scheduler: Scheduler = "",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    trusted_network: TrustedNetwork = False,
) -> None:
    """Check this machine for grading, and say how to install missing parts.

    Exit code 1 says that grading can't run.
    """
    findings = [_python(), *_packages(ROOT), _sandbox(), _memory(), _gpu(), _database(ROOT, db)]
    findings += [*_dates(ROOT), _disk(ROOT)]
    findings.append(
        _cluster(scheduler, tls_ca, tls_cert, tls_key, trusted_network)
        if scheduler
        else Finding("submissions", "ok", f"{os.cpu_count() or 1} at a time on this machine")
    )
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


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:3] >= _OLDEST_PYTHON and sys.version_info[:2] <= _NEWEST_PYTHON:
        return Finding("Python", "ok", version)
    fix = f"make the environment again: make distclean; {_INSTALL} PYTHON=python3.14"
    return Finding("Python", "missing", version, fix)


def _packages(root: Path) -> list[Finding]:
    """Return a finding for each package that grading needs: its version against the pinned one."""
    files = sorted((root / "requirements").glob("*.txt"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE))
    findings = []
    for name in _PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            findings.append(Finding(name, "missing", fix=_INSTALL))
            continue
        if pins.get(name) in (None, version.split("+")[0]):  # torch may have a build tag
            findings.append(Finding(name, "ok", version))
        else:
            fix = f"tested with {pins[name]}: {_INSTALL}"
            findings.append(Finding(name, "without", version, fix))
    return findings


def _sandbox() -> Finding:
    if problem := _problem_with("import torch; torch.ones(2).sum()", device="cpu"):
        return Finding("sandbox", "missing", fix=problem)
    return Finding("sandbox", "ok", "a cell ran in it")


def _problem_with(cell: str, *, device: str) -> str:
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
    """Return how the memory of students' processes is limited."""
    from autograder.sandbox.cgroup import delegated_group

    looked = "looked at five times a second"
    if group := delegated_group():
        looked = f"limited by the kernel, in groups below {group}, and {looked}"
    return Finding("memory", "ok", looked)


def _gpu() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding("GPU", "without", "torch is not installed")
    if not torch.cuda.is_available():
        return Finding("GPU", "without", "none; grading runs on the CPU")
    count = torch.cuda.device_count()
    names = ", ".join(torch.cuda.get_device_name(number) for number in range(count))
    if problem := _problem_with("import torch; torch.ones(2, device='cuda').sum()", device="cuda"):
        return Finding("GPU", "without", f"{names}, but CUDA fails in the sandbox", problem)
    return Finding("GPU", "ok", f"{names}; use --device cuda")


def _database(root: Path, db_url: str) -> Finding:
    """Return whether the gradebook's database, and alembic, which nbgrader runs for it, work."""
    from traitlets.config import Config

    from autograder.gradebook.database import DatabaseError, check_database, configured_url
    from autograder.homework_source.nbgrader_settings import SettingsError, configure

    try:
        db_url = db_url or configured_url(root)
        found = check_database(db_url or "sqlite://")
    except (DatabaseError, SettingsError) as error:
        return Finding("database", "missing", fix=str(error))
    configure(Config())  # puts this environment's programs on $PATH
    if not shutil.which("alembic"):
        return Finding("database", "missing", "no alembic", _INSTALL)
    where = "answers" if db_url else "a file where grading writes"
    return Finding("database", "ok", f"{found}, {where}")


def _dates(root: Path) -> list[Finding]:
    """Return whether the course's dates can be read; an empty list if it has none."""
    from autograder.homework_source.homework import all_homeworks
    from autograder.term.dates import DATES_FILE, DatesError, read_dates

    if not (root / DATES_FILE).is_file():
        return []
    try:
        due = len(read_dates(root / DATES_FILE, all_homeworks(root)).due)
    except DatesError as error:
        return [Finding(DATES_FILE, "missing", fix=str(error))]
    found = f"{due} {'homework has' if due == 1 else 'homeworks have'} a date"
    return [Finding(DATES_FILE, "ok", found)]


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free / 2**30
    if free >= _NEEDED_GIB:
        return Finding("free disk", "ok", f"{free:.1f} GiB")
    fix = f"grading a class wants {_NEEDED_GIB:g} GiB; make clean frees some"
    return Finding("free disk", "missing", f"{free:.1f} GiB", fix)


def _cluster(
    scheduler: str, ca: Path | None, cert: Path | None, key: Path | None, trusted: bool
) -> Finding:
    """Return whether a Dask scheduler answers and its workers have our versions; their number."""
    from autograder.cluster.scheduler import Cluster, ClusterError

    try:
        cluster = Cluster(
            scheduler=scheduler, ca_file=ca, cert_file=cert, key_file=key, trusted_network=trusted
        )
        with cluster.connect() as client:
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
            client.get_versions(check=True)
    except (ClusterError, ValueError) as error:
        return Finding("Dask", "missing", scheduler, one_line(str(error), 600))
    found = f"{scheduler}, {workers} {'worker' if workers == 1 else 'workers'}"
    return Finding("Dask", "ok", found)
