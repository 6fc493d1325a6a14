"""marks.log: the reason of every mark, for the day when somebody asks.

A line a check, and one for the whole submission, separated by tabs. Lines are only ever added: a
mark that was given again, otherwise, stands below the first.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from autograder.clean_text import one_line
from autograder.results import Status, SubmissionResult
from autograder.status_words import STATUS_WORDS, format_points


def write_marks(
    results: Sequence[SubmissionResult],
    before: Sequence[SubmissionResult],
    path: Path,
    *,
    now: datetime,
) -> None:
    """Add what a grading found to the log.

    Args:
        results: The class's results.
        before: Results of an earlier grading: those that are as they were are not logged again.
        path: The log; made if it is not there.
        now: The time that the lines bear.

    Raises:
        OSError: It can't be written.
    """
    known = {result.student: result for result in before}
    with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
        for result in results:
            if known.get(result.student) != result:
                log.writelines(_lines(result, now.strftime("%Y-%m-%dT%H:%M:%SZ")))


def _lines(result: SubmissionResult, now: str) -> Iterator[str]:
    start = (now, one_line(result.student, 80), one_line(result.homework, 80))
    facts = [f"seed {result.seed}", "in the sandbox" if result.sandboxed else "WITHOUT A SANDBOX"]
    facts += [one_line(result.error, 400)] if result.error else []
    facts += [f"{one_line(f.cell)}: {one_line(f.message, 400)}" for f in result.cell_failures]
    facts += [
        f"flag, {flag.kind}: {one_line(flag.text, 400)} {one_line(flag.where)}".rstrip()
        for flag in result.flags
    ]
    yield _line(*start, "(all)", _score(result.score, result.max_score), "; ".join(facts))
    for check in result.checks:
        reason = check.message or result.error or STATUS_WORDS[check.status].fallback
        reason = "" if check.status is Status.PASS else one_line(reason, 1000)
        if check.hint:
            reason += f" (hint: {one_line(check.hint, 400)})"
        words = f"{STATUS_WORDS[check.status].short}: {reason}".removesuffix(": ")
        yield _line(*start, one_line(check.check), _score(check.score, check.max_score), words)


def _score(score: float, top: float) -> str:
    return f"{format_points(score)}/{format_points(top)}"


def _line(*fields: str) -> str:
    return "\t".join(fields) + "\n"
