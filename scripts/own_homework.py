"""Create a homework: ``make homework NAME=angles``.

It writes a source that is complete, with variants that try its checks, names the homework wherever
homework is named, and releases it.
"""

import re
import subprocess
import sys
from pathlib import Path

from scripts import contents

ROOT = Path(__file__).parent.parent
TEMPLATES = Path(__file__).parent / "templates"
MODEL = "hw10-angles"
CHAPTER = "language-models"
"""The section of the book that the template's checks name."""


def homework_id(name: str, root: Path) -> str:
    """Return the id of a new homework, given its id, ``hw10-angles``, or its name, ``angles``.

    A name gets the next free number of the project.

    Raises:
        SystemExit: The name is invalid, or its number is taken.
    """
    taken = {path.stem[2:4]: path.stem for path in (root / "solutions").glob("hw*.py")}
    numbered = re.fullmatch(r"hw(\d\d)-(.+)", contents.check_name(name))
    if not numbered:
        return f"hw{max(map(int, taken), default=0) + 1:02d}-{name}"
    if other := taken.get(numbered[1]):
        raise SystemExit(f"{name}: the number is taken, by {other}; nothing was written")
    contents.check_name(numbered[2])
    return name


def adapted(template: Path, homework: str) -> str:
    """Return a template's text with the number and title that the id ``homework`` gives."""
    number, _, name = homework.partition("-")
    text = template.read_text(encoding="utf-8").replace(MODEL.partition("-")[0], number)
    heading = f"Homework {int(number[2:])}: {contents.title_of(name)}"
    return text.replace("Homework 10: Angles", heading)


def begin_homework(name: str, root: Path) -> str:
    """Write the source of a new homework into a project, and return its id.

    ``name`` is its name or its id. It is also added to ``course_map.py`` and to the longest
    timetable for teachers.

    Raises:
        SystemExit: The name is invalid or taken; nothing is written then.
    """
    homework = homework_id(name, root)
    file = root / "solutions" / f"{homework}.py"
    file.write_text(adapted(TEMPLATES / f"{MODEL}.py", homework), encoding="utf-8")
    changes = {
        contents.MAP: lambda rows: contents.with_row(rows, CHAPTER, homework),
        contents.PLANS: lambda plans: contents.planned(plans, homework=homework),
    }
    contents.change(root, changes)
    return homework


def main(name: str) -> None:
    """Create a homework, given its name or id; print its files, release it, grade its solution."""
    homework = begin_homework(name, ROOT)
    print(
        f"solutions/{homework}.py; and its name in {contents.MAP}, README.md and the first plan of "
        f"{contents.PLANS}",
        flush=True,
    )
    for program in (["autograder", "release"], ["scripts.try_homework"]):
        subprocess.run([sys.executable, "-m", *program, homework], cwd=ROOT, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
