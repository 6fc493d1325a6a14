"""Pages about all homeworks so far: each student's own, and the staff's table with its CSV."""

import os
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from autograder.class_folders import COURSE_PAGE, COURSE_TABLE
from autograder.files import write_atomically
from autograder.marks.standing import Standing
from autograder.reports.csv_text import csv_text, inert
from autograder.reports.feedback import feedback_path
from autograder.reports.pages import render_page
from autograder.term.totals import Term, share


def write_course(terms: Mapping[str, Term], folder: Path) -> None:
    """Write the staff's table of all homeworks, as a page and as CSV."""
    write_atomically(folder / COURSE_PAGE, render_course(terms))
    write_atomically(folder / COURSE_TABLE, course_csv(terms))


def write_indexes(terms: Mapping[str, Term], folder: Path) -> None:
    """Write each student's page that lists all homeworks."""
    for student, term in terms.items():
        page = folder / index_path(term)
        page.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(page, render_index(student, term), lasting=False)


def index_path(term: Term) -> PurePosixPath:
    """Return the path of a student's page that lists all homeworks."""
    return feedback_path(term.standings[0].result).with_name("index.html")


def render_index(student: str, term: Term) -> str:
    """Return the HTML of a student's page that lists all homeworks so far."""
    rows = [(s, _title(s), share(s)) for s in term.standings]
    unread = any(s.graded_score != s.max_score for s in term.standings)
    return render_page("index.html", student=student, term=term, rows=rows, unread=unread)


def render_course(terms: Mapping[str, Term]) -> str:
    """Return the HTML of the staff's page about all homeworks; ``terms`` is by student."""
    shares: dict[str, list[float]] = defaultdict(list)
    for term in terms.values():
        for standing in term.standings:
            if not standing.is_blank:
                shares[standing.result.homework].append(share(standing))
    totals = [term.total for term in terms.values() if term.total is not None]
    homeworks = _homeworks(terms.values())
    titles = {s.result.homework: _title(s) for t in terms.values() for s in t.standings}
    rows = [
        (
            student,
            quote(os.fsencode(str(index_path(term)))),
            term,
            {standing.result.homework: standing for standing in term.standings},
        )
        for student, term in terms.items()
    ]
    return render_page(
        "course.html",
        script="report.js",
        homeworks=[(name, titles[name]) for name in homeworks],
        medians={name: statistics.median(shares[name] or [0.0]) for name in homeworks},
        handed_in={name: len(shares[name]) for name in homeworks},
        median_total=statistics.median(totals) if totals else None,
        rows=rows,
    )


def course_csv(terms: Mapping[str, Term]) -> str:
    """Return CSV with a row for each student: points of each homework, and the total in percent."""
    homeworks = _homeworks(terms.values())
    rows = []
    for student, term in terms.items():
        points = dict.fromkeys(term.missed, 0.0)
        points |= {s.result.homework: round(s.score, 6) for s in term.standings}
        told = (points.get(name, "") for name in homeworks)
        left_out = " ".join(sorted(term.left_out))
        percent = "" if term.total is None else round(100 * term.total, 4)
        rows.append((inert(student), *told, left_out, percent))
    return csv_text(("student", *homeworks, "left_out", "percent"), rows)


def _title(standing: Standing) -> str:
    return standing.result.title or standing.result.homework


def _homeworks(terms: Iterable[Term]) -> Sequence[str]:
    return sorted({standing.result.homework for term in terms for standing in term.standings})
