"""What grading a homework needs, as plain data that travels to any machine."""

import functools
import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import course_lib
from autograder.homework_source.homework import CellKind, Homework
from autograder.releasing.student_edition import write_student_edition

_FETCH = CellKind.FETCH  # it never runs here, and no mark depends on it


@dataclass(frozen=True, kw_only=True)
class Course:
    """A homework and the library that its students have.

    Attributes:
        homework: The homework.
        library: The student edition of ``course_lib``: relative path to text.
        digest: Hash of all that marks depend on: these two and the reference ``course_lib``.
        reference: ``installed_reference`` where the course was read.
    """

    homework: Homework
    library: dict[str, str]
    digest: str = ""
    reference: str = ""

    @classmethod
    def load(cls, homework: Homework, root: Path) -> "Course":
        """Add to a homework the student edition of the library.

        Args:
            homework: The homework.
            root: The project's folder.

        Returns:
            Both, as plain data.

        Raises:
            HomeworkError: The student edition can't be made; the message says why.
        """
        with tempfile.TemporaryDirectory(prefix="student-edition-") as folder:
            write_student_edition(homework.id, root, Path(folder))
            library = _read_library(Path(folder))
        reference = _read_library(root / "course_lib")
        graded = replace(homework, cells=tuple(c for c in homework.cells if c.kind is not _FETCH))
        digest = hashlib.sha256(repr((graded, library, reference)).encode()).hexdigest()
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
