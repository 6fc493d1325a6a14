"""The data that grading a homework needs, in a form that can be sent to any machine."""

import ast
import functools
import hashlib
import re
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import course_lib
from autograder.homework_source.cell_text import without_magics
from autograder.homework_source.homework import CellKind, Homework
from autograder.releasing.student_edition import PACKAGE, write_student_edition

_RUN = (CellKind.SETUP, CellKind.SOLUTION, CellKind.TEST)
_OF_EVERY_CHECK = {f"{PACKAGE}.testing", f"{PACKAGE}.usual_errors"}
_DOTTED = rf"{PACKAGE}(?:\.\w+)+"
_PARSING = threading.Lock()
"""Held while code is parsed: in two threads at once that may fail, see python/cpython#106905."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """A homework and the library that its students have.

    Attributes:
        homework: The homework.
        library: The student edition of ``course_lib``: relative path to text.
        digest: Hash of the cells that marks depend on, and of the modules that they use: the
            students' and the reference's. Comments and docstrings in modules do not count.
        reference: ``installed_reference()`` of the machine that read the course.
    """

    homework: Homework
    library: dict[str, str]
    digest: str = ""
    reference: str = ""

    @classmethod
    def load(cls, homework: Homework, root: Path) -> "Course":
        """Return a homework's course; its library is made from the project at ``root``."""
        with tempfile.TemporaryDirectory(prefix="student-edition-") as folder:
            write_student_edition(homework.id, root, Path(folder))
            library = _read_library(Path(folder))
        graded = (*_RUN, CellKind.WRITTEN)
        cells = tuple(cell for cell in homework.cells if cell.kind in graded)
        used = _modules_of(homework)
        digest = _hash(
            (replace(homework, cells=cells), _code(library, used), _code(_read_library(root), used))
        )
        return cls(
            homework=homework, library=library, digest=digest, reference=installed_reference()
        )

    @functools.cached_property
    def _modules(self) -> set[str]:
        return _modules_of(self.homework)

    def digest_for(self, notebook: bytes) -> str:
        """Return a hash of all that the marks of a notebook, given by its bytes, also depend on.

        That is the digest, and the code of other modules of ``course_lib`` that the notebook names.
        """
        named = {name.decode() for name in re.findall(_DOTTED.encode(), notebook)}
        folders = tuple(f"{name.replace('.', '/')}/" for name in named)  # of packages
        named |= {_module_name(path) for path in self.library if path.startswith(folders)}
        with _PARSING:
            more = _code(self.library, named)
            for path in _code(self.library, self._modules):
                more.pop(path, None)
        return _hash((self.digest, more)) if more else self.digest


@functools.cache
def installed_reference() -> str:
    """Return a hash of the installed ``course_lib``, whose solutions the checks compare with."""
    return _hash(sorted(_read_library(Path(course_lib.__file__).parents[1]).items()))


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


def _read_library(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((root / PACKAGE).rglob("*"))
        if path.is_file() and path.suffix in (".py", ".mplstyle", ".typed")
    }


def _module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _modules_of(homework: Homework) -> set[str]:
    """Return the modules that a homework's cells import, and those of its reference solutions."""
    cells = [cell for cell in homework.cells if cell.kind in _RUN]
    trees = [without_magics(cell.source) for cell in cells]
    imported = {name for tree in trees for name in _imports(tree, PACKAGE)}
    return imported | {cell.of for cell in cells if cell.of} | _OF_EVERY_CHECK


def _code(library: Mapping[str, str], modules: Iterable[str]) -> dict[str, str]:
    """Return the code of modules and of all that they import, and their data files, by path.

    ``library`` is as in ``Course``; ``modules`` are full names, also of names inside modules.
    """
    found: dict[str, str] = {}
    waiting = {PACKAGE, *modules}
    while waiting:
        parts = waiting.pop().split(".")
        for count in range(1, len(parts) + 1):  # importing a module imports its packages
            stem = "/".join(parts[:count])
            for path in (f"{stem}.py", f"{stem}/__init__.py"):
                if path in library and path not in found:
                    found[path], imported = _read_module(library[path], _folder(path))
                    waiting |= imported
    folders = {_folder(path) for path in found}
    data = (path for path in library if not path.endswith(".py") and _folder(path) in folders)
    found |= {path: library[path] for path in data}
    return dict(sorted(found.items()))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


@functools.lru_cache(maxsize=1_000)  # modules of both libraries, for a whole class
def _read_module(text: str, folder: str) -> tuple[str, frozenset[str]]:
    """Return a module's code without comments and docstrings, and the full names that it imports.

    ``text`` is its source, ``folder`` the folder of its package, as in ``course_lib/layers``.
    """
    tree = ast.parse(text)
    imported = frozenset(_imports(tree, folder.replace("/", ".")))
    return ast.dump(_WithoutDocstrings().visit(tree)), imported


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        value = node.value
        return None if isinstance(value, ast.Constant) and isinstance(value.value, str) else node


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the full names of modules, and of names in them, that code imports or has in a string.

    ``package`` is where relative imports start.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            parents = parents[: len(parents) - node.level + 1] if node.level else []
            origin = ".".join([*parents, *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(_DOTTED, node.value)
