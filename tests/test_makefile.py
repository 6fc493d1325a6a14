"""The Makefile towards the person at the keyboard: help, and clear words for what is wrong."""

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def make(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run make in the project; ``path`` replaces $PATH."""
    # What an outer make handed down would change how this one prints.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    program = shutil.which("make")
    assert program, "make is not installed"
    return subprocess.run(
        [program, *arguments],
        cwd=ROOT,
        env={**kept, **({"PATH": path} if path else {})},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize(("since", "known"), [("HEAD", True), ("no-such-commit", False)])
def test_check_asks_for_the_tests_of_an_edit_and_for_nothing_without_a_commit(
    since: str, known: bool
) -> None:
    """With no answer, pytest would run everything."""
    options = [] if since == "HEAD" else [f"SINCE={since}"]  # the default, as it is written
    planned = make(
        "--dry-run", "check", f"VENV={os.path.relpath(sys.prefix, ROOT)}", *options
    ).stdout
    command = planned[planned.index("tests=$(") :].splitlines()[0]
    asked, _, runs = command.partition("; ")
    assert "-m pytest -q $tests" in runs
    done = subprocess.run(
        ["bash", "-eu", "-c", f"{asked}; echo $tests"], cwd=ROOT, capture_output=True, text=True
    )
    assert ("tests/test_house.py" in done.stdout) == known, done.stderr
    assert (done.returncode == 0) == known


@pytest.mark.parametrize(
    ("options", "leaves_out"), [(["CI=", "ALL="], True), (["ALL=1"], False), (["CI=1"], False)]
)
def test_all_tests_run_where_that_is_asked_for_and_in_ci(
    options: list[str], leaves_out: bool
) -> None:
    planned = make(
        "--dry-run", "test", f"VENV={os.path.relpath(sys.prefix, ROOT)}", *options
    ).stdout
    assert ("--leave-out-unchanged" in planned.rpartition("-m pytest")[2]) == leaves_out


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with one page, as a built book has it."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<title>a page</title>")
    return folder


@pytest.fixture
def taken_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_make_alone_lists_every_public_target_with_a_line() -> None:
    listed = re.findall(r"^  make ([a-z]+) +\S", make().stdout, flags=re.MULTILINE)
    asked = [
        "course",
        "test",
        "book",
        "serve",
        "release",
        "grade",
        "bench",
        "lint",
        "pins",
        "install",
        "clean",
        "distclean",
    ]
    assert set(asked) <= set(listed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["release"], "Which homework? For instance: make release HW=hw03"),
        (["chapter"], "Which name? For instance: make chapter NAME=word-order"),
        (["homework"], "Which name? For instance: make homework NAME=word-order"),
        (["leave-out"], "What? For instance: make leave-out CHAPTER=bleu HW=hw07"),
        (["preview"], "Which chapter? For instance: make preview CHAPTER=decoding"),
        (["grade"], "Which homework? For instance: make grade HW=hw03"),
        (["grade", "HW=hw03"], "Which class? For instance: make grade HW=hw03 SUBMISSIONS=folder"),
        (["serve", "SITE=no-such-folder"], "The book is not built yet. First: make book"),
    ],
)
def test_what_is_missing_is_named(arguments: list[str], message: str) -> None:
    result = make(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("port", ["80", "65536", "http", "8000; true", "-1", ""])
def test_serve_refuses_what_is_no_port(port: str, site: Path) -> None:
    result = make("serve", f"SITE={site}", f"PORT={port}")
    assert result.returncode == 2
    assert f"PORT must be a number from 1024 to 65535, got: {port}" in result.stderr


def test_serve_says_that_the_port_is_in_use(taken_port: int, site: Path) -> None:
    result = make("serve", f"SITE={site}", f"PORT={taken_port}")
    assert result.returncode == 2
    assert f"Port {taken_port} is in use. Another one: make serve PORT=" in result.stderr


def test_serve_shows_the_page_on_this_machine(free_port: int, site: Path) -> None:
    command = ["make", "serve", f"SITE={site}", f"PORT={free_port}"]
    server = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert "a page" in fetch(free_port, server)
    finally:
        os.killpg(server.pid, signal.SIGTERM)  # not waited for yet: its group is there
        server.wait(timeout=600)


def fetch(port: int, server: subprocess.Popen[bytes]) -> str:
    """Get the front page, trying again while the server starts."""
    gives_up = time.monotonic() + 600
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        try:
            connection.request("GET", "/")
            return connection.getresponse().read().decode()
        except ConnectionRefusedError:
            assert not has_ended(server), "make serve has ended"
            assert time.monotonic() < gives_up
            time.sleep(0.1)
        finally:
            connection.close()


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Look without collecting it: until then its process group can be signalled."""
    return bool(os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))


def environment_in(folder: Path) -> list[str]:
    """Ask for an environment in a folder, and for nothing to be installed into it."""
    return [f"VENV={folder / 'venv'}", str(folder / "venv" / "bin" / "python")]


def test_no_fitting_python_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    result = make(*environment_in(tmp_path), "PYTHON=/no/such/python")
    assert result.returncode == 2
    assert "No Python from 3.11.2 to 3.14 found under PYTHON=/no/such/python." in result.stderr
    assert "apt-get install python3 python3-venv" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", ["3.10.12", "3.11.0", "3.11.1", "3.15.0"])
def test_a_python_that_is_too_old_or_too_new_is_named(version: str, tmp_path: Path) -> None:
    python = tmp_path / "python-unfit"
    numbers = ", ".join(version.split("."))
    pretends = f"import sys; sys.version_info = ({numbers}, 'final', 0);"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{pretends} $2"\n')
    python.chmod(0o755)
    result = make(*environment_in(tmp_path), f"PYTHON={python}")
    assert result.returncode == 2
    assert f"found under PYTHON={python}; {python} is {version}." in result.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.proof
def test_the_first_python_that_fits_makes_the_environment(tmp_path: Path) -> None:
    result = make(*environment_in(tmp_path), f"PYTHON={sys.executable}")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "venv" / "bin" / "pip").is_file()


@pytest.mark.parametrize(
    ("arguments", "groups"),
    [
        (["grade", "HW=hw03", "SUBMISSIONS=class"], "torch course judge"),
        (["release", "HW=hw03"], "torch course judge"),
        (["book"], "torch course book"),
        (["install", "GROUPS=course"], "torch course"),
        (["install", "GROUPS=judge book"], "torch course judge book"),
        (["install"], "torch course judge book test"),
        (["lint"], "torch course judge book test"),
        (["hub"], "torch course hub"),
    ],
)
def test_a_target_installs_the_groups_that_it_needs(
    arguments: list[str], groups: str, tmp_path: Path
) -> None:
    planned = make("--dry-run", f"VENV={tmp_path}", f"SITE={tmp_path}", *arguments).stdout
    assert re.findall(r"--requirement requirements/(\w+)\.txt", planned) == groups.split()
    assert planned.count("--editable .") == 1


@pytest.fixture
def ordinary_user(tmp_path: Path) -> Path:
    """A folder for $PATH in which one is not root, has no sudo and no bubblewrap."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bash").symlink_to(shutil.which("bash"))
    (folder / "id").write_text("#!/bin/sh\necho 1000\n")
    (folder / "id").chmod(0o755)
    return folder


def make_as(user: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    no_lists = ["LIBRARY=", "CHAPTERS=", "GRADER="]  # they are made with find, which is not there
    return make(*arguments, *no_lists, f"SHELL={user / 'bash'}", path=str(user))


def test_who_may_not_install_bubblewrap_is_told_the_command(ordinary_user: Path) -> None:
    result = make_as(ordinary_user, "bubblewrap")
    assert result.returncode == 2
    assert "Missing: bubblewrap (the sandbox that student code runs in)." in result.stderr
    assert "    sudo apt-get install bubblewrap\n" in result.stderr


def test_a_python_that_cannot_make_environments_is_said(
    ordinary_user: Path, tmp_path: Path
) -> None:
    # As Debian ships it: venv is a package of its own.
    python = ordinary_user / "python-alone"
    refuses = 'case "$*" in *ensurepip*) exit 1;; esac'
    python.write_text(f'#!/bin/sh\n{refuses}\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    result = make_as(ordinary_user, *environment_in(tmp_path), f"PYTHON={python}")
    package = f"python3.{sys.version_info.minor}-venv"
    assert result.returncode == 2
    assert f"    sudo apt-get install {package}\n" in result.stderr
    assert not (tmp_path / "venv").exists()
