"""The judges of one process, which keeps what is slow to start: the sandboxes."""

import atexit
import contextlib
import hashlib
import tempfile
from pathlib import Path

from autograder.class_run.course import Course
from autograder.class_run.options import GradingOptions
from autograder.judging.judge import Judge
from autograder.sandbox.sandbox import Sandbox


class Judges:
    """Gives out judges; their sandboxes run until it is closed, or the process ends.

    Args:
        scratch: Where to unpack what students may import; the system's place for such if None.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = scratch
        self._sandboxes: dict[str, Sandbox] = {}
        self._opened = contextlib.ExitStack()
        atexit.register(self.close)

    def open(self, course: Course, options: GradingOptions) -> Judge:
        """Return a judge for a homework.

        Args:
            course: The homework and its students' library.
            options: How long students' code may run, with what, where, and how well protected.

        Raises:
            SandboxError: The sandbox does not start.
        """
        library = sorted(course.library.items())
        text = repr((library, options.worker_limits, options.isolated, options.device))
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._sandboxes:
            self._sandboxes[key] = sandbox = Sandbox(
                self._unpack(course.library), limits=options.worker_limits,
                device=options.device, isolated=options.isolated,
            )  # fmt: skip
            self._opened.callback(sandbox.close)
        return Judge(
            course.homework, self._sandboxes[key], limits=options.limits,
            isolated=options.isolated, device=options.device,
        )  # fmt: skip

    def close(self) -> None:
        """End the sandboxes and remove what was unpacked; closing twice is allowed."""
        self._sandboxes.clear()
        self._opened.close()

    def _unpack(self, library: dict[str, str]) -> Path:
        unpacked = tempfile.TemporaryDirectory(prefix="student-edition-", dir=self._scratch)
        folder = Path(self._opened.enter_context(unpacked))
        for name, text in library.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder
