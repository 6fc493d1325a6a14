"""Data classes of a homework: cells by kind, and variants of solutions."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class HomeworkError(ValueError):
    """A homework does not exist, or its source is invalid."""


class CellKind(enum.StrEnum):
    """The purpose of a cell, which decides where it runs during grading."""

    TEXT = "text"  # prose; never runs
    SETUP = "setup"  # the instructor's, locked; runs in the judge and in the student's process
    SOLUTION = "solution"  # the student's answer; runs in the student's process
    TEST = "test"  # a check worth points; runs in the judge
    WRITTEN = "written"  # an answer in words; graded by hand
    DEMO = "demo"  # the instructor's, ungraded; not run during grading
    VARIANTS = "variants"  # the instructor's, never released, see ``variants``
    FETCH = "fetch"  # installs course_lib, see ``fetch_edition``; not run during grading


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a homework.

    Attributes:
        kind: Its purpose.
        grade_id: Its unique name; empty for text.
        source: Its whole text, solutions and hidden tests included.
        points: Maximum points; 0 for an ungraded cell.
        exercise: grade_id of the solution cell that a test belongs to; empty otherwise.
        title: Description of a test, or heading of a written answer.
        read: The section of the book to read, as ``chapter#anchor``; may be empty.
        forbids: For a solution, the full names of PyTorch functions and layers that it may not
            run, such as ``torch.nn.LayerNorm``; if one runs, the exercise earns no points.
        installs: For a setup cell, packages that students install for cells of their own; they are
            not installed for grading.
        of: For a solution taken from course_lib, the module; else empty.
        prints: For a demo, a line that it prints once the homework is solved; may be empty.
        where: File and line of its ``# %%``, for messages; ignored by comparisons.
    """

    kind: CellKind
    grade_id: str
    source: str
    points: float = 0.0
    exercise: str = ""
    title: str = ""
    read: str = ""
    forbids: tuple[str, ...] = ()
    installs: tuple[str, ...] = ()
    of: str = ""
    prints: str = ""
    where: str = field(default="", compare=False, repr=False)

    def place(self, line: int) -> str:
        """Return ``file:line`` for a line of the cell's text, counted from 1."""
        path, _, header = self.where.rpartition(":")
        return f"{path}:{int(header or 0) + line}"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """Another form of a solution, right or wrong, see ``variants``.

    Attributes:
        exercise: grade_id of the solution cell.
        name: The style, or the mistake, in a few words.
        source: The cell's text; empty for a declaration by ``same``, see ``read_variants``.
        lost: grade_ids of the checks that lose their points for this mistake; empty for a right
            solution.
        hint: Advice for a student who made the mistake.
        base: The solution that ``edits`` apply to.
        edits: Pieces of ``base`` and their replacements; empty if the source is written whole.
    """

    exercise: str
    name: str
    source: str
    lost: tuple[str, ...] = ()
    hint: str = ""
    base: str = ""
    edits: tuple[tuple[str, str], ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether this is a right solution, which must pass every check."""
        return bool(self.source) and not self.lost


@dataclass(frozen=True, kw_only=True)
class Homework:
    """A homework.

    Attributes:
        id: Name of the nbgrader assignment and of the notebook, such as ``hw03-self-attention``.
        title: The notebook's first heading.
        cells: All cells, in order.
        variants: Other forms of its solutions, right and wrong; may be empty.
        headings: For each ``read``, the headings of its chapter and section in the book.
    """

    id: str
    title: str
    cells: tuple[Cell, ...]
    variants: tuple[Variant, ...] = ()
    headings: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def checks(self) -> tuple[Cell, ...]:
        """The cells that are worth points, in order: tests and written answers."""
        return tuple(c for c in self.cells if c.kind in (CellKind.TEST, CellKind.WRITTEN))

    def mistakes_in(self, exercise: str) -> tuple[Variant, ...]:
        """Return the wrong variants of an exercise."""
        return tuple(v for v in self.variants if v.exercise == exercise and v.lost)


def all_homeworks(root: Path) -> list[str]:
    """Return the sorted ids of all homeworks in ``root / "solutions"``."""
    return sorted(path.stem for path in (root / "solutions").glob("hw[0-9][0-9]-*.py"))


def resolve_homework(name: str, root: Path) -> str:
    """Return the id, such as ``hw03-self-attention``, of a homework with this id or number (hw03).

    Raises:
        HomeworkError: No homework, or more than one, has that name; the message lists all.
    """
    known = all_homeworks(root)
    found = [homework for homework in known if name in (homework, homework.split("-")[0])]
    if len(found) != 1:
        problem = f"{name!r} stands for several homeworks" if found else f"no homework {name!r}"
        files = sorted(path.name for path in (root / "solutions").glob("*.py"))
        misnamed = [file for file in files if file.startswith(name) and file[:-3] not in known]
        if name and misnamed and not found:
            problem += f": its file must be solutions/hwNN-name.py, not {misnamed[0]}"
        raise HomeworkError(f"{problem}; known: {', '.join(known) or 'none in ' + str(root)}")
    return found[0]
