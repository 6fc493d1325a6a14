"""Records a class's results in nbgrader's gradebook: one thread writes, while others grade.

nbgrader, and what stands on it, is imported in that thread: it takes a second, in which grading
begins.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from autograder.clean_text import one_line, without_sql
from autograder.gradebook.errors import GradebookError
from autograder.homework_source.homework import Homework
from autograder.judging.results import SubmissionResult
from autograder.marks.dates import Dates
from autograder.marks.lateness import Lateness

if TYPE_CHECKING:
    from autograder.gradebook.class_writer import ClassWriter

_MOST_WAITING = 64  # results; whoever brings more waits, so that memory stays flat
_MOST_TOGETHER = 32  # results in one transaction


class GradebookRecorder:
    """Records results where nbgrader, and so formgrader, finds them; used in a ``with`` block.

    Results are written in a thread of their own, those that wait together in one transaction: the
    disk has to confirm it once. Manual grades and comments that are already there stay. The block
    ends when everything is written.

    Args:
        submissions: Where the notebooks were handed in, laid out as nbgrader's.
        homework: The homework.
        course_folder: nbgrader's course folder; made if it is not there.
        db_url: SQLAlchemy address of the database, such as ``postgresql://host/gradebook``;
            ``gradebook.db`` in the course folder if empty.
        dates: When homework is due, for nbgrader's pages.
        lateness: Says how late a submission is, for nbgrader's late penalties.
        on_recorded: Called in that thread with the id of each student who was recorded.

    Raises:
        GradebookError: At the end of the block: nbgrader refused some students, or the database
            could not be used; the message names them. All others are recorded.
    """

    def __init__(
        self,
        submissions: Path,
        homework: Homework,
        *,
        course_folder: Path,
        db_url: str = "",
        dates: Dates | None = None,
        lateness: Callable[[SubmissionResult], Lateness] = lambda result: Lateness(),
        on_recorded: Callable[[str], None] = lambda student: None,
    ) -> None:
        def open_course() -> "ClassWriter":
            from autograder.gradebook.class_writer import ClassWriter

            return ClassWriter(
                submissions.resolve(), homework,
                course_folder=course_folder.resolve(), db_url=db_url,
                dates=dates or Dates(), lateness=lateness, on_recorded=on_recorded,
            )  # fmt: skip

        self._open = open_course
        self._room = threading.BoundedSemaphore(_MOST_WAITING)
        self._waiting: deque[SubmissionResult] = deque()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gradebook")

    def __enter__(self) -> "GradebookRecorder":
        """Begin to open the gradebook; does not wait for it."""
        self._opened = self._thread.submit(self._open)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait until everything is written; say what is not."""
        self._thread.submit(self._close)
        self._thread.shutdown()
        if error is None and (refused := self._opened.result().refused):
            student, reason = next(iter(refused.items()))
            names = ", ".join(one_line(name) for name in refused)
            why = without_sql(reason).strip().rpartition("\n")[2]  # a traceback's last line
            raise GradebookError(f"not recorded: {names}; {one_line(student)}: {why}")

    def record(self, result: SubmissionResult) -> None:
        """Take a result to be written; returns at once, unless many are waiting.

        Args:
            result: Of a student whose notebook lies in the folder of submissions.
        """
        self._room.acquire()
        self._waiting.append(result)
        self._thread.submit(self._record_waiting)

    def _close(self) -> None:
        if self._opened.exception() is None:
            self._opened.result().close()

    def _record_waiting(self) -> None:
        """Record what has come in the meantime; nothing, where an earlier call took it along."""
        results = []
        for _ in range(min(len(self._waiting), _MOST_TOGETHER)):
            results.append(self._waiting.popleft())
            self._room.release()
        if self._opened.exception() is None:  # else it is told at the end of the block
            self._opened.result().write(results)
