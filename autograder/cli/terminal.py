"""Output in a terminal: progress on stderr, tables on stdout.

Students' texts are cleaned and never read as markup.
"""

import io
import os
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.clean_text import one_line
from autograder.collecting.collect import Collection, Line
from autograder.collecting.placing import Outcome
from autograder.judging.results import OTHER_HOMEWORK, UNUSABLE, UNWRITTEN, Status, SubmissionResult
from autograder.marks.changes import Change
from autograder.marks.standing import Standing, class_scores
from autograder.reports.status_words import STATUS_WORDS, format_points, format_seconds

_MAX_ROWS = 60
_ENOUGH = 3  # submissions must fail a check alike before the check is suspected
_MOST_LISTED = 10  # students named in a line
_URGENT = {Outcome.PROBLEM: "bold red", Outcome.KEPT: "yellow", Outcome.MISSING: "dim"}
_PIPE_WIDTH = 110  # of a log or a file
_PLAIN_LINES = 20  # most lines of progress in a log
_COLOURS = {
    Status.PASS: "green",
    Status.PARTIAL: "yellow",
    Status.FAIL: "red",
    Status.ERROR: "magenta",
    Status.TIMEOUT: "blue",
    Status.CRASH: "bold blue",
    Status.INVALID: "bold",
    Status.MANUAL: "dim",
}


def fit_streams() -> None:
    """Let stdout replace characters that its encoding lacks; replace closed streams."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def output() -> Console:
    """Return a console on stdout that reads no markup and breaks no path in a log."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=width)


def listed(students: Sequence[str]) -> str:
    """Return students' ids in a line; of many, the first few and the number of the others."""
    more = f" and {len(students) - _MOST_LISTED} more" if len(students) > _MOST_LISTED else ""
    return ", ".join(one_line(student, 80) for student in students[:_MOST_LISTED]) + more


class StepProgress:
    """Progress of a long step, on stderr: a bar with time left, or plain lines in a log.

    ``what`` is the step's name, such as ``Grading``.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = 0
        self._total = 0
        self._console = Console(stderr=True, markup=False, emoji=False, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=None, last="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, total: int) -> None:
        """Set the number of submissions."""
        self._total = total
        self._bar.update(self._task, total=total)

    def advance(self, last: str) -> None:
        """Count one more submission, and show ``last``, such as its student, beside the bar."""
        self._done += 1
        self._bar.update(self._task, completed=self._done, last=one_line(last, 60))
        every = max(1, self._total // _PLAIN_LINES)
        if self._bar.disable and (self._done % every == 0 or self._done == self._total):
            line = f"{self._what} {self._done}/{self._total}: {one_line(last, 60)}"
            self._console.print(line, soft_wrap=True)


def print_grades(standings: Sequence[Standing], console: Console) -> None:
    """Print a row for each submission, and a summary."""
    results = [standing.result for standing in standings]
    table = _table("student", "score>", "of>", "checks", "time>", "remarks")
    for standing in standings[:_MAX_ROWS]:
        table.add_row(
            Text(one_line(standing.student, 40)),
            _points(standing),
            format_points(standing.max_score),
            _symbols(standing.result),
            format_seconds(standing.result.seconds),
            Text(_remarks(standing)),
        )
    console.print(table)
    if len(results) > _MAX_ROWS:
        console.print(f"... and {len(results) - _MAX_ROWS} more: see the report")
    used = {check.status for result in results for check in result.checks}
    named = [f"{w.symbol} {w.short}" for status, w in STATUS_WORDS.items() if status in used]
    console.print(Text("\n" + "   ".join(named), style="dim"))
    points = class_scores(standings)
    median, top = (format_points(p) for p in (statistics.median(points.scores), points.max_score))
    left_out = " without written answers" if points.unread else ""
    flagged = sum(bool(result.flags) for result in results)
    many = "submission" if len(results) == 1 else "submissions"
    counts = {
        "blank": sum(s.is_blank and not s.result.is_unreadable for s in standings),
        "unreadable": sum(result.is_unreadable and not result.interrupted for result in results),
        "interrupted": sum(result.interrupted for result in results),
    }
    kinds = [f"{count} {what}" for what, count in counts.items() if count]
    told = f"{len(results)} {many}" + (f", {' and '.join(kinds)}" if kinds else "")
    console.print(f"{told}, median {median} of {top} points{left_out}, {flagged} flagged")
    for error, students in _of_other_homeworks(results).items():
        console.print(f"{listed(students)}: {error}")
    for check, count in _failed_for_all(results):
        words = f"check {check} failed in its own code for all {count} submissions"
        console.print(Text(f"{words}: look at its test", style="bold red"))
    if late := sum(bool(standing.lateness.words) for standing in standings):
        console.print(f"{late} late")
    if any(not result.sandboxed for result in results):
        warning = "Graded without a sandbox: students' code ran with your rights on this machine."
        console.print(Text(warning, style="bold red"))


def _table(*columns: str) -> Table:
    """Return a table with these headings; a column is aligned right if its name ends in ``>``."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        if name.endswith(">"):
            table.add_column(name[:-1], justify="right")
        else:
            table.add_column(name, overflow="fold")
    return table


def print_marks(standing: Standing, console: Console) -> None:
    """Print a submission's points and checks in a line."""
    points = f"{_points(standing)} of {format_points(standing.max_score)}"
    line = Text(f"{one_line(standing.student, 40)}  {points}  ")
    line.append_text(_symbols(standing.result))
    line.append(f"  {format_seconds(standing.result.seconds)}  {_remarks(standing)}".rstrip())
    console.print(line, soft_wrap=True)


def _points(standing: Standing) -> str:
    return "–" if standing.result.interrupted else format_points(standing.score)


def _of_other_homeworks(results: Sequence[SubmissionResult]) -> dict[str, list[str]]:
    """Return the students who handed in another homework's notebook, by their error message.

    The message names that other homework.
    """
    found = defaultdict[str, list[str]](list)
    for result in results:
        if result.error.startswith(OTHER_HOMEWORK):
            found[result.error].append(result.student)
    return found


def _failed_for_all(results: Sequence[SubmissionResult]) -> list[tuple[str, int]]:
    """Return the checks that could not use any student's value, with the number of students.

    Such a check may be faulty. Students who did not write the exercise are not counted.
    """
    messages = defaultdict[str, list[str]](list)
    for result in results:
        for check in result.checks:
            if check.status is not Status.INVALID and UNWRITTEN not in check.message:
                messages[check.check].append(check.message)
    return [
        (check, len(told))
        for check, told in messages.items()
        if len(told) >= _ENOUGH and all(message.startswith(UNUSABLE) for message in told)
    ]


def print_changes(changes: Sequence[Change], total: int, console: Console) -> None:
    """Print the changed marks of ``total`` submissions, with the reasons."""
    if changes:
        table = _table("student", "check", "before>", "now>", "why")
        for change in changes[:_MAX_ROWS]:
            table.add_row(
                Text(one_line(change.student, 40)),
                Text(one_line(change.check, 80)),
                _points_or_none(change.old_score),
                _points_or_none(change.new_score),
                Text(one_line(change.reason, 300)),
            )
        console.print(table)
    if len(changes) > _MAX_ROWS:
        console.print(f"... and {len(changes) - _MAX_ROWS} more: see the report, or changes.csv")
    students = len({change.student for change in changes})
    console.print(f"\n{students} of {total} submissions have other marks than before")


def _points_or_none(points: float | None) -> str:
    return "–" if points is None else format_points(points)


def print_collection(collection: Collection, console: Console) -> None:
    """Print the outcome of each submission, problems first."""
    table = _table("student", "outcome", "file", "remarks")
    urgent = [line for line in collection.lines if line.outcome in _URGENT]
    others = [line for line in collection.lines if line.outcome not in _URGENT]
    for line in (*urgent, *others[:_MAX_ROWS]):
        table.add_row(*_collected(line))
    console.print(table)
    if len(others) > _MAX_ROWS:
        console.print(f"... and {len(others) - _MAX_ROWS} more without trouble")
    counts = Counter(line.outcome for line in collection.lines)
    told = [f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome]]
    console.print(f"\nNames as of {collection.naming.value}: {', '.join(told)}")


def _collected(line: Line) -> tuple[Text, Text, Text, Text]:
    colour = _URGENT.get(line.outcome, "green")
    return (
        Text(one_line(line.student, 40)),
        Text(line.outcome.value, style=colour),
        Text(one_line(line.source, 80)),
        Text(one_line(line.remark, 300)),
    )


def _symbols(result: SubmissionResult) -> Text:
    symbols = Text()
    for check in result.checks:
        symbols.append(STATUS_WORDS[check.status].symbol, style=_COLOURS[check.status])
    return symbols


def _remarks(standing: Standing) -> str:
    result = standing.result
    taken = f", -{format_points(standing.penalty)}" if standing.penalty else ""
    remarks = [f"late{taken}"] if standing.lateness.words else []
    if result.error:
        remarks.append(one_line(result.error, 60))
    if result.flags:
        remarks.append(f"{len(result.flags)} {'flag' if len(result.flags) == 1 else 'flags'}")
    return "; ".join(remarks)
