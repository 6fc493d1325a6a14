"""Combines a student's homeworks into the total of the course."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from autograder.marks.standing import Standing
from autograder.term.dates import Dates


@dataclass(frozen=True, kw_only=True)
class Term:
    """A student's homeworks so far.

    Attributes:
        standings: One for each homework handed in, sorted by id.
        missed: Homeworks not handed in: their share is 0.
        excused: Homeworks that dates.toml excuses this student from.
        dropped: Homeworks left out of the total, those with the smallest shares.
        total: Mean share of the graded points over the other homeworks, from 0 to 1; None without
            any.
    """

    standings: tuple[Standing, ...]
    missed: tuple[str, ...] = ()
    excused: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    total: float | None = None

    @property
    def left_out(self) -> frozenset[str]:
        """The homeworks that the total leaves out."""
        return self.excused | self.dropped


def sum_up(
    standings: Sequence[Standing],
    drop_lowest: int = 0,
    *,
    missed: Iterable[str] = (),
    excused: Collection[str] = (),
) -> Term:
    """Return one student's ``Term``; its total leaves out the ``drop_lowest`` smallest shares.

    At least one homework counts. ``missed`` and ``excused`` are homeworks' ids.
    """
    ordered = sorted(standings, key=lambda standing: standing.result.homework)
    reached = {standing.result.homework: share(standing) for standing in ordered}
    missing = sorted({*missed} - {*reached} - {*excused})
    shares = {name: found for name, found in reached.items() if name not in excused}
    by_share = sorted((shares | dict.fromkeys(missing, 0.0)).items(), key=lambda item: item[1])
    count = min(drop_lowest, max(0, len(by_share) - 1))
    counted = [found for _, found in by_share[count:]]
    return Term(
        standings=tuple(ordered),
        missed=tuple(missing),
        excused=frozenset(excused),
        dropped=frozenset(name for name, _ in by_share[:count]),
        total=sum(counted) / len(counted) if counted else None,
    )


def terms_of(
    standings: Iterable[Standing],
    dates: Dates,
    graded: Collection[str] | None = None,
    *,
    is_unread: Callable[[str, str], bool] = lambda student, homework: False,
    now: datetime | None = None,
) -> dict[str, Term]:
    """Return each student's ``Term``, all homeworks so far, by student id in alphabetical order.

    A homework in ``graded``, by default any with a result, counts as missed if it is due and a
    student has no result of it; not if ``is_unread(student, homework)``, for unreadable results.
    """
    now = now or datetime.now(UTC)
    by_student: dict[str, list[Standing]] = defaultdict(list)
    ungraded = set()
    for standing in standings:
        if standing.result.interrupted:  # has no mark, and does not count as missed
            ungraded.add((standing.student, standing.result.homework))
        else:
            by_student[standing.student].append(standing)
    if graded is None:
        graded = {s.result.homework for of_one in by_student.values() for s in of_one}
    return {
        student: sum_up(
            by_student[student],
            dates.drop_lowest,
            missed=[
                name
                for name in graded
                if (dates.due_for(student, name) or now) <= now
                if (student, name) not in ungraded and not is_unread(student, name)
            ],
            excused=dates.excused.get(student, ()),
        )
        for student in sorted(by_student, key=str.casefold)
    }


def share(standing: Standing) -> float:
    """Return a homework's points as a share of the maximum, without answers not yet graded."""
    return standing.score / standing.graded_score if standing.graded_score else 0.0
