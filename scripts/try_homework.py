"""Try a released homework before students do: ``python -m scripts.try_homework hw03``.

Its own solution must pass every check, and the sections of the book that it names must exist. It
must have a title, a time and points, which the book's table of homework shows.
"""

import csv
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from scripts.contents import find_homework

ROOT = Path(__file__).parent.parent
_PLACE = re.compile(r'(?:\bread="|\(book:)([\w-]*)(?:#([\w-]+))?')


def missing_places(source: str, root: Path) -> list[str]:
    """Return the sections that a homework's source names and that the project's book lacks.

    They have the form ``masking#padding``, and are in the order of the source.
    """
    contents = (root / "_toc.yml").read_text(encoding="utf-8").split()
    missing = []
    for chapter, label in dict.fromkeys(_PLACE.findall(source)):
        page = root / "book" / f"{chapter}.md"
        there = f"book/{chapter}" in contents and page.is_file()
        if not there or (label and f"({label})=\n" not in page.read_text(encoding="utf-8")):
            missing.append(f"{chapter}#{label}" if label else chapter)
    return missing


def table_errors(homework: str, source: str) -> list[str]:
    """Return why a homework's source has no entry for the book's table of homework, if so.

    The list is empty if nothing is missing, or if the book's packages are not installed.
    """
    if not find_spec("myst_nb"):
        return []
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from course_book.directives.homework_table import homework_row

    try:
        homework_row(homework, source)
    except ValueError as problem:
        return [str(problem)]
    return []


def lost_checks(rows: Iterable[Mapping[str, str]]) -> list[str]:
    """Return name and message of each failed check, from the rows of a submission's grades.csv."""
    kept = ("pass", "manual")
    return [f"{row['check']}: {row['message']}" for row in rows if row["status"] not in kept]


def grade_solution(homework: str) -> list[dict[str, str]]:
    """Grade the solved notebook of a released homework; return the rows of grades.csv.

    Raises:
        SystemExit: It can't be graded; the message says why.
    """
    notebook = f"{homework}.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        place, out = Path(folder, "class", "solution", homework), Path(folder, "out")
        place.mkdir(parents=True)
        shutil.copyfile(ROOT / "build" / "source" / homework / notebook, place / notebook)
        command = [sys.executable, "-m", "autograder", "grade", homework, "--no-sandbox"]
        command += ["--workers", "1", "--submissions", str(place.parents[1]), "--out", str(out)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{homework} can't be graded:\n{done.stdout}{done.stderr}")
        with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


def main(name: str) -> None:
    """Try a homework, given its id or its number, such as ``hw03``, and print its problems.

    Raises:
        SystemExit: There is no such homework, or it has a problem.
    """
    homework = find_homework(name, ROOT)
    text = (ROOT / "solutions" / f"{homework}.py").read_text("utf-8")
    problems = {
        "the book can't show it": table_errors(homework, text),
        "these places are not in the book": missing_places(text, ROOT),
        "its own solution loses": lost_checks(grade_solution(homework)),
    }
    for problem, found in problems.items():
        if found:
            print(f"{homework}: {problem}:", *found, sep="\n  ", file=sys.stderr)
    if any(problems.values()):
        raise SystemExit("Fix solutions/, and release it again, before students get it.")
    print(f"{homework}: its own solution passes every check")


if __name__ == "__main__":
    main(sys.argv[1])
