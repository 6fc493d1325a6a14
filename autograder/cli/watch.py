"""python -m autograder grade --watch: grade at once what arrives, with judges that stay."""

import contextlib
import os
import signal
import time
from collections.abc import Container, Mapping
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import typer

from autograder.class_run.submissions import (
    SubmissionsError,
    UnreadableError,
    find_submissions,
    read_notebook,
)
from autograder.cli.errors import BadInputError, told_in_one_line
from autograder.cli.grading import Plan, keep_all, record, write_everything
from autograder.cli.options import ROOT
from autograder.cli.terminal import output, print_marks
from autograder.homework_source.homework import Homework, HomeworkError
from autograder.judging.notebook_file import SubmissionError
from autograder.judging.results import SubmissionResult
from autograder.judging.submission import read_submission
from autograder.marks.standing import stand
from autograder.sandbox.zygote import SandboxError
from autograder.teams import read_teams

if TYPE_CHECKING:
    from autograder.class_run.judges import JudgePool
    from autograder.class_run.options import GradingOptions

_LOOK_SECONDS = 0.5  # between two looks at the folder
_REST = 10  # the pause between two writings of the outputs, in multiples of their duration
_PATIENCE_SECONDS = 5.0  # after its last change a broken file is taken as handed in


def watch_class(
    plan: Plan, options: "GradingOptions", judges: "JudgePool"
) -> tuple[list[SubmissionResult], str]:
    """Grade present, new and changed submissions, until SIGINT (Ctrl-C) or SIGTERM.

    Everything is written as results come; only comparisons within the class wait for the end.
    Returned are a result for each student, and nbgrader's last reason to refuse one, or empty.
    """
    with told_in_one_line(HomeworkError, SandboxError, OSError):
        watch = _Watch(plan, options, judges)

        def end(*_: object) -> None:
            watch.ended.set()  # the exception may be lost where Python ignores it
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, end)
        signal.signal(signal.SIGTERM, end)
        with contextlib.suppress(KeyboardInterrupt):
            arrivals = Arrivals(plan.settings.submissions, plan.homework)
            while not watch.ended.is_set():
                if arrived := arrivals.look():
                    watch.grade(arrived, arrivals)
                else:
                    watch.ended.wait(_LOOK_SECONDS)
        watch.keep()
        if results := watch.results():
            return keep_all(plan, results), watch.refused
        raise typer.Exit(1 if plan.kept.tell_unread() else 0)


class _Watch:
    """Grades a watched class, and keeps its results so far; creating it starts the judges."""

    def __init__(self, plan: Plan, options: "GradingOptions", judges: "JudgePool") -> None:
        from autograder.class_run.course import Course
        from autograder.class_run.run import judges_here, try_reference
        from autograder.sandbox.sandbox import check_sandbox

        folder = plan.settings.submissions
        if not folder.is_dir():
            raise BadInputError(f"no folder {folder}; give the one to be watched")
        if options.isolated:
            check_sandbox()
        self._plan, self._options, self._judges = plan, options, judges
        self._course = Course.load(plan.homework, ROOT)
        self._latest = {result.student: result for result in plan.kept.of(plan.homework_id)}
        self.refused = ""
        self.ended = Event()
        self._fresh: list[SubmissionResult] = []  # neither recorded nor written yet
        self._keep_at = 0.0
        if options.force or not plan.store.has_graded(self._course):
            try_reference(self._course, options, judges)
        count = judges_here(options)
        judges.acquire(count, self._course, options, others=count - 1)  # as grading will ask
        output().print(f"Watching {folder}; Ctrl-C ends it", soft_wrap=True)

    def grade(self, arrived: Mapping[str, Path], arrivals: "Arrivals") -> None:
        """Grade the ``arrived`` notebooks and those that arrive meanwhile; show and write marks."""
        from autograder.class_run.run import grade_notebooks

        plan, graded_now = self._plan, set(arrived)
        teams = read_teams(plan.settings.submissions, plan.homework_id)

        def more() -> Mapping[str, Path]:
            if self.ended.is_set():
                raise KeyboardInterrupt
            if time.monotonic() > self._keep_at:
                self.keep()
            came = arrivals.look(but=graded_now)
            graded_now.update(came)
            if came:
                teams.clear()  # somebody may have left a team
                teams.update(read_teams(plan.settings.submissions, plan.homework_id))
            return came

        for result in grade_notebooks(
            self._course, arrived, self._options, judges=self._judges,
            store=plan.store, teams=teams, more=more,
        ):  # fmt: skip
            graded_now.discard(result.student)
            before = self._latest.get(result.student)
            self._latest[result.student] = result
            self._fresh.append(result)
            if result != before:
                print_marks(stand(result, None, plan.kept.lateness(result)), output())
        self.keep()

    def keep(self) -> None:
        """Record the new results in the gradebook, and write all outputs."""
        if not self._fresh:
            return
        began = time.monotonic()
        fresh, refused = record(self._plan, self._fresh)
        if refused:
            self.refused = refused
            typer.echo(f"Error: nbgrader's gradebook is not complete: {refused}", err=True)
        self._latest |= {result.student: result for result in fresh}
        if results := self.results():
            write_everything(self._plan, results, fresh=fresh)
        self._fresh = []
        self._keep_at = began + (1 + _REST) * (time.monotonic() - began)

    def results(self) -> list[SubmissionResult]:
        """Return the result of each graded student whose submission is still there."""
        present = _present(self._plan.settings.submissions, self._plan.homework_id)
        return [self._latest[student] for student in present if student in self._latest]


class Arrivals:
    """Notebooks that arrive or change in a folder.

    A notebook that is missing or not valid JSON may still be being written: it is reported once it
    is valid, or once nothing has changed for a while.
    """

    def __init__(self, submissions: Path, homework: Homework) -> None:
        self._submissions, self._homework = submissions, homework
        self._told: dict[str, tuple[int, ...]] = {}

    def look(self, *, but: Container[str] = ()) -> dict[str, Path]:
        """Return the notebooks that are new or changed since the last look, by student.

        Those of the students ``but`` are left for a later look.
        """
        arrived = {}
        for student, path in _present(self._submissions, self._homework.id).items():
            stamp = _stamp(path)  # before reading: a later change differs from it
            if student in but or stamp == self._told.get(student):
                continue
            if _is_whole(path, self._homework) or _has_settled(path):
                self._told[student] = stamp
                arrived[student] = path
        return arrived


def _present(submissions: Path, homework_id: str) -> dict[str, Path]:
    """Return the notebooks of a class by student; empty if nobody has handed in anything yet."""
    with contextlib.suppress(SubmissionsError):
        return find_submissions(submissions, homework_id)
    return {}


def _stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that differ after every change of a file; ``()`` if it is missing."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_whole(path: Path, homework: Homework) -> bool:
    try:
        read_submission(read_notebook(path), homework)
    except (UnreadableError, SubmissionError):
        return False
    return True


def _has_settled(path: Path) -> bool:
    """Return whether a file and its two folders have stayed unchanged for a while."""
    changed = 0.0
    for place in (path, path.parent, path.parent.parent):
        with contextlib.suppress(OSError):
            changed = max(changed, os.lstat(place).st_ctime)
    return time.time() - changed > _PATIENCE_SECONDS
