"""A student's feedback page: marks, explained mistakes, and sections of the book to read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from autograder.class_folders import FEEDBACK
from autograder.homework_source.book_links import name_in_words
from autograder.homework_source.homework import CellKind, Homework
from autograder.judging.results import CheckResult, Status, SubmissionResult
from autograder.marks.standing import Standing
from autograder.reports.pages import render_page

_READ = re.compile(r"([\w-]+)(?:#([\w.-]+))?")


@dataclass(frozen=True, kw_only=True)
class _Exercise:
    """The checks of one exercise, each with its number on the page.

    ``code`` is the name of the function or class to write; empty for written answers.
    """

    code: str
    checks: tuple[tuple[int, CheckResult], ...]


@dataclass(frozen=True, kw_only=True)
class _Part:
    """The exercises under one heading of the notebook."""

    title: str
    exercises: tuple[_Exercise, ...]

    @property
    def checks(self) -> list[CheckResult]:
        return [check for exercise in self.exercises for _, check in exercise.checks]

    @property
    def score(self) -> float:
        return sum(check.score for check in self.checks)

    @property
    def max_score(self) -> float:
        return sum(check.max_score for check in self.checks)

    @property
    def waiting(self) -> bool:
        return all(check.status is Status.MANUAL for check in self.checks)


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """A section of the book to read: its headings and its address."""

    chapter: str
    section: str  # may be empty
    address: str  # empty if the book's address is unknown


def feedback_path(result: SubmissionResult) -> PurePosixPath:
    """Return ``feedback/<student>/<homework>.html``."""
    for name in (result.student, result.homework):
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise ValueError(f"{name!r} is no name of a folder")
    return PurePosixPath(FEEDBACK, result.student, f"{result.homework}.html")


def render_feedback(
    standing: Standing, homework: Homework, *, book_url: str = "", alone: bool = False
) -> str:
    """Return the HTML of a submission's feedback page, without flags, seed and hidden source.

    Chapters are linked if ``book_url``, the folder of the book's pages, is given; else only named.
    If ``alone``, the page has no link to the student's other homeworks.

    Raises:
        ValueError: ``book_url`` is not a web address, file address or relative path.
    """
    check_book_url(book_url)
    parts = _parts(standing.result, homework)
    checks = [pair for part in parts for exercise in part.exercises for pair in exercise.checks]
    written = {cell.grade_id for cell in homework.checks if cell.kind is CellKind.WRITTEN}
    judged = [pair for pair in checks if pair[1].check not in written]
    open_checks = [pair for pair in judged if pair[1].status is not Status.PASS]
    return render_page(
        "feedback.html",
        standing=standing,
        alone=alone,
        result=standing.result,
        homework=homework,
        parts=parts,
        checks=checks,
        judged=len(judged),
        passed=len(judged) - len(open_checks),
        by_hand=sum(check.max_score for _, check in checks if check.status is Status.MANUAL),
        # One mistake often fails several checks: its traceback is shown once.
        first_with={check.traceback: number for number, check in reversed(checks)},
        first_open=open_checks[0] if open_checks else None,
        readings={
            check.read: _reading(check.read, homework.headings, book_url) for _, check in checks
        },
    )


def check_book_url(book_url: str) -> None:
    """Raise ``ValueError`` unless this is a web address, a file address or a relative path."""
    address = urlsplit(book_url)
    if address.scheme not in ("", "http", "https", "file"):
        raise ValueError(f"book_url is {book_url!r}, expected an http, https or file address")
    first = address.path.split("/")[0]
    is_path = address.scheme or address.netloc or _is_folder(first)
    if not is_path and re.fullmatch(r".+\.[A-Za-z]{2,}", first):
        raise ValueError(f"book_url is {book_url!r}, a path here: write https://{book_url}")


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # the name is not valid for a file
        return False


def _parts(result: SubmissionResult, homework: Homework) -> list[_Part]:
    """Return the checks grouped by heading of the notebook and by exercise, in its order.

    Written answers are a part of their own.
    """
    headings = _headings(homework)
    written = {cell.grade_id for cell in homework.checks if cell.kind is CellKind.WRITTEN}
    parts: dict[str, dict[str, list[tuple[int, CheckResult]]]] = {}
    for number, check in enumerate(result.checks, start=1):
        code = "" if check.check in written else check.exercise
        title = headings.get(code, code) if code else "Written answers"
        parts.setdefault(title, {}).setdefault(code, []).append((number, check))
    return [
        _Part(
            title=title,
            exercises=tuple(
                _Exercise(code=code, checks=tuple(checks)) for code, checks in exercises.items()
            ),
        )
        for title, exercises in parts.items()
    ]


def _headings(homework: Homework) -> dict[str, str]:
    """Return for each exercise the heading before it, or its own name if there is none."""
    headings: dict[str, str] = {}
    heading = ""
    for cell in homework.cells:
        if cell.kind is CellKind.TEXT and cell.title:
            heading = cell.title
        elif cell.kind is CellKind.SOLUTION:
            headings[cell.grade_id] = heading or cell.grade_id
    return headings


def _reading(read: str, headings: Mapping[str, tuple[str, str]], book_url: str) -> _Reading | None:
    match = _READ.fullmatch(read)
    if match is None:
        return None
    chapter, anchor = match[1], match[2] or ""
    address = f"{book_url.rstrip('/')}/{chapter}.html" + (f"#{anchor}" if anchor else "")
    # A stored result may refer to a section that the homework no longer names.
    title, section = headings.get(read) or (name_in_words(chapter), name_in_words(anchor))
    return _Reading(chapter=title, section=section, address=address if book_url else "")
