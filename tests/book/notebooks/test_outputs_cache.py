"""Chapters run again exactly when their outputs may change, and in parallel."""

import importlib.metadata
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from course_book.figures.assets import figure_assets
from course_book.notebooks.kernels import set_environment
from course_book.notebooks.outputs_cache import surroundings

from tests.book.builds import Build, start_sphinx
from tests.book.small_book import WITH_CODE

ROOT = Path(__file__).parents[3]
in_a_tiny_book = pytest.mark.depends_on("book/_ext")
PAGE = (
    WITH_CODE
    + """# Page

```{code-cell} python
import sys
from course_lib.answer import ANSWER
print("the answer is", ANSWER, "by", sys.prefix)
```
"""
)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """The folder of a page that uses a small ``course_lib`` of its own."""
    (tmp_path / "course_lib").mkdir()
    (tmp_path / "course_lib" / "__init__.py").touch()  # found before the real one
    (tmp_path / "course_lib" / "answer.py").write_text("from .number import NUMBER as ANSWER\n")
    (tmp_path / "course_lib" / "number.py").write_text("NUMBER = 41\n")
    (tmp_path / "index.md").write_text(PAGE)
    return tmp_path


def start(book: Path) -> Build:
    """Start a build of the book that runs its chapters."""
    options = {"nb_execution_mode": "cache", "nb_execution_raise_on_error": 1}
    command = ("-d", "out/doctrees", ".", "out/html")
    return start_sphinx(*command, folder=book, exclude_patterns="out", **options)


def build(book: Path) -> tuple[str, str]:
    """Build the book, and return the HTML of its index page and the output of the build."""
    status, log = start(book).wait()
    assert status == 0, log
    return (book / "out" / "html" / "index.html").read_text(), log


def chapters_run(log: str) -> set[str]:
    """Return the names of the chapters that a build has run, from its output."""
    return set(re.findall(r"running chapters\.\.\. \[ *\d+%\] (\w+)", log))


@in_a_tiny_book
def test_failed_chapters_and_those_that_use_an_edited_module_run_again(book):
    failing = {"killed": "import os; os.kill(os.getpid(), 9)", "wrong": "1 / 0"}
    without = PAGE.replace("from course_lib.answer import ANSWER", "ANSWER = 7")
    for page, code in {**failing, "whole": "pass"}.items():
        (book / f"{page}.md").write_text(without.replace("import sys", f"import sys\n{code}"))
    with (book / "index.md").open("a") as index:
        index.write("\n```{toctree}\nkilled\nwhole\nwrong\n```\n")
    status, log = start(book).wait()
    assert status != 0
    assert "wrong could not be run: " in log
    assert "ZeroDivisionError" in log
    assert "killed could not be run: Kernel died" in log
    assert re.search("could not be run: (wrong, killed|killed, wrong)$", log, re.MULTILINE)

    for page in failing:
        (book / f"{page}.md").write_text(without)
    html, log = build(book)
    assert chapters_run(log) == {*failing}  # the others had run
    assert "IPKernelApp" not in log
    assert f"the answer is 41 by {sys.prefix}" in html

    (book / "course_lib" / "number.py").write_text("NUMBER = 42\n")
    html, log = build(book)
    assert "the answer is 42" in html
    assert chapters_run(log) == {"index"}
    assert "reading sources... [100%] index" in log
    assert "Executing notebook" not in log  # found in the cache when its page was read
    folders = list((book / "out").glob("chapter-outputs/*/*"))
    pages = sorted(folder.parent.name for folder in folders)
    assert pages == ["index", "killed", "whole", "wrong"]  # the old outputs are gone
    assert all(list(folder.glob("*.db")) for folder in folders)


def test_every_chapter_depends_on_its_kernel_and_on_versions(monkeypatch, tmp_path):
    around = surroundings()
    assert any("IPYTHONDIR" in text for text in around)
    assert f"torch {importlib.metadata.version('torch')}" in around
    assert f"python {sys.version.split()[0]}" in around
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("PYTHONPATH", "JUPYTER_PREFER_ENV_PATH", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    set_environment(tmp_path)
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert os.environ["PYTHONPATH"] == str(tmp_path)


@in_a_tiny_book
@pytest.mark.skipif(os.cpu_count() == 1, reason="one core runs one chapter after the other")
def test_chapters_run_in_parallel(book):
    """Each of the two chapters waits for the other to begin."""
    for own, other in [("index", "second"), ("second", "index")]:
        code = f"""
import time, pathlib
pathlib.Path("{own}.begun").touch()
end = time.monotonic() + 600
while not pathlib.Path("{other}.begun").exists():
    assert time.monotonic() < end
    time.sleep(0.05)
print("{own} met {other}")
"""
        page = PAGE.replace('print("the answer is", ANSWER, "by", sys.prefix)', code)
        (book / f"{own}.md").write_text(page)
    with (book / "index.md").open("a") as index:
        index.write("\n```{toctree}\nsecond\n```\n")
    html, _ = build(book)
    assert "index met second" in html


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, at most ten minutes."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@in_a_tiny_book
@pytest.mark.proof
def test_an_interrupted_build_leaves_no_kernel(book):
    code = "import os, pathlib, time\npathlib.Path('kernel').write_text(str(os.getpid()))\n"
    (book / "index.md").write_text(PAGE.replace("import sys", f"{code}time.sleep(3600)"))
    building = start(book)
    file = book / "kernel"
    wait_for(lambda: file.is_file() and bool(file.read_text()))
    os.kill(building.pid, signal.SIGINT)
    assert building.wait()[0] != 0
    kernel = int(file.read_text())
    wait_for(
        lambda: (
            not psutil.pid_exists(kernel) or psutil.Process(kernel).status() == psutil.STATUS_ZOMBIE
        )
    )


def test_a_changed_style_or_script_reaches_the_built_site(site):
    """Sphinx copies them only when it writes a page; ``course_looks_digest`` has it write all."""
    static = ROOT / "book" / "_static"
    ours = {file.relative_to(static): file for file in static.rglob("*") if file.is_file()}
    ours |= {Path("figures", address): file for address, file in figure_assets().items()}
    assert len(ours) > 80
    for address, file in ours.items():
        assert (site / "_static" / address).read_bytes() == file.read_bytes(), file
    assert not list((site / "_static").rglob("*.py"))
