"""A PostgreSQL server of the tests' own: no service, no port, nothing left behind."""

import contextlib
import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Debian keeps the server's programs off $PATH, each version in a folder of its own.
_DEBIAN = Path("/usr/lib/postgresql")


def missing_postgres() -> str:
    """Return a message if PostgreSQL's programs are missing; empty if a server can be started."""
    return "" if _program("initdb") else "no PostgreSQL server: apt-get install postgresql"


@contextlib.contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server that listens in its own folder; yield the address of an empty database."""
    # Not pytest's folder: a socket's path may have 107 characters, and root's folders are closed
    # to the ordinary user that the server must run as.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = _give_away(folder)

    def run(name: str, *arguments: str) -> None:
        subprocess.run(
            [str(_program(name)), *arguments],
            user=user if os.geteuid() == 0 else None,
            cwd=folder, env={"PATH": os.defpath, "LC_ALL": "C"}, check=True, timeout=600,
            stdout=subprocess.DEVNULL,  # a pipe would be held open by the server
        )  # fmt: skip

    data, log = str(folder / "data"), str(folder / "log")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    try:
        run("initdb", "-D", data, "-U", "ta", "-A", "trust", "-E", "UTF8", "--no-sync")
        run("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "-t", "600", "start")
        try:
            run("createdb", "-h", str(folder), "-U", "ta", "gradebook")
            yield f"postgresql://ta@/gradebook?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "-t", "600", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _give_away(folder: Path) -> str:
    """Return the account to run PostgreSQL: for root ``nobody``, who then gets the folder."""
    if os.geteuid() != 0:
        return getpass.getuser()
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return nobody.pw_name


def _program(name: str) -> Path | None:
    versions = sorted(_DEBIAN.glob("*/bin"), key=lambda folder: int(folder.parent.name))
    path = os.pathsep.join([*map(str, reversed(versions)), os.environ.get("PATH", os.defpath)])
    found = shutil.which(name, path=path)
    return Path(found) if found else None
