"""Try a released homework before students do: ``python -m scripts.try_homework hw03``.

Its own solution must pass every check, and the places in the book that it names must be there. It
must have a title, a time and points, for the book's table of homework.
"""

import contextlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from scripts.contents import find_homework

ROOT = Path(__file__).parent.parent
_PLACE = re.compile(r'(?:\bread="|\(book:)([\w-]*)(?:#([\w-]+))?')


def missing_places(source: str, root: Path) -> list[str]:
    """Find the places in the book to which a homework leads, and which are not there.

    Args:
        source: The homework's source, a py:percent file.
        root: The project's folder, which holds ``_toc.yml`` and ``book``.

    Returns:
        The places, such as ``masking#padding``, in order.
    """
    contents = (root / "_toc.yml").read_text(encoding="utf-8").split()
    missing = []
    for chapter, label in dict.fromkeys(_PLACE.findall(source)):
        page = root / "book" / f"{chapter}.md"
        there = f"book/{chapter}" in contents and page.is_file()
        if not there or (label and f"({label})=\n" not in page.read_text(encoding="utf-8")):
            missing.append(f"{chapter}#{label}" if label else chapter)
    return missing


def unsaid(homework: str, source: str) -> list[str]:
    """Find missing entries for the book's table of homework.

    Args:
        homework: Its id.
        source: Its source, a py:percent file.

    Returns:
        The missing entries; empty where the book's packages are not installed.
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


def refusals(homework: str) -> list[str]:
    """Have the judge grade the reference solution.

    Args:
        homework: The homework's id, such as ``hw03-self-attention``.

    Returns:
        The reason why nobody could be graded; empty if there is none.
    """
    from autograder.class_run.course import Course
    from autograder.class_run.judges import JudgePool
    from autograder.class_run.options import GradingOptions
    from autograder.class_run.run import try_reference
    from autograder.homework_source.homework import HomeworkError
    from autograder.homework_source.source import load_homework

    with contextlib.closing(JudgePool()) as judges:
        try:
            course = Course.load(load_homework(homework, ROOT), ROOT)
            try_reference(course, GradingOptions(isolated=False), judges)
        except HomeworkError as error:
            return [str(error)]
    return []


def main(name: str) -> None:
    """Try a homework, and print its problems.

    Args:
        name: Its number, such as ``hw03``, or its id.

    Raises:
        SystemExit: There is none, or something is wrong with it.
    """
    homework = find_homework(name, ROOT)
    text = (ROOT / "solutions" / f"{homework}.py").read_text("utf-8")
    problems = {
        "the book can't show it": unsaid(homework, text),
        "these places are not in the book": missing_places(text, ROOT),
        "its own solution is refused": refusals(homework),
    }
    for problem, found in problems.items():
        if found:
            print(f"{homework}: {problem}:", *found, sep="\n  ", file=sys.stderr)
    if any(problems.values()):
        raise SystemExit("Fix solutions/, and release it again, before students get it.")
    print(f"{homework}: its own solution passes every check")


if __name__ == "__main__":
    main(sys.argv[1])
