"""The project's files that a chapter's code uses: those it imports, directly or not, and reads."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

LIBRARY = "course_lib"
_MODULE_IN_TEXT = re.compile(rf"\b{LIBRARY}(?:\.\w+)+")
_PATH = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)+")


class UsedFiles:
    """Finds the files of a project that a chapter's code uses; reads each file once.

    Args:
        root: The folder of the project, which holds ``course_lib``.

    Raises:
        FileNotFoundError: It holds no ``course_lib``.
    """

    def __init__(self, root: Path) -> None:
        if not (root / LIBRARY).is_dir():
            raise FileNotFoundError(f"{LIBRARY} not found at {root / LIBRARY}")
        self.root = root
        self._imported: dict[Path, list[Path]] = {}

    def by(self, cells: Iterable[str]) -> set[Path]:
        """Return the files used by a chapter, given the sources of its code cells.

        They are the project's modules that the cells import or name in a string, the modules that
        these import in turn, other files in their folders (styles, tables), and the files of each
        path from the root that is a string in a cell.
        """
        found: set[Path] = set()
        waiting = [file for cell in cells for file in self._of_cell(cell)]
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                waiting += self._of_module(file)
        return found

    def _of_cell(self, source: str) -> Iterator[Path]:
        try:
            tree = ast.parse(source)
        except SyntaxError:  # IPython's magics: they may use anything
            yield from _files_under(self.root / LIBRARY)
            return
        for name in imported_names(tree):
            yield from self._files_of(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for name in _MODULE_IN_TEXT.findall(node.value):
                    yield from self._files_of(name)
                if _PATH.fullmatch(node.value):
                    yield from _files_under(self.root / node.value)

    def _of_module(self, file: Path) -> list[Path]:
        if file not in self._imported:
            tree = ast.parse(file.read_bytes() if file.suffix == ".py" else "")
            package = file.relative_to(self.root).parent.parts
            names = imported_names(tree, package)
            self._imported[file] = [found for name in names for found in self._files_of(name)]
        return self._imported[file]

    def _files_of(self, name: str) -> Iterator[Path]:
        """Yield a module's file and those of its packages, given its name.

        Names that are not the project's have no files.
        """
        path = self.root
        for part in name.split("."):
            path /= part
            if not path.is_dir():
                module = path.with_suffix(".py")
                yield from [module] if module.is_file() else []
                return
            beside = (file for file in path.iterdir() if file.is_file() and file.suffix != ".py")
            init = path / "__init__.py"
            yield from [init, *beside] if init.is_file() else beside


def imported_names(tree: ast.AST, package: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the full names that code imports, inside functions too.

    ``package`` has the names of the package that relative imports start from.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = [*above, *([node.module] if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)


def _files_under(path: Path) -> Iterator[Path]:
    files = path.rglob("*") if path.is_dir() else [path]
    return (file for file in files if file.is_file() and "__pycache__" not in file.parts)
