"""Finds the full names that a cell of code uses, without running it.

``import torch.nn.functional as F`` followed by ``F.layer_norm(x)`` uses
``torch.nn.functional.layer_norm``. Python's own parser does the reading, so this runs where a text
that brings the parser down does no harm: in a worker, before any of the student's code.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from .cell_code import code_of
from .definitions import defined_by
from .imports import Import, Known
from .statement_reader import StatementReader
from .statements import (
    DEFINITIONS,
    changed,
    filled,
    has_blocks,
    plain,
    put_into,
    surely_bound,
    take_apart,
)
from .uses import Statement, Use

_DEPTH = 10_000  # Python compiles what is nested far less, and breaks down at far more


@dataclass(frozen=True)
class Check:
    """A moment at which an exercise's object is looked at.

    Attributes:
        after: How many statements have run by then.
        imported: What was imported under its name, if anything.
    """

    after: int
    imported: Use | None


class Notebook:
    """Reads cells in the order in which they would run.

    Attributes:
        statements: What was read, in order; imports and the instructor's cells left out.
        known: What its names stand for, as things are now.
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.known = Known()
        self._checks: dict[str, list[Check]] = defaultdict(list)

    def read(self, label: str, source: str, *, students: bool = True) -> None:
        """Read one cell.

        Args:
            label: What to call it.
            source: Its text, magics included.
            students: Whether its statements are kept, not only what it imports.

        Raises:
            SyntaxError: It is no Python.
            RecursionError: It is nested too deep.
        """
        bound = [
            each
            for code, offset in code_of(source)
            for node in _parse(code, label).body
            for each in self._bind(node, label, offset)
        ]
        for node, reader in bound if students else ():
            reader.visit(node)  # only now: what functions call by name, they look up later
            self.statements.append(reader.found)

    def check(self, exercise: str) -> None:
        """Note that an exercise is checked before the next cell runs."""
        self._checks[exercise].append(self._check_now(exercise))

    def checks_of(self, exercise: str) -> list[Check]:
        """Return when an exercise is checked: after the last cell, if nothing is known of that."""
        return self._checks.get(exercise) or [self._check_now(exercise)]

    def _check_now(self, exercise: str) -> Check:
        return Check(len(self.statements), self.known.imported.get(exercise))

    def _bind(
        self, node: ast.stmt, label: str, offset: int
    ) -> Iterator[tuple[ast.stmt, StatementReader]]:
        """Note what a statement makes of names, and yield what is left to be read of it."""
        blocks = has_blocks(node)
        either: set[str] = set()  # imported in a try, say, and something else where that fails
        for part in take_apart(node):
            defined = defined_by(part)
            if isinstance(part, Import):
                either |= self.known.add_import(part, label, offset)
                continue
            reader = StatementReader(self.known, part, label, offset, often=blocks)
            places = list(filled(part))
            names = [name for name, _ in places]
            more = Counter(changed(part)) - Counter(names)
            more.update(_read_by_value(part))  # what is in one place may be in another, too
            reader.found.binds = defined | set(changed(part)) | {place for _, place in places}
            reader.found.fills = set(names) - defined - set(more)
            reader.found.plain = plain(part)
            reader.found.adds = put_into(part) is not None
            reader.found.covers = set() if blocks else surely_bound(part)
            other = reader.resolve(part.value) if isinstance(part, ast.Assign) else None
            alias = Use(other, *reader.found.place) if other else None
            now = surely_bound(part) if isinstance(part, DEFINITIONS) else defined
            self.known.add_definition(now - either, alias)
            self.known.defined |= defined
            yield part, reader


def _read_by_value(node: ast.stmt) -> set[str]:
    value = getattr(node, "value", None)
    inner = ast.walk(value) if isinstance(node, ast.Assign) and value else ()
    return {part.id for part in inner if isinstance(part, ast.Name)}


def _parse(code: str, label: str) -> ast.Module:
    """Parse, but refuse what is nested so deep that Python's compiler breaks down over it."""
    tree = ast.parse(code, f'cell "{label}"')
    if len(code) < _DEPTH // 4:  # no text has so many levels a character
        return tree
    level: list[ast.AST] = [tree]
    for _ in range(_DEPTH):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise RecursionError("nested too deep")
