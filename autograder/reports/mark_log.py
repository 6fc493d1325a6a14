"""marks.log: the reason of every mark, for later questions and complaints.

A tab-separated line for each check, and one for the whole submission. Lines are only added, and
only for marks that differ from the last ones in the log.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from autograder.clean_text import distinct_line, one_line
from autograder.judging.results import Status
from autograder.marks.standing import Standing
from autograder.reports.status_words import STATUS_WORDS, format_points

_WHOLE = "(all)"  # in place of a check's name, in a submission's first line


def write_marks(standings: Sequence[Standing], path: Path, *, now: datetime) -> None:
    """Append to the log at ``path`` the marks that differ from the last ones in it."""
    start = now.strftime("%Y-%m-%dT%H:%M:%SZ\t").encode()
    with path.open("a+b") as log:
        log.seek(0)
        known = _last(log)
        for standing in standings:
            lines = [line.encode(errors="backslashreplace") for line in _lines(standing)]
            if known.get(_whose(lines[0])) != lines:
                log.writelines(start + line for line in lines)


def _last(log: Iterable[bytes]) -> dict[tuple[bytes, ...], list[bytes]]:
    """Return the lines last logged for each (student, homework), without the time."""
    last: dict[tuple[bytes, ...], list[bytes]] = {}
    for dated in log:
        line = dated.partition(b"\t")[2]
        lines = last.setdefault(_whose(line), [])
        if _WHOLE.encode() in line.split(b"\t")[2:3]:
            lines.clear()
        lines.append(line)
    return last


def _whose(line: bytes) -> tuple[bytes, ...]:
    return tuple(line.split(b"\t")[:2])


def _lines(standing: Standing) -> Iterator[str]:
    result = standing.result
    start = (distinct_line(result.student), one_line(result.homework, 80))
    facts = [f"seed {result.seed}", "in the sandbox" if result.sandboxed else "WITHOUT A SANDBOX"]
    facts += [one_line(result.error, 400)] if result.error else []
    facts += [f"{one_line(f.cell)}: {_quoted(f.message)}" for f in result.cell_failures]
    facts += [
        f"flag, {flag.kind}: {one_line(flag.text, 400)} {one_line(flag.where)}".rstrip()
        for flag in result.flags
    ]
    if standing.lateness.words:
        facts.append(
            f"-{format_points(standing.penalty)}: {one_line(standing.lateness.words, 400)}"
        )
    score = "no mark" if result.interrupted else _score(standing.score, standing.max_score)
    yield _line(*start, _WHOLE, score, "; ".join(facts))
    for check in result.checks if not result.interrupted else ():
        reason = check.message or result.error or STATUS_WORDS[check.status].fallback
        reason = "" if check.status is Status.PASS else one_line(reason, 1000)
        if check.hint:
            reason += f" (hint: {one_line(check.hint, 400)})"
        outcome = STATUS_WORDS[check.status].short
        if check.check in standing.by_hand:
            outcome = standing.word_by_hand(check.check).lower()
            reason = one_line(standing.comments.get(check.check, ""), 400)
        words = f"{outcome}: {reason}".removesuffix(": ")
        yield _line(*start, one_line(check.check), _score(check.score, check.max_score), words)


def _quoted(text: str) -> str:
    """Return a message of the student's code in quotes, so that nobody takes it for the judge's."""
    return '"' + one_line(text, 400).replace('"', "'") + '"'


def _score(score: float, top: float) -> str:
    return f"{format_points(score)}/{format_points(top)}"


def _line(*fields: str) -> str:
    return "\t".join(fields) + "\n"
