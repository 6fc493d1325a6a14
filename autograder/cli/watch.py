"""python -m autograder grade --watch: what is handed in is graded at once, by judges that stay."""

import contextlib
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import typer

from autograder.class_folders import NBGRADER
from autograder.cli.bad_input import BadInputError, told_in_one_line
from autograder.cli.grading import (
    flag_unrecorded,
    gradebook_writer,
    keep_all,
    what_was_refused,
)
from autograder.cli.outputs import write_everything
from autograder.cli.plan import Plan
from autograder.cli.project import ROOT
from autograder.cli.standings import lateness_in
from autograder.cli.stored_results import end_if_unread
from autograder.cli.terminal import output, print_marks
from autograder.homework_source.homework import HomeworkError
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import stand
from autograder.sandbox.zygote import SandboxError
from autograder.teams import read_teams

_LOOK_SECONDS = 0.5  # between two looks at the folder
_REST = 10  # times as long as it took to keep results, before others are kept in the same round

if TYPE_CHECKING:
    from autograder.class_run.arrivals import Arrivals
    from autograder.class_run.judges import JudgePool
    from autograder.class_run.options import GradingOptions


def watch_and_record(
    plan: Plan, options: "GradingOptions", judges: "JudgePool"
) -> tuple[list[SubmissionResult], str]:
    """Grade what is there, and what comes or changes, until SIGINT (Ctrl-C) or SIGTERM ends it.

    Whatever arrives while others are graded is graded beside them. Everything is written as results
    come, but for what compares the whole class: that is done at the end. A run that is killed
    leaves it to the next.
    """
    from autograder.class_run.arrivals import Arrivals

    with told_in_one_line(HomeworkError, SandboxError, OSError):
        watch = _Watch(plan, options, judges)

        def end(*_: object) -> None:
            watch.ended.set()  # what is raised here may be caught, or come where Python ignores it
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, end)
        signal.signal(signal.SIGTERM, end)
        with contextlib.suppress(KeyboardInterrupt):
            arrivals = Arrivals(plan.submissions, plan.homework)
            while not watch.ended.is_set():
                if arrived := arrivals.look():
                    watch.grade(arrived, arrivals)
                else:
                    watch.ended.wait(_LOOK_SECONDS)
        watch.keep()
        results = watch.results()
        if not results:
            end_if_unread(plan.kept)
            raise typer.Exit
        return keep_all(plan, results), watch.refused


class _Watch:
    """The class so far; ready to grade as soon as it is made."""

    def __init__(self, plan: Plan, options: "GradingOptions", judges: "JudgePool") -> None:
        from autograder.class_run.course import Course
        from autograder.class_run.run import judges_here, try_reference
        from autograder.sandbox.sandbox import check_sandbox

        if not plan.submissions.is_dir():
            raise BadInputError(f"no folder {plan.submissions}; give the one to be watched")
        judges.preload(plan.homework)
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
        judges.acquire(count, self._course, options, others=count - 1)  # as they will be asked for
        output().print(f"Watching {plan.submissions}; Ctrl-C ends it", soft_wrap=True)

    def grade(self, arrived: Mapping[str, Path], arrivals: "Arrivals") -> None:
        """Grade notebooks, tell their marks, and keep what comes of them."""
        from autograder.class_run.run import grade_notebooks

        plan, graded_now = self._plan, set(arrived)
        teams = read_teams(plan.submissions, plan.homework_id)
        late = lateness_in(plan.kept, plan.dates)

        def more() -> Mapping[str, Path]:
            if self.ended.is_set():
                raise KeyboardInterrupt
            if time.monotonic() > self._keep_at:
                self.keep()
            came = arrivals.look(but=graded_now)
            graded_now.update(came)
            if came:
                teams.clear()  # who was in one may be in none any more
                teams.update(read_teams(plan.submissions, plan.homework_id))
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
                print_marks(stand(result, None, late(result)), output())
        self.keep()

    def keep(self) -> None:
        """Record what has come since the last time, and write everything."""
        from autograder.gradebook.course_config import write_course_config
        from autograder.gradebook.database import GradebookError

        if not self._fresh:
            return
        plan, began = self._plan, time.monotonic()
        unrecorded: Mapping[str, str] = {}
        try:
            write_course_config(plan.out / NBGRADER, ROOT, plan.db_url, plan.dates_file)
            with gradebook_writer(plan) as writer:
                for result in self._fresh:
                    writer.record(result)
        except GradebookError as error:
            self.refused, unrecorded = what_was_refused(error), error.refused
            typer.echo(f"Error: nbgrader's gradebook is not complete: {self.refused}", err=True)
        fresh = flag_unrecorded(plan, self._fresh, unrecorded)
        self._latest |= {result.student: result for result in fresh}
        if results := self.results():
            write_everything(plan, results, pages_of=self._fresh)
        self._fresh = []
        self._keep_at = began + (1 + _REST) * (time.monotonic() - began)

    def results(self) -> list[SubmissionResult]:
        """Return one result for each student who is there and was graded."""
        from autograder.class_run.arrivals import present_submissions

        present = present_submissions(self._plan.submissions, self._plan.homework_id)
        return [self._latest[student] for student in present if student in self._latest]
