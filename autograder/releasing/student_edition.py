"""Makes the edition of course_lib for a homework, without the layers that students write.

The layers of this homework and of every later one are withheld, with the names that their exercises
list as ``withholds``. Code that uses a withheld name is withheld too, because it could not run. An
import of a withheld name raises an error that names the homework that asks for it.
"""

import ast
import functools
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.homework_source.cell_text import students_text, without_magics
from autograder.homework_source.fetch_edition import MARKER
from autograder.homework_source.homework import (
    Cell,
    CellKind,
    Homework,
    HomeworkError,
    resolve_homework,
)
from autograder.homework_source.marked_reference import defined_by
from autograder.homework_source.source import read_source

PACKAGE = "course_lib"
RECIPES = "recipes"  # training runs, which need more packages; no homework asks for them


@dataclass(frozen=True)
class Reason:
    """The reason why a name is withheld.

    Attributes:
        layer: The layer that a homework asks for: the name itself, or one that its module imports.
        homework: The first homework that asks for it.
    """

    layer: str
    homework: str

    def words(self, name: str) -> str:
        """Return the reason as a clause about ``name``."""
        if name == self.layer:
            return f"homework {self.homework} asks you to write it"
        return f"it stands on {self.layer}, which homework {self.homework} asks you to write"


Withheld = dict[str, dict[str, Reason]]
"""For each module, such as ``course_lib.layers.attention``, its withheld names."""

_CLOSING = '''

_WITHHELD = {{
{entries}
}}


def __getattr__(name: str) -> object:
    """Say why a name is not here."""
    if name in _WITHHELD:
        raise ImportError(f"{{__name__}}.{{name}} is not in this edition: {{_WITHHELD[name]}}")
    raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
'''

_NO_RECIPES = '''"""Whole training runs: the course's project has them."""

raise ImportError(
    "course_lib.recipes is not in this edition: its runs need more than homework installs; the "
    "course's project has them"
)
'''


def write_student_edition(homework_id: str, root: Path, destination: Path) -> None:
    """Write ``course_lib`` to a folder, without the layers that students write.

    The modules in ``course_lib.recipes``, which no homework needs, are left out too.

    Raises:
        HomeworkError: There is no such homework, a source is invalid, or the student notebook
            itself imports a withheld name; the message names the import.
    """
    homework = resolve_homework(homework_id, root)
    paths = {
        _module_name(path, root): path
        for path in sorted((root / PACKAGE).rglob("*.py"))
        if path.relative_to(root / PACKAGE).parts[0] != RECIPES
    }
    texts = {module: path.read_text(encoding="utf-8") for module, path in paths.items()}
    asked = _asked_for(homework, root)
    for module in asked.keys() - texts.keys():
        raise HomeworkError(f"a homework asks for {module}, which {root / PACKAGE} lacks")
    withheld = _with_dependents(asked, texts)
    edited = {
        module: withhold(texts[module], set(reasons)) + _closing(reasons)
        for module, reasons in withheld.items()
    }

    @functools.cache  # the notebook imports few modules
    def gone(module: str) -> set[str]:
        after = edited.get(module)
        return set() if after is None else _names_in(texts[module]) - _names_in(after)

    _check_notebook(homework, root, withheld, gone)

    target = destination / PACKAGE
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", RECIPES)
    shutil.copytree(root / PACKAGE, target, ignore=ignored)
    for module, text in edited.items():
        (target / paths[module].relative_to(root / PACKAGE)).write_text(text, encoding="utf-8")
    (target / RECIPES).mkdir()
    (target / RECIPES / "__init__.py").write_text(_NO_RECIPES, encoding="utf-8")
    (target / MARKER).write_text(f"{homework}\n", encoding="utf-8")


def importable_answers(homework: Homework, edition: Path) -> list[tuple[str, str]]:
    """Return the solutions that students could import from the edition instead of writing them.

    Each is a pair: the grade_id of the solution cell, and the dotted name to import.
    """
    asked = {
        name: cell.grade_id
        for cell in homework.cells
        if cell.kind is CellKind.SOLUTION
        for name in _public_names(without_magics(cell.source))
    }
    return [
        (asked[name], f"{_module_name(path, edition)}.{name}")
        for path in sorted((edition / PACKAGE).rglob("*.py"))
        for name in sorted(asked.keys() & _public_names(ast.parse(path.read_text("utf-8"))))
    ]


def _public_names(module: ast.Module) -> set[str]:
    defined = [n for n in module.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return {node.name for node in defined if node.name[0] != "_"}


def withhold(text: str, names: set[str]) -> str:
    """Return a module's text without these definitions and without the code that only they use.

    Imports, private functions and private constants that only the removed definitions use are
    removed too, because they would reveal parts of the solution.
    """
    body = ast.parse(text).body
    missing = names - {n for node in body for n in _imported_names(node) | _defined_names(node)}
    if missing:
        raise HomeworkError(f"course_lib does not define {', '.join(sorted(missing))}")
    removed = [node for node in body if names & _defined_names(node)]
    while orphans := [
        node for node in body if node not in removed and _serves(node, removed, body)
    ]:
        removed += orphans
    kept = [node for node in body if node not in removed]
    used = {name for node in kept for name in _used_names(node)}
    idle = names | {name for node in removed for name in _used_names(node)} - used

    lines = text.split("\n")
    for node in reversed(body):
        first, last = _span(node, lines)
        if node in removed or _documents_removed(node, body, removed):
            while first > 1 and not lines[first - 2].strip():
                first -= 1
            lines[first - 1 : last] = []
        elif isinstance(node, ast.Import | ast.ImportFrom) and idle & _imported_names(node):
            node.names = [a for a in node.names if (a.asname or a.name).split(".")[0] not in idle]
            lines[first - 1 : last] = [ast.unparse(node)] if node.names else []
        elif "__all__" in _defined_names(node) and isinstance(node, ast.Assign):
            listed = [name for name in ast.literal_eval(node.value) if name not in names]
            lines[first - 1 : last] = ["__all__ = " + json.dumps(listed)]
    return "\n".join(lines).strip() + "\n"


def _asked_for(homework: str, root: Path) -> Withheld:
    """Return the layers of this and later homeworks, with the first homework that asks for each."""
    asked: Withheld = {}
    for source in sorted((root / "solutions").glob("hw[0-9][0-9]-*.py")):
        if source.stem < homework:
            continue
        for module, name in _layers(source.read_text(encoding="utf-8")):
            asked.setdefault(module, {}).setdefault(name, Reason(name, source.stem))
    return asked


def _layers(source: str) -> Iterator[tuple[str, str]]:
    """Yield the names of course_lib, as (module, name), that solve a homework's exercises.

    They stand in the labels ``of`` and ``withholds``. Only the labels are read, because reading a
    whole source takes a hundred times as long.
    """
    for line in re.findall(r"^# %% (.+)", source, re.MULTILINE):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
        if "solution" not in labels:
            continue
        if "of" in labels:
            yield labels["of"], labels["solution"]
        for name in labels.get("withholds", "").split():
            module, _, last = name.rpartition(".")
            yield module, last


def _with_dependents(asked: Withheld, texts: dict[str, str]) -> Withheld:
    """Return the names in ``asked``, and all names of any module that use or re-export one of them.

    ``texts`` are the sources by module.
    """
    bodies = {module: ast.parse(text).body for module, text in texts.items()}
    imports = {module: _imports(body, module) for module, body in bodies.items()}
    used_and_defined = functools.cache(lambda node: (_used_names(node), _defined_names(node)))
    withheld = {module: dict(reasons) for module, reasons in asked.items()}
    grew = True
    while grew:
        grew = False
        for module, body in bodies.items():
            reasons = withheld.get(module, {})
            gone = reasons | {
                name: withheld[origin][imported]
                for origin, imported, name in imports[module]
                if imported in withheld.get(origin, {})
            }
            if not gone:
                continue
            found = gone | {
                name: gone[needed]
                for node in body
                for used, defined in [used_and_defined(node)]
                for needed in sorted(used & gone.keys())
                for name in defined - gone.keys() - {"__all__"}
            }
            if found.keys() > reasons.keys():
                withheld[module], grew = found, True
    return withheld


def _names_in(text: str) -> set[str]:
    body = ast.parse(text).body
    imports = [
        n for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    imported = {name for node in imports for name in _imported_names(node)}
    return imported | {name for node in body for name in _defined_names(node)}


def _check_notebook(
    homework: str, root: Path, withheld: Withheld, gone: Callable[[str], set[str]]
) -> None:
    """Raise a HomeworkError if the student notebook imports a name that the edition lacks.

    ``gone`` returns the names that the edition removes from a module.
    """
    for cell in read_source(root / "solutions" / f"{homework}.py"):
        if cell.kind in (CellKind.TEXT, CellKind.WRITTEN, CellKind.VARIANTS):
            continue
        for origin, name, _ in _imports(ast.walk(_shown_to_students(cell)), PACKAGE):
            if name in withheld.get(origin, {}):
                raise HomeworkError(
                    f"{cell.where}: the {cell.kind} cell imports {name} from {origin}, which this "
                    f"homework's edition withholds: {withheld[origin][name].words(name)}"
                )
            if name in gone(origin):
                raise HomeworkError(
                    f"{cell.where}: the {cell.kind} cell imports {name} from {origin}, which only "
                    "re-exports it and is withheld in this homework's edition: import it from the "
                    "module that defines it"
                )


def _shown_to_students(cell: Cell) -> ast.Module:
    try:
        return without_magics(students_text(cell))
    except SyntaxError as error:
        raise HomeworkError(
            f"{cell.where}: line {error.lineno} of the cell: {error.msg}"
        ) from error


def _imports(nodes: Iterable[ast.AST], module: str) -> list[tuple[str, str, str]]:
    """Return the from-imports that run when ``module`` is imported: (module, name, local name).

    Imports in functions and classes, and for type checkers alone, are left out.
    """
    found = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                package = module.split(".")[: -node.level]
                origin = ".".join([*package, *filter(None, [node.module])])
            found += [(origin, alias.name, alias.asname or alias.name) for alias in node.names]
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            found += _imports(node.orelse, module)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            found += _imports(ast.iter_child_nodes(node), module)
    return found


def _serves(node: ast.stmt, removed: list[ast.stmt], body: list[ast.stmt]) -> bool:
    """Return whether a statement defines private names that only ``removed`` statements use.

    ``node`` is a statement of the module's ``body``; if nothing uses the names, it stays.
    """
    names = {name for name in _defined_names(node) if re.match("_[^_]", name)}
    if not names:
        return False
    others = [other for other in body if other is not node]
    users = [other for other in others if names & _used_names(other)]
    return bool(users) and all(user in removed for user in users)


def _documents_removed(node: ast.stmt, body: list[ast.stmt], removed: list[ast.stmt]) -> bool:
    """Return whether ``node`` is the docstring of a removed constant."""
    is_string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    before = body[body.index(node) - 1] if body.index(node) else None
    return is_string and before in removed and isinstance(before, ast.Assign | ast.AnnAssign)


def _span(node: ast.stmt, lines: list[str]) -> tuple[int, int]:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    while first > 1 and lines[first - 2].startswith("#"):  # a comment belongs to the code below it
        first -= 1
    return first, node.end_lineno or node.lineno


def _imported_names(node: ast.stmt) -> set[str]:
    names = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
    return {(alias.asname or alias.name).split(".")[0] for alias in names}


@functools.lru_cache(maxsize=2_000)  # called many times for each statement
def _defined_names(node: ast.stmt) -> frozenset[str]:
    return frozenset(defined_by(node))


@functools.lru_cache(maxsize=2_000)  # likewise
def _used_names(node: ast.stmt) -> frozenset[str]:
    """Return the names that a statement reads and does not define, annotations included."""
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return frozenset(read) - _defined_names(node)


def _module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _closing(reasons: dict[str, Reason]) -> str:
    entries = [f'    "{name}": "{reason.words(name)}",' for name, reason in sorted(reasons.items())]
    return _CLOSING.format(entries="\n".join(entries))
