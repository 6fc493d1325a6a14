"""Points in the forms that other systems read: Canvas, Moodle, Gradescope."""

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograder.clean_text import clean_text, one_line
from autograder.judging import second_try
from autograder.judging.results import CheckResult, Status, SubmissionResult
from autograder.marks.standing import Standing
from autograder.reports.csv_text import csv_text, inert, inert_html
from autograder.reports.status_words import STATUS_WORDS, format_points

# how collect ends a student's id if no class list names them; Canvas calls submissions anon_12345
_LMS_ID = re.compile(r"(?!anon_[0-9]+\Z).+_([0-9]+)")
_MOST_CHARACTERS = 16_000  # of a comment; Canvas takes more
_USER = re.compile(r"[0-9]+")  # Canvas's number of a person


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A student's points for a homework.

    Attributes:
        student: The student's id in the course.
        score: Points, those given by hand included.
        max_score: Points to be had.
        lms_id: The student's number in the other system, with Moodle in this assignment; empty if
            it is not known.
        name: In full; may be empty.
        section: May be empty.
        comment: What lateness cost, and what teaching assistants said; may be empty.
    """

    student: str
    score: float
    max_score: float
    lms_id: str = ""
    name: str = ""
    section: str = ""
    comment: str = ""


class SharedIdError(ValueError):
    """Two students have one id in the other system; the message names both."""


def guess_lms_id(student: str) -> str:
    """Return the number that ``collect`` left at the end of a student's id; empty if none."""
    found = _LMS_ID.fullmatch(student)
    return found[1] if found else ""


def canvas_mark(mark: Mark) -> Mark:
    """Return a mark without an ``lms_id`` that can't be a person's number at Canvas."""
    return mark if _USER.fullmatch(mark.lms_id) else replace(mark, lms_id="")


def refuse_shared_ids(marks: Iterable[Mark]) -> None:
    """Make sure that nobody's points overwrite another's."""
    owners: dict[str, str] = {}
    for mark in marks:
        owner = owners.setdefault(mark.lms_id.casefold(), mark.student)
        if owner != mark.student:
            raise SharedIdError(
                f"{owner} and {mark.student} have one id, {mark.lms_id}: tell them apart by "
                "--roster, or remove the submission of one and grade again"
            )


def canvas_csv(marks: Iterable[Mark], column: str) -> str:
    """Write what Canvas's gradebook imports."""
    header = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", inert(column))
    return csv_text(
        header,
        (
            (
                inert(mark.name or mark.student),
                inert(mark.lms_id),
                "",
                "",
                inert(mark.section),
                _points(mark.score),
            )
            for mark in marks
        ),
        end="\r\n",
    )


def moodle_csv(marks: Iterable[Mark], maximum: float | None = None) -> str:
    """Write a grading worksheet, as Moodle's assignments import it."""
    header = (
        "Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)",
        "Feedback comments",
    )  # fmt: skip
    return csv_text(
        header,
        (
            (
                inert(f"Participant {m.lms_id}"),
                inert(m.name or m.student),
                _points(m.score * maximum / m.max_score if maximum else m.score),
                _points(maximum or m.max_score),
                "",
                _in_words(m),
            )
            for m in marks
        ),
        end="\r\n",
    )


def gradescope_results(standing: Standing) -> dict[str, Any]:
    """Make the content of Gradescope's results.json.

    Nothing that is the staff's (flags, seed, hidden source) goes into it.
    """
    result = standing.result
    tests = [
        _gradescope_test(number, check, standing) for number, check in enumerate(result.checks, 1)
    ]
    made: dict[str, Any] = {
        "score": round(standing.score, 6),
        "execution_time": round(result.seconds, 3),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "output_format": "text",
        "tests": tests,
    }
    names = {check.check for check in result.checks}
    failures = [f"{f.cell}: {f.message}\n{f.traceback}".strip() for f in result.cell_failures]
    said = [f"{e}: {words}" for e, words in standing.comments.items() if e not in names]
    parts = [standing.lateness.words, result.error, *failures, *said]
    if output := "\n\n".join(part for part in parts if part):
        made["output"] = clean_text(output)
    return made


def _gradescope_test(number: int, check: CheckResult, standing: Standing) -> dict[str, Any]:
    message = check.message or STATUS_WORDS[check.status].fallback
    hint = check.hint and f"Hint: {check.hint}"
    parts = [message, hint, second_try.told(check), check.traceback]
    by_hand = standing.word_by_hand(check.check)
    parts = [by_hand] if by_hand else parts
    parts.append(standing.comments.get(check.check, ""))
    test: dict[str, Any] = {
        "number": str(number),
        "name": check.title or check.check,
        "score": round(check.score, 6),
        "max_score": round(check.max_score, 6),
        "name_format": "text",
        "output_format": "text",
        "output": clean_text("\n\n".join(part for part in parts if part)),
        "visibility": "visible",
    }
    if (
        check.status is not Status.MANUAL and not by_hand
    ):  # Gradescope shows no verdict where there is no status
        test["status"] = "passed" if check.status is Status.PASS else "failed"
    return test


def comment_of(standing: Standing) -> str:
    """Put together what a person would write below a mark."""
    titles = {check.check: check.title for check in standing.result.checks}
    said = (f"{titles.get(name) or name}: {words}" for name, words in standing.comments.items())
    return clean_text("\n".join(filter(None, (standing.lateness.words, *said))))


def moodle_feedback(marks: Iterable[Mark], pages: Mapping[str, bytes], name: str) -> bytes:
    """Pack students' pages as Moodle's "Upload multiple feedback files in a zip" takes them."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for mark in marks:
            person = re.sub(r"[\W_]+", " ", mark.name or mark.student).strip() or "Student"
            folder = f"{person}_{mark.lms_id}_assignfeedback_file_"
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}"), pages[mark.student])
    return packed.getvalue()


def canvas_feedback(marks: Iterable[Mark], texts: Mapping[str, str]) -> str:
    """Write comments as Canvas's API takes them: its gradebook's CSV has no room for any."""
    grades = {
        mark.lms_id: {"posted_grade": _points(mark.score), "text_comment": texts[mark.student]}
        for mark in marks
    }
    return json.dumps({"grade_data": grades}, indent=2, ensure_ascii=False)


def feedback_in_words(standing: Standing) -> str:
    """Put a submission's feedback in a few lines of text, where no page can be given."""
    result = standing.result
    points = f"{format_points(standing.score)} of {format_points(standing.max_score)} points"
    lines = [result.error] if result.error else [*_failures(result), *_went_wrong(standing)]
    said = filter(None, (points, *lines, comment_of(standing)))
    return clean_text("\n".join(said), _MOST_CHARACTERS)


def _failures(result: SubmissionResult) -> list[str]:
    if not result.cell_failures:
        return []
    cells = (f"- {f.cell}: {one_line(f.message, 300)}" for f in result.cell_failures)
    return ["Cells that did not run to their end:", *cells]


def _went_wrong(standing: Standing) -> Iterator[str]:
    for number, check in enumerate(standing.result.checks, 1):
        if check.status in (Status.PASS, Status.MANUAL) or check.check in standing.by_hand:
            continue
        said = one_line(check.message or STATUS_WORDS[check.status].fallback, 300)
        hint = f" Hint: {one_line(check.hint, 300)}" if check.hint else ""
        end = "" if said.endswith((".", "!", "?", "…")) or not hint else "."
        yield f"{number}. {check.title or check.check}: {said}{end}{hint}"


def _in_words(mark: Mark) -> str:
    """Return what Moodle shows below a mark, as HTML, for which it takes whatever it is given."""
    points = f"{format_points(mark.score)} of {format_points(mark.max_score)} points"
    return f"{points}. {inert_html(mark.comment)}" if mark.comment else points


def _points(points: float) -> str:
    return f"{points:.4f}".rstrip("0").rstrip(".")
