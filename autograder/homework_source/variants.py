"""Variants of a solution: right ones in other styles, and wrong ones with one mistake each.

A homework's source declares them in a cell ``variants="exercise"``, which is never released. A
wrong variant names a check and a hint. A submission that gives the same values as the variant loses
that check's points only, and gets the hint.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from autograder.homework_source.cell_text import without_markers
from autograder.homework_source.homework import Cell, HomeworkError, Variant


@dataclass(frozen=True)
class Style:
    """A right solution that wrong variants can be derived from.

    Attributes:
        source: Its text.
        wrong: Function that declares a wrong variant of it, see ``read_variants``.
    """

    source: str
    wrong: Callable[..., None]


def read_variants(cell: Cell, solution: Cell, checks: list[str]) -> tuple[Variant, ...]:
    """Run a cell that declares variants of a solution cell, and return them in order.

    The cell calls these functions:

    - ``right(name, *edits)`` declares a right solution and returns it as a ``Style``, whose
      ``wrong(...)`` declares variants of that solution;
    - ``wrong(name, *edits, lost="check", hint="You ...; do ...")`` declares a wrong one, which
      fails the named ones of the exercise's ``checks``;
    - ``same(piece, reason)`` names a line whose mutants behave like the solution.

    An edit is a pair of a piece of source that occurs once and its replacement. A single string
    in place of edits is the whole source.

    Raises:
        HomeworkError: An edit does not fit, or ``lost`` names no check; the message names it.
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


def join_hints(hints: Iterable[str]) -> str:
    """Return one hint for mistakes that can't be told apart; a shared remedy is given once."""
    mistakes: dict[str, list[str]] = {}
    for hint in dict.fromkeys(hints):
        mistake, _, remedy = hint.partition("; ")
        mistakes.setdefault(f"; {remedy}" if remedy else hint, []).append(mistake)
    told = []
    for remedy, (first, *others) in mistakes.items():
        joined = ", or ".join((first, *(f"y{other[1:]}" for other in others)))  # You, or you
        told.append(f"{joined}{remedy}" if remedy.startswith("; ") else remedy)
    return told[0] if len(told) == 1 else "One of these: " + " Or: ".join(told)


def is_named(hint: str, text: str) -> bool:
    """Return whether a text, such as a result of ``join_hints``, contains this hint."""
    mistake, _, remedy = hint.partition("; ")
    return mistake.removeprefix("You") in text and remedy in text


def compose(first: Variant, second: Variant) -> Variant | None:
    """Return one variant with the mistakes of two, and the second one's hint.

    None if their edits don't fit together.
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
        hint=second.hint,  # charging has shown the first one's
    )
