"""Change the course as another instructor would, in a temporary copy: ``make fork-trial``.

It does what ``book/for-teachers.md`` says of "Making it yours": a name, a logo and dates; two
chapters and a homework are left out, and one of each is added. Then the book is built, a class is
graded, and the tests run that depend on chapters and homework.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUTPUTS = Path("build", "book", "_build", "chapter-outputs")
NAME = "Machines that read"
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M1 1h6v6H1z"/></svg>\n'
DATES = """time_zone = "Europe/Berlin"

[due]
hw01 = 2026-10-05T23:59:00
hw10 = 2026-10-12T23:59:00

[late]
percent_per_day = 10
"""
LEFT_OUT = (("image-captioning", ""), ("bleu", "hw07"))
"""Chapters to remove, each with the homework to remove, if any."""
TESTS = (
    *(f"tests/book/test_{name}.py" for name in ("pages", "links", "homework_links", "code_width")),
    *(f"tests/book/{room}" for room in ("directives", "figures", "site")),
    "tests/book/notebooks/test_chapter_notebooks.py",
    *("tests/test_house.py", "tests/test_contents.py", "tests/test_try_homework.py"),
    *("tests/homework/test_every_homework.py", "tests/homework/test_every_release.py"),
)
CONCERNED = " and ".join(f"not hw0{number}" for number in (1, 2, 3, 4, 5, 6, 8, 9))


def copy_project(copy: Path) -> None:
    """Copy the project into an empty folder, and make it a git repository with one commit.

    The cached outputs of chapters are copied too, but no other ignored file.
    """
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    if (ROOT / OUTPUTS).is_dir():
        shutil.copytree(ROOT / OUTPUTS, copy / OUTPUTS)
    run(copy, "git", "init", "--quiet")
    run(copy, "git", "add", "--all")
    somebody = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    run(copy, "git", *somebody, "commit", "--quiet", "--message", "feat: a course of our own")


def run(copy: Path, *command: str) -> None:
    """Run a program with arguments in the copied project, whose packages Python imports.

    Raises:
        CalledProcessError: It failed.
    """
    print(f"\n$ {' '.join(command)}", flush=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(copy), str(copy / "book/_ext")]),
    }
    subprocess.run(command, cwd=copy, env=environment, check=True)


def replace(file: Path, old: str, new: str) -> None:
    """Replace the one match of the regular expression ``old`` in a file by ``new``.

    Raises:
        ValueError: The expression matches nowhere, or more than once.
    """
    text, count = re.subn(old, new, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{file}: {old!r} stands there {count} times, not once")
    file.write_text(text, encoding="utf-8")


def rename(copy: Path) -> None:
    """Give the copied course another name, author and logo, and its own dates."""
    config = copy / "_config.yml"
    replace(config, r"^title: .*$", f"title: {NAME}\nlogo: book/_static/our-logo.svg")
    replace(config, r"^author: .*$", "author: a department")
    replace(config, r"^    html_title: .*$", f"    html_title: {NAME}")
    replace(config, r"^    html_short_title: .*$", f"    html_short_title: {NAME}")
    replace(copy / "book" / "intro.md", r"^# .*$", f"# {NAME}")
    replace(copy / "README.md", r"\A# .*$", f"# {NAME}")
    (copy / "book" / "_static" / "our-logo.svg").write_text(LOGO, encoding="utf-8")
    (copy / "dates.toml").write_text(DATES, encoding="utf-8")


def make_it_ours(copy: Path) -> None:
    """Give the copied project another name and contents; build it, grade a class, and test it."""
    rename(copy)
    python = (sys.executable, "-m")
    for chapter, homework in LEFT_OUT:
        run(copy, *python, "scripts.leave_out", chapter, homework)
    run(copy, *python, "scripts.own_chapter", "word-order")
    run(copy, *python, "scripts.own_homework", "angles")
    build = (str(Path(sys.executable).with_name("jupyter-book")), "build", ".")
    run(copy, *build, "--path-output", "build/book", "-W", "-n", "--keep-going")
    run(copy, *python, "tests.homework.sample_class", "build/class", "hw10")
    grade = ("autograder", "grade", "hw10", "--submissions", "build/class")
    run(copy, *python, *grade, "--out", "build/grades")
    run(copy, *python, "pytest", "-q", *TESTS, "-k", CONCERNED)


def main() -> None:
    """Copy the project, change the copy as a new owner would, test it, and remove it."""
    with tempfile.TemporaryDirectory(prefix="fork-") as folder:
        copy_project(Path(folder))
        make_it_ours(Path(folder))
    print("\nThe course can be made somebody else's")


if __name__ == "__main__":
    main()
