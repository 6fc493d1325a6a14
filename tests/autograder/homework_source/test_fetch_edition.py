"""The cell that a notebook begins with, where the notebook is alone: run as its text, by itself."""

import hashlib
import http.server
import os
import subprocess
import sys
import sysconfig
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.homework_source.fetch_edition import MARKER, fetch_cell

HOMEWORK = "hw03-self-attention"
SAYS_WHERE = "\nimport course_lib\nprint(course_lib.__file__)"


@pytest.fixture
def place(tmp_path):
    """An empty folder, in which the notebook lies."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def run(place, then="", **cell):
    """Run the cell where nothing of the project can be imported; ``then`` runs after it."""
    program = fetch_cell(HOMEWORK, **cell).source + then
    return subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=place,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PIP_NO_INDEX": "1",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


def complaint(done):
    """The error that it ended with, as IPython shows it: one line."""
    assert done.returncode, done.stdout
    kind, _, words = done.stderr.strip().splitlines()[-1].partition(": ")
    assert kind.endswith("FetchError"), done.stderr
    return words


def write_library(folder, edition=HOMEWORK):
    library = folder / "course_lib"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(f'print("this is {edition}")')
    if edition:
        (library / MARKER).write_text(f"{edition}\n")
    return library


def bundle(path, homework=HOMEWORK):
    """Write a zip as a release does; return its checksum."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{homework}/course_lib/__init__.py", f'print("this is {homework}")')
        archive.writestr(f"{homework}/course_lib/{MARKER}", f"{homework}\n")
        archive.writestr(f"{homework}/{homework}.ipynb", "{}")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass
class Answer:
    """What the server says next, and what it was asked."""

    body: bytes = b""
    length: int = 0
    status: int = 200
    asked: int = 0


@pytest.fixture
def server():
    """A server on this machine: its address, and what it answers."""
    answer = Answer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer.asked += 1
            self.send_response(answer.status)
            self.send_header("Content-Length", str(answer.length or len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_):
            pass

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}/edition.zip", answer
    served.shutdown()
    served.server_close()


@pytest.mark.parametrize("edition", [HOMEWORK, ""], ids=["edition", "whole library"])
def test_beside_its_library_the_cell_does_nothing_and_says_nothing(place, edition):
    write_library(place, edition)
    done = run(place, address="https://nowhere.invalid/", sha256="0", needs={"no-such-thing": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in place.iterdir()] == ["course_lib"]


def test_without_an_address_it_says_in_a_line_what_to_do(place):
    words = complaint(run(place))
    assert words.startswith("This homework's library is not here: upload hw03.zip")


def test_what_was_uploaded_is_used(place):
    bundle(place / "hw03 (1).zip")
    done = run(place, SAYS_WHERE)
    assert done.returncode == 0, done.stderr
    assert f"this is {HOMEWORK}\n" in done.stdout
    (folder,) = (path for path in place.iterdir() if path.is_dir())
    assert [path.name for path in folder.iterdir()] == ["course_lib"]  # the library alone


@pytest.mark.parametrize("fault", ["cut off", "another homework's"])
def test_an_upload_that_is_not_right_is_told(place, fault):
    other = "hw03-other" if fault != "cut off" else HOMEWORK
    bundle(place / "hw03.zip", other)
    if fault == "cut off":
        data = (place / "hw03.zip").read_bytes()
        (place / "hw03.zip").write_bytes(data[:-40])
    words = complaint(run(place))
    expected = "hw03.zip is not whole: " if fault == "cut off" else "hw03.zip is not that of this"
    assert words.startswith(expected)
    assert [path.name for path in place.iterdir()] == ["hw03.zip"]


def test_it_is_fetched_once(place, server, tmp_path):
    address, answer = server
    sha256 = bundle(tmp_path / "edition.zip")
    answer.body = (tmp_path / "edition.zip").read_bytes()
    for _ in range(2):  # the second time as after a restart of the kernel
        done = run(place, SAYS_WHERE, address=address, sha256=sha256)
        assert done.returncode == 0, done.stderr
        assert f"{place}/{HOMEWORK}-{sha256[:8]}/course_lib" in done.stdout
    assert answer.asked == 1


def test_half_a_download_is_not_used(place, server, tmp_path):
    address, answer = server
    sha256 = bundle(tmp_path / "edition.zip")
    whole = (tmp_path / "edition.zip").read_bytes()
    answer.body, answer.length = whole[:100], len(whole)
    words = complaint(run(place, address=address, sha256=sha256))
    assert words.startswith(f"The library can't be fetched from {address} (IncompleteRead")
    answer.body, answer.length = whole[:100], 0
    words = complaint(run(place, address=address, sha256=sha256))
    assert "is half of the library, or another version: it was not used" in words
    assert list(place.iterdir()) == []


def test_what_is_not_there_and_a_network_that_is_not_there_are_told(place, server):
    address, answer = server
    answer.status = 404
    words = complaint(run(place, address=address, sha256="0"))
    assert f"is not at {address} (error 404): perhaps this notebook is too old" in words
    words = complaint(run(place, address="https://nowhere.invalid/x.zip", sha256="0"))
    assert "Is there a network? On Kaggle it is switched on" in words
    assert list(place.iterdir()) == []


def test_another_homework_s_library_beside_it_is_passed_over(place, tmp_path):
    write_library(place, "hw02-other")
    assert complaint(run(place)).startswith("This homework's library is not here")
    bundle(place / "hw03.zip")
    assert f"this is {HOMEWORK}\n" in run(place, SAYS_WHERE).stdout


def test_another_homework_s_library_in_use_asks_for_a_restart(place):
    write_library(place, "hw02-other")
    bundle(place / "hw03.zip")
    cell = fetch_cell(HOMEWORK).source
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import course_lib\n{cell}"],
        cwd=place, capture_output=True, text=True,
    )  # fmt: skip
    assert complaint(done).startswith("The library of hw02-other is in use here: restart")


def test_an_old_package_stays_and_is_named(place):
    bundle(place / "hw03.zip")
    done = run(place, needs={"numpy": "99.1", "tqdm": "4.0"})
    assert done.returncode == 0, done.stderr
    assert " stays, but this homework was tried from 99.1 on." in done.stdout
    assert done.stdout.count("stays") == 1


def test_what_pip_can_t_install_is_told_in_its_words(place):
    bundle(place / "hw03.zip")
    words = complaint(run(place, needs={"no-such-package-of-the-course": "1.2"}))
    assert words.startswith("pip could not install no-such-package-of-the-course>=1.2: ")
    assert "No matching distribution" in words


def test_the_cell_leaves_no_name_behind(place):
    write_library(place)
    done = run(place, "\nprint([name for name in globals() if not name.startswith('__')])")
    assert done.stdout == "[]\n"


def test_the_cell_is_python_and_shows_no_remarks_of_linters():
    source = fetch_cell(HOMEWORK, needs={"torch": "2.11"}).source
    compile(source, "cell", "exec")
    assert source.startswith("# @title ")  # how Colab knows what to fold
    assert "noqa" not in source
    assert Path(__file__).parents[3].name not in source


IN_IPYTHON = """
import sys
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance(colors="nocolor").run_cell(sys.stdin.read())
"""


def test_a_notebook_shows_one_line(place):
    done = subprocess.run(
        [sys.executable, "-S", "-c", IN_IPYTHON],
        cwd=place,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "IPYTHONDIR": str(place.parent),
        },
        input=fetch_cell(HOMEWORK).source,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip().count("\n") == 0, done.stdout
    assert done.stdout.startswith("This homework's library is not here: upload hw03.zip"), done
