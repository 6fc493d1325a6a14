"""The Makefile: help, error messages, installation and the book's server."""

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
    """Run make with these arguments in the project; ``path`` replaces $PATH, if given."""
    # Variables of an outer make would change this one's output.
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
def test_check_runs_tests_of_edits_and_fails_without_a_commit(since: str, known: bool) -> None:
    """Without selected tests, pytest would run all."""
    options = [] if since == "HEAD" else [f"SINCE={since}"]  # HEAD is the default
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
def test_all_tests_run_with_all_and_in_ci(options: list[str], leaves_out: bool) -> None:
    planned = make(
        "--dry-run", "test", f"VENV={os.path.relpath(sys.prefix, ROOT)}", *options
    ).stdout
    assert ("--leave-out-unchanged" in planned.rpartition("-m pytest")[2]) == leaves_out


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a title page, which stands for the built book."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<title>a page</title>")
    return folder


@pytest.fixture
def taken_port() -> int:
    """A port on which another server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free_port() -> int:
    """A port that no server uses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_make_without_target_lists_public_targets() -> None:
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
        (
            ["leave-out"],
            "Which chapter or homework? For instance: make leave-out CHAPTER=bleu HW=hw07",
        ),
        (["preview"], "Which chapter? For instance: make preview CHAPTER=decoding"),
        (["grade"], "Which homework? For instance: make grade HW=hw03"),
        (["grade", "HW=hw03"], "Which class? For instance: make grade HW=hw03 SUBMISSIONS=folder"),
        (["serve", "SITE=no-such-folder"], "The book is not built yet. First: make book"),
    ],
)
def test_missing_variable_is_named(arguments: list[str], message: str) -> None:
    result = make(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("port", ["80", "65536", "http", "8000; true", "-1", ""])
def test_serve_rejects_invalid_port(port: str, site: Path) -> None:
    result = make("serve", f"SITE={site}", f"PORT={port}")
    assert result.returncode == 2
    assert f"PORT must be a number from 1024 to 65535, got: {port}" in result.stderr


def test_serve_reports_a_port_in_use(taken_port: int, site: Path) -> None:
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
    """Return the title page at a port, with retries while the ``server`` starts."""
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
    """Return whether a process has ended, without reaping it: its group can still be signalled."""
    return bool(os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))


def environment_in(folder: Path) -> list[str]:
    """Return make's arguments that create a Python environment in a folder, without packages."""
    return [f"VENV={folder / 'venv'}", str(folder / "venv" / "bin" / "python")]


def test_missing_python_is_reported(tmp_path: Path) -> None:
    result = make(*environment_in(tmp_path), "PYTHON=/no/such/python")
    assert result.returncode == 2
    assert "No Python from 3.11.2 to 3.14 found under PYTHON=/no/such/python." in result.stderr
    assert "apt-get install python3 python3-venv" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", ["3.10.12", "3.11.0", "3.11.1", "3.15.0"])
def test_unsupported_python_is_named(version: str, tmp_path: Path) -> None:
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
def test_first_supported_python_makes_the_environment(tmp_path: Path) -> None:
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
def test_target_installs_its_groups(arguments: list[str], groups: str, tmp_path: Path) -> None:
    planned = make("--dry-run", f"VENV={tmp_path}", f"SITE={tmp_path}", *arguments).stdout
    assert re.findall(r"--requirement requirements/(\w+)\.txt", planned) == groups.split()
    assert planned.count("--editable .") == 1


@pytest.fixture
def ordinary_user(tmp_path: Path) -> Path:
    """A folder that serves as the $PATH of an ordinary user without sudo and bubblewrap."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bash").symlink_to(shutil.which("bash"))
    (folder / "id").write_text("#!/bin/sh\necho 1000\n")
    (folder / "id").chmod(0o755)
    return folder


def make_as(user: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make with the folder ``user`` as $PATH."""
    no_lists = ["LIBRARY=", "CHAPTERS=", "GRADER="]  # find, which makes them, is missing
    return make(*arguments, *no_lists, f"SHELL={user / 'bash'}", path=str(user))


def test_missing_bubblewrap_message_shows_the_command(ordinary_user: Path) -> None:
    result = make_as(ordinary_user, "bubblewrap")
    assert result.returncode == 2
    assert "Missing: bubblewrap (the sandbox that student code runs in)." in result.stderr
    assert "    sudo apt-get install bubblewrap\n" in result.stderr


def test_python_without_venv_is_reported(ordinary_user: Path, tmp_path: Path) -> None:
    # Debian packages venv separately.
    python = ordinary_user / "python-alone"
    refuses = 'case "$*" in *ensurepip*) exit 1;; esac'
    python.write_text(f'#!/bin/sh\n{refuses}\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    result = make_as(ordinary_user, *environment_in(tmp_path), f"PYTHON={python}")
    package = f"python3.{sys.version_info.minor}-venv"
    assert result.returncode == 2
    assert f"    sudo apt-get install {package}\n" in result.stderr
    assert not (tmp_path / "venv").exists()
