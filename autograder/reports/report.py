"""The staff's page about a class: marks, flags, hardest checks, most common mistakes."""

import contextlib
import itertools
import math
import os
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from autograder.clean_text import one_line
from autograder.homework_source.homework import CellKind, Homework
from autograder.homework_source.variants import is_named
from autograder.judging.results import (
    UNREAD,
    UNWRITTEN,
    CheckResult,
    Flag,
    FlagKind,
    Status,
    SubmissionResult,
)
from autograder.marks.changes import Change
from autograder.marks.standing import Standing, class_scores
from autograder.reports.feedback import feedback_path
from autograder.reports.histogram import draw_histogram
from autograder.reports.pages import render_page
from autograder.reports.status_words import STATUS_WORDS

_FEWEST = 10  # submissions; a correlation of fewer is not shown
_MAX_MISTAKES = 30  # rows
_MAX_CLUSTERS = 10
# In seconds; a class has quick submissions and endless loops.
_TIME_BOUNDS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)

_FLAG_WORDS = {
    FlagKind.DELEGATION: "forbidden name",
    FlagKind.FORGED: "notebook changed",
    FlagKind.HOSTILE: "suspicious code",
    FlagKind.INTERRUPTED: "grading interrupted",
    FlagKind.MISNAMED: "other file name",
    FlagKind.UNRECORDED: "not in the gradebook",
    FlagKind.SIMILAR: "near-identical",
}


@dataclass(frozen=True, kw_only=True)
class _Person:
    """A student's id as it is shown, and the address of the feedback page."""

    student: str
    address: str


@dataclass(frozen=True, kw_only=True)
class ItemStatistics:
    """A check's difficulty and discrimination, as in classical test theory.

    Attributes:
        difficulty: Mean share of its points, from 0 (nobody) to 1 (everybody).
        discrimination: Corrected item-total correlation, from -1 to 1; None for few submissions,
            or if all have the same points.
    """

    difficulty: float
    discrimination: float | None


@dataclass(frozen=True, kw_only=True)
class _CheckRow:
    """A check's results in the whole class: a row of the table of checks.

    Attributes:
        check: grade_id of the check.
        title: Its description.
        counts: Number of submissions that did not pass, by status.
        failed: Number of submissions that did not pass.
        total: Number of submissions.
        items: Its statistics.
        before: Its difficulty for an earlier class; None if that is unknown.
    """

    check: str
    title: str
    counts: dict[Status, int]
    failed: int
    total: int
    items: ItemStatistics
    before: float | None


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Students who got the same message (``text``), or who missed the same checks.

    ``has_no_variant`` says that one of the message's answers is that of no known mistake.
    """

    checks: tuple[str, ...]
    people: tuple[_Person, ...]
    text: str = ""
    has_no_variant: bool = False


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A submission: a row of the table of students.

    Attributes:
        person: The student.
        standing: The submission's marks, with lateness and the staff's changes.
        result: ``standing.result``.
        groups: Names of the page's filters that show the row, such as ``late``.
        missed: grade_ids of the checks that were not passed.
        words: Description of the row's coloured strip of checks.
    """

    person: _Person
    standing: Standing
    result: SubmissionResult
    groups: tuple[str, ...]
    missed: tuple[str, ...]
    words: str


def render_report(
    standings: Sequence[Standing],
    homework: Homework,
    *,
    changes: Sequence[Change] = (),
    before: Sequence[SubmissionResult] = (),
) -> str:
    """Return the HTML page about a class, whose links are relative to the output folder.

    ``before`` are another class's results to compare with.
    """
    ordered = sorted(standings, key=lambda standing: standing.student.casefold())
    results = [standing.result for standing in ordered]
    tests = {cell.grade_id for cell in homework.checks if cell.kind is CellKind.TEST}
    rows = [_row(standing, tests) for standing in ordered]
    points = class_scores(ordered)
    scores, top = points.scores, points.max_score
    answered = [standing.result for standing in points.present]
    times = [result.seconds for result in results]
    earlier = [result for result in before if not result.is_blank]
    checks = _check_rows(answered, homework, tests, item_statistics(earlier, tests))
    mistakes = _mistakes(answered, homework)
    people = {row.result.student: row.person for row in rows}
    counts = Counter(kind for result in results for kind in {flag.kind for flag in result.flags})
    return render_page(
        "report.html",
        script="report.js",
        homework=homework,
        rows=rows,
        top=top,
        unread=points.unread,
        by_hand=max(result.max_score for result in results) - top,
        late=sum(bool(standing.lateness.words) for standing in ordered),
        median_score=statistics.median(scores),
        mean_score=statistics.fmean(scores),
        full=sum("full" in row.groups for row in rows),
        unrun=sum("unrun" in row.groups for row in rows),
        blank=sum("blank" in row.groups for row in rows),
        unreadable=sum("unreadable" in row.groups for row in rows),
        interrupted=sum(row.result.interrupted for row in rows),
        flagged=sum(bool(row.result.flags) for row in rows),
        flag_groups=_flag_groups(rows),
        similar=any(flag.students for result in results for flag in result.flags),
        flag_words=_FLAG_WORDS,
        flag_counts={kind: counts[kind] for kind in FlagKind if counts[kind]},
        open_rows=[row for row in rows if not row.result.sandboxed],
        changes=[(people.get(change.student), change) for change in changes],  # None: has left
        changed=len({change.student for change in changes}),
        histogram=draw_histogram(scores, top),
        checks=checks,
        compared=len(earlier),
        judged_mean=_mean_share(answered, tests),
        earlier_mean=_mean_share(earlier, tests),
        statuses=[s for s in Status if any(row.counts.get(s) for row in checks)],
        clusters=_clusters(rows),
        mistakes=mistakes[:_MAX_MISTAKES],
        alone=sum(len(mistake.people) == 1 for mistake in mistakes[:_MAX_MISTAKES]),
        more_mistakes=max(0, len(mistakes) - _MAX_MISTAKES),
        times=_time_rows(times),
        median_time=statistics.median(times),
        total_time=sum(times),
        slowest=sorted(rows, key=lambda row: -row.result.seconds)[:3],
    )


def _mean_share(results: Sequence[SubmissionResult], tests: set[str]) -> float:
    """Return a class's mean points in these tests, as a share of the maximum."""
    judged = [[check for check in r.checks if check.check in tests] for r in results]
    top = max((sum(check.max_score for check in checks) for checks in judged), default=0.0)
    scores = [sum(check.score for check in checks) for checks in judged]
    return statistics.fmean(scores) / top if top else 0.0


def item_statistics(
    results: Sequence[SubmissionResult], checks: Collection[str]
) -> dict[str, ItemStatistics]:
    """Return the statistics of each of these ``checks``; totals are over these checks alone."""
    found: dict[str, ItemStatistics] = {}
    points = [{c.check: c.score for c in r.checks if c.check in checks} for r in results]
    worth = {c.check: c.max_score for r in results for c in r.checks if c.check in checks}
    for check, top in worth.items():
        mine = [given[check] for given in points if check in given]
        rest = [sum(given.values()) - given[check] for given in points if check in given]
        correlation = None
        if len(mine) >= _FEWEST:
            with contextlib.suppress(statistics.StatisticsError):  # all points are equal
                correlation = statistics.correlation(mine, rest)
        difficulty = statistics.fmean(mine) / top if top else 0.0
        found[check] = ItemStatistics(difficulty=difficulty, discrimination=correlation)
    return found


def _did_not_run(result: SubmissionResult) -> bool:
    """Return whether the student's process ended early or did not start, in any cell or check."""
    ended = {Status.TIMEOUT, Status.CRASH, Status.INVALID}
    found = {check.status for check in result.checks}
    found |= {failure.status for failure in result.cell_failures}
    return bool(result.error) or bool(ended & found)


def _person(result: SubmissionResult) -> _Person:
    # Bytes, because a student's name may be no UTF-8.
    address = quote(os.fsencode(str(feedback_path(result))))
    return _Person(student=one_line(result.student, 80), address=address)


def _row(standing: Standing, tests: set[str]) -> _Row:
    result = standing.result
    missed = tuple(
        check for check in result.checks if check.check in tests and check.status is not Status.PASS
    )
    passed = sum(c.status is Status.PASS and c.check in tests for c in result.checks)
    by_hand = len(result.checks) - len(missed) - passed
    words = [f"{passed} passed"]
    words += [f"{one_line(check.check)} {STATUS_WORDS[check.status].short}" for check in missed]
    words += [f"{by_hand} by hand"] if by_hand else []
    groups = ["full" if not missed else "missed"]
    groups += ["flagged"] if result.flags else []
    groups += sorted({f"flagged-{flag.kind}" for flag in result.flags})
    groups += ["unrun"] if _did_not_run(result) else []
    if standing.is_blank and not result.interrupted:
        groups += ["unreadable" if result.is_unreadable else "blank"]
    groups += ["late"] if standing.lateness.words else []
    groups += ["waiting"] if standing.waiting else []
    return _Row(
        person=_person(result),
        standing=standing,
        result=result,
        groups=tuple(groups),
        missed=tuple(check.check for check in missed),
        words=", ".join(words),
    )


def _check_rows(
    results: Sequence[SubmissionResult],
    homework: Homework,
    tests: set[str],
    before: Mapping[str, ItemStatistics],
) -> list[_CheckRow]:
    """Return a row for each check in ``tests``, the one with the largest share of failures first.

    ``before`` are the statistics of another class.
    """
    found: dict[str, list[CheckResult]] = {
        cell.grade_id: [] for cell in homework.checks if cell.grade_id in tests
    }
    for result in results:
        for check in result.checks:
            if check.check in tests:
                found[check.check].append(check)
    rows = []
    items = item_statistics(results, tests)
    for name, judged in found.items():
        if not judged:
            continue
        counts: Counter[Status] = Counter(o.status for o in judged if o.status is not Status.PASS)
        rows.append(
            _CheckRow(
                check=name,
                title=judged[0].title,
                counts={status: counts[status] for status in Status if counts[status]},
                failed=counts.total(),
                total=len(judged),
                items=items[name],
                before=before[name].difficulty if name in before else None,
            )
        )
    return sorted(rows, key=lambda row: -row.failed / row.total)


def _flag_groups(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Return groups of submissions with equal flags, which near-identical submissions have."""
    groups: dict[tuple[Flag, ...], list[_Row]] = {}
    for row in rows:
        if row.result.flags:
            groups.setdefault(row.result.flags, []).append(row)
    return list(groups.values())


def _clusters(rows: Sequence[_Row]) -> list[_Group]:
    """Return groups of students who missed exactly the same checks, the largest groups first."""
    people: dict[tuple[str, ...], list[_Person]] = {}
    for row in rows:
        if row.missed and not row.standing.is_blank:
            people.setdefault(row.missed, []).append(row.person)
    found = [_Group(checks=key, people=tuple(who)) for key, who in people.items() if len(who) > 1]
    return sorted(found, key=lambda group: -len(group.people))[:_MAX_CLUSTERS]


def _mistakes(results: Sequence[SubmissionResult], homework: Homework) -> list[_Group]:
    """Return groups of students with the same hint, or message, the largest groups first."""
    tests = {cell.grade_id for cell in homework.checks if cell.kind is CellKind.TEST}
    people: dict[str, dict[str, _Person]] = {}
    checks: dict[str, dict[str, None]] = {}
    unexplained: set[str] = set()
    for result in results:
        for check in result.checks:
            if check.status in (Status.PASS, Status.MANUAL) or check.check not in tests:
                continue
            told = check.hint or check.message or STATUS_WORDS[check.status].fallback
            text = one_line(told, 300)
            people.setdefault(text, {})[result.student] = _person(result)
            checks.setdefault(text, {})[check.check] = None
            if _has_no_variant(check, homework):
                unexplained.add(text)
    groups = [
        _Group(
            text=text,
            checks=tuple(checks[text]),
            people=tuple(who.values()),
            has_no_variant=text in unexplained,
        )
        for text, who in people.items()
    ]
    return sorted(groups, key=lambda group: -len(group.people))


def _has_no_variant(check: CheckResult, homework: Homework) -> bool:
    """Return whether a check failed with an answer that none of the homework's variants gives."""
    is_answer = check.status in (Status.FAIL, Status.ERROR)
    if not is_answer or UNWRITTEN in check.message or UNREAD in check.message:
        return False
    hints = [variant.hint for variant in homework.mistakes_in(check.exercise)]
    return bool(hints) and not any(is_named(hint, check.hint) for hint in hints)


def _time_rows(times: Sequence[float]) -> list[tuple[str, int]]:
    """Return (range of durations, number of submissions), without empty ranges at the ends."""
    bounds = (0, *_TIME_BOUNDS, math.inf)
    rows = []
    for low, high in itertools.pairwise(bounds):
        if math.isinf(high):
            label = f"over {low / 60:g} min"
        else:
            label = f"{low:g} to {high:g} s" if high <= 60 else f"{low / 60:g} to {high / 60:g} min"
        rows.append((label, sum(low < time <= high or (low == time == 0) for time in times)))
    used = [index for index, (_, count) in enumerate(rows) if count]
    return rows[used[0] : used[-1] + 1]
