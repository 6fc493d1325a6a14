"""Joins the judge's result with hand grades and lateness: the one mark that all outputs show."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograder.judging.results import CheckResult, Status, SubmissionResult


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """How late a submission is, and its penalty.

    Attributes:
        words: Shown beside the mark; empty if the submission is in time or no date is set.
        share: Deduction as a share of the maximum points, from 0 to 1.
        days: Days late, each begun day counted, after the student's own deadline.
    """

    words: str = ""
    share: float = 0.0
    days: int = 0


@dataclass(frozen=True, kw_only=True)
class HandGrades:
    """Points and comments that teaching assistants gave to one submission.

    Attributes:
        points: For checks graded by hand, the points that replace the judge's.
        extra: For some checks, extra points.
        waiting: Checks that a person still has to grade.
        comments: Comments by check or exercise; untrusted text.
    """

    points: Mapping[str, float] = field(default_factory=dict)
    extra: Mapping[str, float] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A submission's marks after hand grading and lateness.

    Attributes:
        result: The judge's result, in which points given by hand replace the judge's.
        by_hand: Checks whose points a person gave.
        unanswered: Written answers among ``by_hand`` that were left blank, so nobody graded them.
        waiting: Whether a person still has to grade something.
        comments: Comments by check or exercise.
        lateness: How late it is.
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
        """Return "Graded by hand" or "Not answered"; empty if the judge graded the check."""
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
        """Points deducted for lateness; at most the points earned."""
        return min(self.lateness.share * self.result.max_score, max(self.result.score, 0.0))

    @property
    def score(self) -> float:
        """Points earned, after the deduction for lateness."""
        return self.result.score - self.penalty

    @property
    def max_score(self) -> float:
        """Maximum points, written answers included."""
        return self.result.max_score

    @property
    def graded_score(self) -> float:
        """Maximum points, without written answers that wait for a person."""
        unread = (c.max_score for c in self.result.checks if c.status is Status.MANUAL)
        return self.max_score - sum(unread)


def stand(
    result: SubmissionResult,
    grades: HandGrades | None = None,
    lateness: Lateness | None = None,
) -> Standing:
    """Join a result with its hand grades and its lateness, if there are any.

    A written answer that no longer waits for a person gets its status from its points.
    """
    checks = tuple(_graded(check, grades) if grades else check for check in result.checks)
    by_hand = {
        now.check for was, now in zip(result.checks, checks, strict=True) if now is not was
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
    """Points of a class, from which its median, mean and histogram are computed.

    While written answers wait for a person, points for written answers are left out.

    Attributes:
        present: Submissions that are not blank; all submissions if all are blank.
        scores: Their points, in the same order.
        max_score: Maximum points.
        unread: Number of submissions with a written answer that waits for a person.
    """

    present: tuple[Standing, ...]
    scores: tuple[float, ...]
    max_score: float
    unread: int


def class_scores(standings: Sequence[Standing]) -> ClassScores:
    """Return the points of a class; ``standings`` must not be empty."""
    present = tuple(s for s in standings if not s.is_blank) or tuple(standings)
    unread = sum(any(c.status is Status.MANUAL for c in s.result.checks) for s in present)
    points = [(standing.score, standing.max_score) for standing in present]
    if unread:
        tests = [[c for c in s.result.checks if c.exercise] for s in present]
        points = [(sum(c.score for c in of), sum(c.max_score for c in of)) for of in tests]
    scores, tops = zip(*points, strict=True)
    return ClassScores(present=present, scores=scores, max_score=max(tops), unread=unread)


def unequal_teams(standings: Sequence[Standing]) -> list[list[Standing]]:
    """Return the teams whose members have different points because not all were graded by hand.

    Members share one result, so submissions with exactly the same duration are a team.
    """
    teams: dict[float, list[Standing]] = defaultdict(list)
    for standing in standings:
        if standing.result.seconds:
            teams[standing.result.seconds].append(standing)
    return [team for team in teams.values() if len({one.result.score for one in team}) > 1]


def _graded(check: CheckResult, grades: HandGrades) -> CheckResult:
    """Return a check with the points that a person gave; the same object if there are none."""
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
    judged_well = check.status in (Status.PASS, Status.PARTIAL, Status.MANUAL)
    return Status.FAIL if judged_well else check.status
