"""One place where all that decides a mark comes together, for every page and file that shows it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograder.judging.results import CheckResult, Status, SubmissionResult
from autograder.marks.lateness import Lateness


@dataclass(frozen=True, kw_only=True)
class HandGrades:
    """What teaching assistants gave one submission.

    Attributes:
        points: Check to the points that take the place of the judge's.
        extra: Check to points on top.
        waiting: Checks that somebody is still to look at.
        comments: Check, or exercise, to what was said about it. Anything may stand in it.
    """

    points: Mapping[str, float] = field(default_factory=dict)
    extra: Mapping[str, float] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A submission as it counts now.

    Attributes:
        result: What grading found, with the points that a person gave in their places.
        by_hand: Checks whose points a person gave.
        unanswered: Those of them for which nothing was handed in, so that nobody had to look.
        waiting: Whether somebody is still to look at something.
        comments: Check, or exercise, to what a teaching assistant said about it.
        lateness: When it was due, and what being late costs.
    """

    result: SubmissionResult
    by_hand: frozenset[str] = frozenset()
    unanswered: frozenset[str] = frozenset()
    waiting: bool = False
    comments: Mapping[str, str] = field(default_factory=dict)
    lateness: Lateness = field(default_factory=Lateness)

    @property
    def student(self) -> str:
        """The student's id."""
        return self.result.student

    def word_by_hand(self, check: str) -> str:
        """Return how a check came to its points by hand; empty if the judge gave them."""
        if check in self.unanswered:
            return "Not answered"
        return "Graded by hand" if check in self.by_hand else ""

    @property
    def is_blank(self) -> bool:
        """Whether nothing was handed in, and nobody gave a point for it."""
        judged = tuple(check for check in self.result.checks if check.check not in self.by_hand)
        return self.result.score == 0 and replace(self.result, checks=judged).is_blank

    @property
    def penalty(self) -> float:
        """Points that lateness takes off; never more than there are."""
        return min(self.lateness.share * self.result.max_score, max(self.result.score, 0.0))

    @property
    def score(self) -> float:
        """Points that count."""
        return self.result.score - self.penalty

    @property
    def max_score(self) -> float:
        """Points to be had, written answers included."""
        return self.result.max_score


def stand(
    result: SubmissionResult,
    grades: HandGrades | None = None,
    lateness: Lateness | None = None,
) -> Standing:
    """Join what is known about a submission."""
    checks = tuple(_graded(check, grades) if grades else check for check in result.checks)
    by_hand = {
        now.check
        for was, now in zip(result.checks, checks, strict=True)
        if now is not was
    }  # fmt: skip
    waiting = any(check.status is Status.MANUAL for check in checks)
    return Standing(
        result=replace(result, checks=checks),
        by_hand=frozenset(by_hand),
        unanswered=frozenset(by_hand - {*grades.points, *grades.extra} if grades else ()),
        waiting=waiting or bool(grades and grades.waiting),
        comments=grades.comments if grades else {},
        lateness=lateness or Lateness(),
    )


@dataclass(frozen=True, kw_only=True)
class ClassScores:
    """The points that a class's median, mean and histogram are made of.

    While some written answers wait for a person, the points for written answers are left out.

    Attributes:
        present: Those who handed in something, or everybody if nobody did.
        scores: Their points, in the same order.
        max_score: Points to be had.
        unread: How many of them have a written answer that waits for a person.
    """

    present: tuple[Standing, ...]
    scores: tuple[float, ...]
    max_score: float
    unread: int


def class_scores(standings: Sequence[Standing]) -> ClassScores:
    """Collect the points of a class."""
    present = tuple(s for s in standings if not s.is_blank) or tuple(standings)
    unread = sum(any(c.status is Status.MANUAL for c in s.result.checks) for s in present)
    tests = [[c for c in s.result.checks if c.exercise] for s in present]  # a question has none
    return ClassScores(
        present=present,
        scores=tuple(
            sum(check.score for check in checks) if unread else standing.score
            for standing, checks in zip(present, tests, strict=True)
        ),
        max_score=max(
            sum(check.max_score for check in checks) if unread else standing.max_score
            for standing, checks in zip(present, tests, strict=True)
        ),
        unread=unread,
    )


def unequal_teams(standings: Sequence[Standing]) -> list[list[Standing]]:
    """Find teams whose members have other points than one another: a person gave them to some.

    The one notebook of a team is graded once, and each member has that result: no other has the
    same seed and took just as long, unless it was not run at all.
    """
    teams: dict[tuple[int, float], list[Standing]] = defaultdict(list)
    for standing in standings:
        if standing.result.seed and standing.result.seconds:
            teams[standing.result.seed, standing.result.seconds].append(standing)
    return [team for team in teams.values() if len({one.result.score for one in team}) > 1]


def _graded(check: CheckResult, grades: HandGrades) -> CheckResult:
    """Return a check with the points that a person gave; itself, if nobody did."""
    given, extra = grades.points.get(check.check), grades.extra.get(check.check, 0.0)
    read = check.status is Status.MANUAL and check.check not in grades.waiting
    if given is None and not extra and not read:
        return check
    score = (check.score if given is None else given) + extra
    return replace(check, score=score, status=_status(check, score))


def _status(check: CheckResult, score: float) -> Status:
    if score >= check.max_score:
        return Status.PASS
    if score > 0:
        return Status.PARTIAL
    return (
        Status.FAIL
        if check.status in (Status.PASS, Status.PARTIAL, Status.MANUAL)
        else check.status
    )
