"""What grading a homework needs, as plain data that travels to any machine."""

import atexit
import functools
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import course_lib
from autograder.homework_source.homework import Homework, read_source_notebook
from autograder.homework_source.source import build_source_notebook
from autograder.homework_source.student_edition import write_student_edition
from autograder.judging.judge import Judge, TimeLimits
from autograder.sandbox.sandbox import Sandbox
from autograder.sandbox.worker.isolation import Limits


@dataclass(frozen=True, kw_only=True)
class Course:
    """A homework and the library that its students have.

    Attributes:
        homework: The instructor's notebook.
        library: The student edition of ``course_lib``: relative path to text.
        digest: Hash of all that marks depend on: these two and the reference ``course_lib``.
        reference: ``installed_reference`` where the course was read.
    """

    homework: Homework
    library: dict[str, str]
    digest: str = ""
    reference: str = ""

    @classmethod
    def load(cls, homework_id: str, root: Path) -> "Course":
        """Build the instructor's notebook and the student edition, and read them.

        Args:
            homework_id: Such as ``hw03-self-attention``.
            root: The project's folder.

        Returns:
            Both, as plain data.

        Raises:
            HomeworkError: The homework's source is not well formed.
        """
        homework = read_source_notebook(build_source_notebook(homework_id, root))
        with tempfile.TemporaryDirectory(prefix="student-edition-") as folder:
            write_student_edition(homework_id, root, Path(folder))
            library = _read_library(Path(folder))
        reference = _read_library(root / "course_lib")
        digest = hashlib.sha256(repr((homework, library, reference)).encode()).hexdigest()
        return cls(
            homework=homework, library=library, digest=digest, reference=installed_reference()
        )


@functools.cache
def installed_reference() -> str:
    """Return a hash of the reference ``course_lib`` that checks compare with on this machine."""
    installed = _read_library(Path(course_lib.__file__).parent)
    return hashlib.sha256(repr(sorted(installed.items())).encode()).hexdigest()


def _read_library(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".py", ".mplstyle", ".typed")
    }


_sandboxes: dict[str, Sandbox] = {}


def open_judge(
    course: Course,
    *,
    limits: TimeLimits,
    isolated: bool = True,
    device: str = "cpu",
    worker_limits: Limits | None = None,
    scratch: Path | None = None,
) -> Judge:
    """Return a judge for a homework; this process keeps its sandbox for the next call.

    Args:
        course: The homework and its students' library.
        limits: How long students' code may run.
        isolated: False runs students' code without protection.
        device: ``cpu`` or ``cuda``.
        worker_limits: What a student's process may use; the defaults if None.
        scratch: Where to unpack the students' library; the system's place for such if None.

    Returns:
        The judge.

    Raises:
        SandboxError: The sandbox does not start.
    """
    os.environ["COURSE_DEVICE"] = device  # read by setup cells, here as in the worker
    worker_limits = worker_limits or Limits()
    text = repr((sorted(course.library.items()), worker_limits, isolated, device))
    key = hashlib.sha256(text.encode()).hexdigest()
    if key not in _sandboxes:
        _sandboxes[key] = Sandbox(
            _unpack(course.library, scratch), limits=worker_limits, device=device, isolated=isolated
        )
    return Judge(course.homework, _sandboxes[key], limits=limits, isolated=isolated)


def _unpack(library: dict[str, str], scratch: Path | None) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="student-edition-", dir=scratch)
    atexit.register(folder.cleanup)
    for name, text in library.items():
        path = Path(folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Path(folder.name)
