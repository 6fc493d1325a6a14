"""Chapters run again exactly when something changes that their outputs depend on."""

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
from course_book.notebooks.outputs_cache import surroundings

from tests.book.builds import Build

ROOT = Path(__file__).parents[3]
in_a_tiny_book = pytest.mark.depends_on("book/_ext")
PAGE = """---
file_format: mystnb
kernelspec:
  display_name: Python 3
  name: python3
---
# Page

```{code-cell} python
import sys
from course_lib.answer import ANSWER
print("the answer is", ANSWER, "by", sys.prefix)
```
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "course_lib").mkdir()
    (tmp_path / "course_lib" / "__init__.py").touch()  # else the real one would go before it
    (tmp_path / "course_lib" / "answer.py").write_text("from .number import NUMBER as ANSWER\n")
    (tmp_path / "course_lib" / "number.py").write_text("NUMBER = 41\n")
    (tmp_path / "index.md").write_text(PAGE)
    return tmp_path


def start(book: Path) -> Build:
    options = [
        "extensions=myst_nb,sphinxcontrib.katex,course_book",
        "html_math_renderer=katex",
        "katex_prerender=1",
        "nb_execution_mode=cache",
        "nb_execution_raise_on_error=1",
        "exclude_patterns=out",
    ]
    flags = [flag for option in options for flag in ("-D", option)]
    return Build("sphinx", "-C", *flags, "-d", "out/doctrees", ".", "out/html", folder=book)


def build(book: Path) -> tuple[str, str]:
    status, log = start(book).wait()
    assert status == 0, log
    return (book / "out" / "html" / "index.html").read_text(), log


def chapters_run(log: str) -> set[str]:
    return set(re.findall(r"running chapters\.\.\. \[ *\d+%\] (\w+)", log))


def is_running(process: int) -> bool:
    return psutil.pid_exists(process) and psutil.Process(process).status() != psutil.STATUS_ZOMBIE


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@in_a_tiny_book
def test_what_failed_or_uses_what_was_edited_runs_again_and_nothing_else(book):
    """Whatever fails is named, and runs again; the answer goes by a module to the first alone."""
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
    assert "running chapters... [100%]" in log
    assert "IPKernelApp" not in log
    assert f"the answer is 41 by {sys.prefix}" in html

    (book / "course_lib" / "number.py").write_text("NUMBER = 42\n")
    html, log = build(book)
    assert "the answer is 42" in html
    assert chapters_run(log) == {"index"}
    assert "running chapters... [100%] index" in log
    assert "reading sources... [100%] index" in log
    assert "Executing notebook" not in log  # found in the cache when its page was read
    folders = list((book / "out").glob("chapter-outputs/*/*"))
    assert sorted(folder.parent.name for folder in folders) == [
        "index", "killed", "whole", "wrong",  # the old outputs are gone
    ]  # fmt: skip
    assert all(list(folder.glob("*.db")) for folder in folders)


def test_every_chapter_depends_on_its_kernel_and_on_versions():
    around = surroundings()
    assert any("IPYTHONDIR" in text for text in around)
    assert f"torch {importlib.metadata.version('torch')}" in around
    assert f"python {sys.version.split()[0]}" in around


@in_a_tiny_book
@pytest.mark.skipif(os.cpu_count() == 1, reason="one core runs one chapter after the other")
def test_chapters_run_side_by_side(book):
    """Each of the two ends only once the other has begun."""
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


WAITING = """import os, pathlib, time
pathlib.Path("kernel").write_text(str(os.getpid()))
time.sleep(3600)"""


@in_a_tiny_book
@pytest.mark.proof
def test_an_interrupted_build_leaves_no_kernel(book):
    (book / "index.md").write_text(PAGE.replace("import sys", WAITING))
    building = start(book)
    until((book / "kernel").is_file)
    until(lambda: bool((book / "kernel").read_text()))
    os.kill(building.pid, signal.SIGINT)
    status, _ = building.wait()
    assert status != 0
    until(lambda: not is_running(int((book / "kernel").read_text())))


def test_a_change_of_styles_or_scripts_reaches_the_built_site(site):
    """Sphinx copies them only if a page has changed, too; our digest makes it do so."""
    static = ROOT / "book" / "_static"
    ours = {file.relative_to(static): file for file in static.rglob("*") if file.is_file()}
    ours |= {Path("figures", address): file for address, file in figure_assets().items()}
    assert len(ours) > 80
    for address, file in ours.items():
        assert (site / "_static" / address).read_bytes() == file.read_bytes(), file
    assert not list((site / "_static").rglob("*.py"))
