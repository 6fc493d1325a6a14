"""The cell that a notebook begins with, where the notebook is alone: run by IPython, by itself."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile

import pytest

from autograder.homework_source.fetch_edition import fetch_cell
from autograder.releasing.students_branch import wheel_name, write_wheel

HOMEWORK = "hw03-self-attention"
SAYS = "\nimport course_lib\nprint(course_lib.edition)"


@pytest.fixture
def place(tmp_path):
    """Return an empty folder, which stands for the notebook's folder."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def run(place, source):
    """Run a cell's source in IPython in the folder ``place``; return the ended process.

    It has neither the project's packages nor a network for pip.
    """
    (place / "cell.ipy").write_text(source)
    (place / "installed").mkdir()
    env = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_TARGET": str(place / "installed")}
    packages = [str(place / "installed"), sysconfig.get_path("purelib")]
    env |= {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(packages)}
    env |= {"IPYTHONDIR": str(place / "ipython"), "HOME": str(place)}
    start = "import IPython; IPython.start_ipython(['cell.ipy'])"
    command = [sys.executable, "-S", "-c", start]  # without site, the project is not there
    return subprocess.run(
        command, cwd=place, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def write_library(folder, edition):
    library = folder / "course_lib"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(f'edition = "{edition}"\n')


@pytest.mark.parametrize("wheel", ["", "https://example.invalid/course_lib-3-py3-none-any.whl"])
def test_beside_its_library_the_cell_does_nothing(place, wheel):
    write_library(place, "beside")
    done = run(place, fetch_cell(HOMEWORK, wheel=wheel, sha256="0" * 64).source + SAYS)
    assert done.stdout == "beside\n", done.stderr
    assert not any((place / "installed").iterdir())


def test_an_uploaded_zip_is_used(place):
    with zipfile.ZipFile(place / "hw03.zip", "w") as archive:
        archive.writestr(f"{HOMEWORK}/course_lib/__init__.py", 'edition = "uploaded"')
    done = run(place, fetch_cell(HOMEWORK).source + SAYS)
    assert done.stdout == "uploaded\n", done.stderr


def test_a_zip_that_was_not_uploaded_is_named(place):
    done = run(place, fetch_cell(HOMEWORK).source + SAYS)
    assert "hw03.zip" in done.stdout + done.stderr
    assert "upload it first" in fetch_cell(HOMEWORK).source


@pytest.fixture
def wheel(place):
    """Return the path of a wheel with a homework's edition of ``course_lib``."""
    write_library(place.parent / "edition", "installed")
    path = place.parent / wheel_name(HOMEWORK)
    write_wheel(place.parent / "edition", HOMEWORK, ["torch", "numpy"], path)
    return path


def test_the_published_wheel_is_installed_by_pip(place, wheel):
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    cell = fetch_cell(HOMEWORK, wheel=wheel.as_uri(), sha256=sha256)
    done = run(place, cell.source + SAYS)
    assert done.stdout.splitlines()[-1] == "installed", done.stdout + done.stderr
    (metadata,) = (place / "installed").glob("course_lib-3.dist-info/METADATA")
    assert "Requires-Dist: torch\nRequires-Dist: numpy\n" in metadata.read_text()


def test_another_wheel_than_the_published_one_is_not_installed(place, wheel):
    cell = fetch_cell(HOMEWORK, wheel=wheel.as_uri(), sha256="0" * 64)
    done = run(place, cell.source)
    assert "HASHES" in done.stdout + done.stderr
    assert not (place / "installed" / "course_lib").exists()
