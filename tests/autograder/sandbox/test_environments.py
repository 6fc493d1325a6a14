"""Python environments that are more than one plain folder: workers find the judge's packages."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from autograder.sandbox import file_system
from autograder.sandbox.sandbox import check_sandbox
from autograder.sandbox.zygote import SandboxError

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[3]
PACKAGES = sysconfig.get_path("purelib")
WORK = """
import contextlib, sys
from pathlib import Path
from autograder.judging.student_process import StudentProcess
from autograder.sandbox.sandbox import Sandbox, check_sandbox
from autograder.sandbox.worker.isolation import Limits

check_sandbox()
with contextlib.closing(Sandbox(Path(sys.argv[1]), limits=Limits())) as sandbox:
    process = StudentProcess(sandbox, seconds=60, submission_seconds=60)
    print(process.run_cell("a cell", sys.argv[2]))
"""


@pytest.fixture(scope="module", autouse=True)
def _working_sandbox(sandbox):
    """Skip this file's tests if no sandbox works here; in CI let them fail."""


@pytest.fixture
def tree():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:  # a worker has a /tmp of its own
        folder = Path(name).resolve()
        folder.chmod(0o755)
        (folder / "library" / "course_lib").mkdir(parents=True)
        yield folder


def install_extra(folder: Path) -> Path:
    """Write the module ``extra`` of an installed package into a folder, and return the folder.

    It also gets the remains of a broken installation.
    """
    information = folder / "tqdm-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tqdm\nVersion: 1\n")
    (information / "RECORD").write_text("extra.py,,\ntqdm-1.dist-info/METADATA,,\n")
    (folder / "extra.py").write_text("found = True")
    (folder / "~qdm-1.dist-info").mkdir()
    return folder


def run_cell(python: Path, source: str, tree: Path, **environment: str) -> str:
    """Run a cell's source in a sandbox worker started by ``python``.

    Return the text ``None`` if it succeeded, else that of its error.
    """
    done = subprocess.run(
        [python, "-c", WORK, tree / "library", source], cwd=ROOT, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tree), **environment}, timeout=600,
    )  # fmt: skip
    return done.stdout.strip() or done.stderr


@pytest.mark.proof
def test_linked_environment_of_a_linked_python_works(tree):
    (tree / "python").symlink_to(sys.base_prefix)
    base = tree / "python" / "bin" / Path(os.path.realpath(sys.executable)).name
    subprocess.run([base, "-m", "venv", "--without-pip", tree / "environment"], check=True)
    extra = install_extra(tree / "more" / "site-packages")
    joins = next((tree / "environment").glob("lib/python3*/site-packages")) / "joined.pth"
    joins.write_text(f"{PACKAGES}\n{extra}\n")
    (tree / "course").mkdir()
    (tree / "course" / ".venv").symlink_to(tree / "environment")
    python = tree / "course" / ".venv" / "bin" / "python"
    assert run_cell(python, "import extra, torch; assert extra.found", tree) == "None"


@pytest.mark.proof
def test_environment_made_by_a_linked_python_works(tree):
    """``uv python install`` and Homebrew link Python from folders that workers do not see."""
    (tree / "programs").mkdir()
    link = tree / "programs" / "python3"
    link.symlink_to(Path(sys.base_prefix) / "bin" / Path(os.path.realpath(sys.executable)).name)
    subprocess.run([link, "-m", "venv", "--without-pip", tree / "environment"], check=True)
    joins = next((tree / "environment").glob("lib/python3*/site-packages")) / "joined.pth"
    joins.write_text(f"{PACKAGES}\n")
    assert run_cell(tree / "environment" / "bin" / "python", "import torch", tree) == "None"


@pytest.mark.proof
def test_pythonpath_shows_packages_and_no_other_folders(tree):
    extra = install_extra(tree / "more" / "site-packages")
    (tree / "handed-in").mkdir()
    (tree / "handed-in" / "ada.ipynb").touch()
    source = (
        "import extra, os, sys; assert extra.found\n"
        f"assert not os.path.exists({str(tree / 'handed-in')!r})\n"
        f"assert {str(tree / 'handed-in')!r} not in sys.path"
    )
    shown = os.pathsep.join(map(str, (extra, tree / "handed-in")))
    assert run_cell(Path(sys.executable), source, tree, PYTHONPATH=shown) == "None"


def test_course_in_a_linked_environment_is_covered(tree, monkeypatch):
    """Where the library's wheel is installed, its solutions lie beside torch."""
    (tree / "environment" / "lib" / "packages" / "course_lib").mkdir(parents=True)
    (tree / "link").symlink_to(tree / "environment")
    monkeypatch.setattr(sys, "prefix", str(tree / "link"))
    monkeypatch.syspath_prepend(tree / "link" / "lib" / "packages")
    mounts = file_system._folder_mounts()
    covers = file_system._course_covers()
    assert str(tree / "environment" / "lib") in mounts
    assert str(tree / "link" / "lib") not in mounts
    assert str(tree / "environment" / "lib" / "packages" / "course_lib") in covers


def test_link_that_occurs_twice_is_made_once(tree, monkeypatch):
    """/usr/local/lib64 occurs twice if Python is in /usr/local; bubblewrap makes no path twice."""
    (tree / "lib").mkdir()
    (tree / "lib64").symlink_to("lib")
    places = [tree / "lib", tree / "lib64", tree / "lib64"]
    monkeypatch.setattr(file_system, "_places", lambda: places)
    assert file_system._folder_mounts().count(str(tree / "lib64")) == 1


def test_python_that_does_not_start_is_not_blamed_on_the_kernel(tree, monkeypatch):
    alone = tree / "hidden" / "bin" / "python"
    alone.parent.mkdir(parents=True)
    alone.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(alone))
    with pytest.raises(SandboxError, match="Python does not start in the sandbox") as told:
        check_sandbox()
    assert "namespaces" not in str(told.value)
    assert "No such file" in str(told.value)
