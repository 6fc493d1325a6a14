"""Variants of a solution: right ones in other styles, and wrong ones with one mistake each.

They stand in the homework's source, in a cell ``variants="exercise"`` that is never released. A
wrong variant names the check that it costs and the hint for it. While grading, a submission whose
answers equal those of a wrong variant pays where the variant says, and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograder.homework_source.cell_text import without_markers
from autograder.homework_source.homework import Cell, HomeworkError, Variant

Edit = tuple[str, str]
"""A piece of source that occurs once, and its replacement."""


@dataclass(frozen=True)
class Style:
    """A right solution, from which wrong ones can be made.

    Attributes:
        source: Its text.
        wrong: Declares a wrong variant of it; see ``read_variants``.
    """

    source: str
    wrong: Callable[..., None]


def read_variants(cell: Cell, solution: Cell, checks: list[str]) -> tuple[Variant, ...]:
    """Run a cell that declares variants.

    The cell is Python, and calls these functions:

    - ``right(name, *edits)``: a right solution; returns it, so that ``style.wrong(...)`` can edit
      it further;
    - ``wrong(name, *edits, lost="check", hint="You ...; do ...")``: a wrong one;
    - ``same(piece, reason)``: a line of a mutant that no test can tell from the solution.

    An edit is a pair, a piece of source that occurs once and its replacement; or, alone, the
    whole source.

    Args:
        cell: The cell.
        solution: The solution cell of the exercise.
        checks: The exercise's checks, by their names.

    Returns:
        The variants, in order.

    Raises:
        HomeworkError: An edit does not fit, or ``lost`` names no check; the message says which.
    """
    exercise = solution.grade_id
    found: list[Variant] = []

    def edited(name: str, base: str, edits: tuple[Any, ...]) -> str:
        if len(edits) == 1 and isinstance(edits[0], str):
            return edits[0].strip("\n")
        for old, new in edits:
            if base.count(old) != 1:
                raise HomeworkError(f"{name!r}: {old!r} occurs {base.count(old)} times, not once")
            base = base.replace(old, new)
        return base

    def declare(base: str, name: str, edits: tuple[Any, ...], lost: str, hint: str) -> str:
        if any(variant.name == name for variant in found):
            raise HomeworkError(f"{name!r} is declared twice")
        names = checks if lost == "*" else [f"{exercise}-{check}" for check in lost.split()]
        for check in names:
            if check not in checks:
                raise HomeworkError(f"{name!r}: there is no check {check}")
        if lost and not hint.startswith("You"):
            raise HomeworkError(f"{name!r}: a hint speaks to the student: 'You ...; do ...'")
        source = edited(name, base, edits)
        is_whole = len(edits) == 1 and isinstance(edits[0], str)
        found.append(
            Variant(
                exercise=exercise,
                name=name,
                source=source,
                lost=tuple(names),
                hint=hint,
                base=base,
                edits=() if is_whole else edits,
            )
        )
        return source

    def style(source: str) -> Style:
        def wrong(name: str, *edits: Any, lost: str, hint: str) -> None:
            declare(source, name, edits, lost, hint)

        return Style(source, wrong)

    reference = style(without_markers(solution.source))

    def right(name: str, *edits: Any) -> Style:
        return style(declare(reference.source, name, edits, "", ""))

    def same(piece: str, reason: str) -> None:
        found.append(Variant(exercise=exercise, name=piece, source="", hint=reason))

    names = {"right": right, "wrong": reference.wrong, "same": same}
    try:
        exec(compile(cell.source, cell.where, "exec"), names)  # noqa: S102 -- the instructor's own
    except HomeworkError as error:
        raise HomeworkError(f"{cell.where}: variants of {exercise}: {error}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise HomeworkError(f"{cell.where}: variants of {exercise}: {reason}") from error
    return tuple(found)


def compose(first: Variant, second: Variant) -> Variant | None:
    """Make two mistakes at once.

    Args:
        first: A wrong variant.
        second: Another of the same exercise.

    Returns:
        Both edits of one solution; None where they do not fit together.
    """
    source = first.source
    if first.base != second.base or not first.edits or not second.edits:
        return None
    for old, new in second.edits:
        if source.count(old) != 1:
            return None
        source = source.replace(old, new)
    return Variant(
        exercise=first.exercise,
        name=f"{first.name}; {second.name}",
        source=source,
        lost=tuple(dict.fromkeys((*first.lost, *second.lost))),
        hint=f"{first.hint}\n{second.hint}",
    )
