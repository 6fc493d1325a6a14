"""A student's homeworks together: what each counts, and the whole."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from autograder.marks.dates import Dates
from autograder.marks.standing import Standing


@dataclass(frozen=True, kw_only=True)
class Term:
    """A student's homeworks so far.

    Attributes:
        standings: One for each homework, in the order of their ids.
        missed: Homeworks of which nothing was there to be graded: they count as nothing reached.
        excused: Homeworks that count nothing for this student, by the dates.
        dropped: Homeworks that are left out of the total, those with the smallest shares.
        total: Of the points to be had in the others, the mean share that was reached, from 0 to 1:
            each homework counts the same. None where there are no others.
    """

    standings: tuple[Standing, ...]
    missed: tuple[str, ...] = ()
    excused: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    total: float | None = None

    @property
    def left_out(self) -> frozenset[str]:
        """The homeworks that the total leaves out, for whatever reason."""
        return self.excused | self.dropped


def sum_up(
    standings: Sequence[Standing],
    drop_lowest: int = 0,
    *,
    missed: Iterable[str] = (),
    excused: Collection[str] = (),
) -> Term:
    """Put a student's homeworks together."""
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
    """Put every student's homeworks together."""
    now = now or datetime.now(UTC)
    by_student: dict[str, list[Standing]] = defaultdict(list)
    ungraded = set()
    for standing in standings:
        if standing.result.interrupted:  # no mark, and nothing missed
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
                if _is_over(dates.due_for(student, name), now)
                if (student, name) not in ungraded and not is_unread(student, name)
            ],
            excused=dates.excused.get(student, ()),
        )
        for student in sorted(by_student, key=str.casefold)
    }


def _is_over(due: datetime | None, now: datetime) -> bool:
    return due is None or due < now


def share(standing: Standing) -> float:
    """Return the share of a homework's points that count."""
    return standing.score / standing.max_score if standing.max_score else 0.0
