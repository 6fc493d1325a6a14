"""The interactive figures by name: each folder with a ``figure.py`` holds one."""

from importlib import import_module
from pathlib import Path

from course_book.figures.figure import Figure


def _figures() -> dict[str, type[Figure]]:
    found: dict[str, type[Figure]] = {}
    for file in sorted(Path(__file__).parent.glob("*/figure.py")):
        folder = file.parent.name
        module = import_module(f"course_book.figures.{folder}.figure")
        (figure,) = (
            item
            for item in vars(module).values()
            if isinstance(item, type)
            and issubclass(item, Figure)
            and item.__module__ == module.__name__
        )
        found[folder.replace("_", "-")] = figure
    return found


FIGURES = _figures()
