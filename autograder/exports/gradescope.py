"""Gradescope: the content of results.json."""

from typing import Any

from autograder.clean_text import clean_text
from autograder.judging import second_try
from autograder.judging.results import CheckResult, Status
from autograder.marks.standing import Standing
from autograder.reports.status_words import STATUS_WORDS


def gradescope_results(standing: Standing) -> dict[str, Any]:
    """Return the content of results.json, without what only staff may see, such as flags."""
    result = standing.result
    made: dict[str, Any] = {
        "score": round(standing.score, 6),
        "execution_time": round(result.seconds, 3),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "output_format": "text",
        "tests": [_test(number, check, standing) for number, check in enumerate(result.checks, 1)],
    }
    names = {check.check for check in result.checks}
    failures = [f"{f.cell}: {f.message}\n{f.traceback}".strip() for f in result.cell_failures]
    said = [f"{e}: {words}" for e, words in standing.comments.items() if e not in names]
    parts = [standing.lateness.words, result.error, *failures, *said]
    if output := "\n\n".join(part for part in parts if part):
        made["output"] = clean_text(output)
    return made


def _test(number: int, check: CheckResult, standing: Standing) -> dict[str, Any]:
    by_hand = standing.word_by_hand(check.check)
    checks = standing.result.checks
    parts = [by_hand]
    if not by_hand:
        message = check.message or STATUS_WORDS[check.status].fallback
        hint = check.hint and f"Hint: {check.hint}"
        parts = [message, hint, second_try.explain_second_try(check, checks), check.traceback]
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
    if check.status is not Status.MANUAL and not by_hand:  # without a status there is no verdict
        test["status"] = "passed" if check.status is Status.PASS else "failed"
    return test
