"""What grading kept, for the commands that write it again or in another form."""

from collections.abc import Iterable
from pathlib import Path

import typer

from autograder.class_folders import RESULTS
from autograder.class_run.result_store import BEFORE, ResultStore, is_unreadable, result_file
from autograder.clean_text import one_line
from autograder.cli.bad_input import BadInputError
from autograder.cli.project import ROOT
from autograder.homework_source.book_links import with_headings
from autograder.homework_source.homework import Homework, all_homeworks, resolve_homework
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult

_MOST_NAMED = 20  # files


class KeptResults:
    """What grading kept in a folder, as one command reads it.

    Args:
        out: Where the class was graded into.

    Attributes:
        unread: The files that could not be read, in the order in which they were met.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.unread: dict[Path, None] = {}

    def of(self, homework_id: str, students: Iterable[str] | None = None) -> list[SubmissionResult]:
        """Return the results of a homework that can be read, sorted by student."""
        store = ResultStore(self.out / RESULTS / homework_id)
        return store.read_all(students, on_unreadable=self.note)

    def homeworks(self) -> set[str]:
        """Return the ids of the homeworks that results are kept of."""
        return self._folders() & set(all_homeworks(ROOT))

    def strangers(self) -> list[str]:
        """Return what results are kept of and no homework of this project, sorted."""
        return sorted(self._folders() - set(all_homeworks(ROOT)))

    def _folders(self) -> set[str]:
        folders = {path.parent for path in (self.out / RESULTS).glob("*/*.json")}
        return {f.name for f in folders if BEFORE not in f.suffixes}  # as they were once

    def is_unread(self, student: str, homework_id: str) -> bool:
        """Whether a student's result is kept, and could not be read."""
        return self.out / RESULTS / homework_id / result_file(student) in self.unread

    def note(self, path: Path) -> None:
        """Take a file that can't be read, to be told of it at the end."""
        self.unread[path] = None

    def tell_unread(self) -> bool:
        """Name on stderr what could not be read."""
        for path in list(self.unread)[:_MOST_NAMED]:
            if is_unreadable(path):
                words = "can't be read, and is left out: grade that homework again"
            elif path.exists():
                words = "could not be read, and is graded again; what it said is not known"
            else:
                words = "could not be read, and is set aside"
            typer.echo(f"Error: {one_line(str(path), 4000)} {words}", err=True)
        if len(self.unread) > _MOST_NAMED:
            typer.echo(f"... and {len(self.unread) - _MOST_NAMED} more files", err=True)
        return bool(self.unread)


def end_if_unread(*every: KeptResults) -> None:
    """End with 1 if some results could not be read, after they are named."""
    told = [kept.tell_unread() for kept in every]
    if any(told):
        raise typer.Exit(1)


def stored_results(homework: str, kept: KeptResults) -> tuple[list[SubmissionResult], Homework]:
    """Read what grading kept."""
    homework_id = resolve_homework(homework, ROOT)
    results = kept.of(homework_id)
    if not results:
        what = "no result that can be read" if kept.unread else "no results"
        raise BadInputError(f"{kept.out} holds {what} of {homework_id}: grade it first")
    return results, with_headings(load_homework(homework_id, ROOT), ROOT)
