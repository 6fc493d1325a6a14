"""A homework, and its cells by kind."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class HomeworkError(ValueError):
    """A homework that does not exist, or whose source is not well formed."""


class CellKind(enum.StrEnum):
    """What a cell is for, and so where it runs when a submission is graded."""

    TEXT = "text"  # prose: never runs
    SETUP = "setup"  # the instructor's, locked: runs in the judge and in the student's process
    SOLUTION = "solution"  # the student's answer: runs in the student's process
    TEST = "test"  # a check worth points: runs in the judge
    WRITTEN = "written"  # an answer in words: graded by hand
    DEMO = "demo"  # the instructor's, for fun: does not run when grading
    VARIANTS = "variants"  # the instructor's, never released: see ``variants``
    FETCH = "fetch"  # the release's, for a notebook that is alone: does not run when grading


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a homework.

    Attributes:
        kind: What it is for.
        grade_id: Its name, unique; empty for text.
        source: Its whole text, solutions and hidden tests included.
        points: What it is worth; 0 for a cell that is not graded.
        exercise: grade_id of the solution cell that a test belongs to; empty otherwise.
        title: What a test checks, in words; for a written answer its heading.
        read: Where in the book to read on, as ``chapter#anchor``; may be empty.
        forbids: For a solution, the full names of PyTorch's functions and layers that it may not
            run, such as ``torch.nn.LayerNorm``: with one of them its checks are lost.
        installs: For a setup cell, packages that students install for cells of their own; they are
            missing where homework is graded.
        of: For a solution that course_lib holds, the module; else empty.
        prints: For a demo, a line that it prints once the homework is solved; may be empty.
        where: File and line of its ``# %%``, for messages: no part of what it is.
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
        """Return the file and the line there of a line of the text, which is counted from 1."""
        path, _, header = self.where.rpartition(":")
        return f"{path}:{int(header or 0) + line}"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A solution in another form, see ``variants``.

    Attributes:
        exercise: grade_id of the solution cell.
        name: The style, or the mistake, in a few words.
        source: What stands in the cell; empty for a remark about mutants.
        lost: The checks that the mistake costs, by grade_id; empty for a right solution.
        hint: What to tell a student who made the mistake.
        base: The solution that ``edits`` apply to.
        edits: Pieces of it, and their replacements; none if the source is written whole.
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
        """Whether it must pass every check."""
        return bool(self.source) and not self.lost


@dataclass(frozen=True, kw_only=True)
class Homework:
    """A homework, as its source says.

    Attributes:
        id: Name of the nbgrader assignment and of the notebook, such as ``hw03-self-attention``.
        title: The notebook's first heading.
        cells: All cells, in order.
        variants: Solutions in other forms, right and wrong; none where the older form of tests is
            still in use.
        headings: Those of the chapter and of the section of each ``read``; a place that is missing
            is called by its name.
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
    """Return the ids of the homeworks that there are, sorted.

    Args:
        root: The project's folder, which holds ``solutions``.
    """
    return sorted(path.stem for path in (root / "solutions").glob("hw[0-9][0-9]-*.py"))


def resolve_homework(name: str, root: Path) -> str:
    """Find the homework that a short name stands for.

    Args:
        name: An id such as ``hw03-self-attention``, or its number alone, ``hw03``.
        root: The project's folder, which holds ``solutions``.

    Returns:
        The id.

    Raises:
        HomeworkError: No homework, or more than one, has that name; the message lists the known.
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
