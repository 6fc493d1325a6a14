"""Charges each mistake once, by comparing failed checks with wrong variants.

If the transcripts of an exercise's failed checks equal those of a wrong variant, the checks that
the variant names lose their points and show its hint; the other failed checks count as passed. A
failure that no variant explains loses its own points.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from autograder.homework_source.homework import Homework, Variant
from autograder.homework_source.variants import compose, join_hints
from autograder.judging.results import UNWRITTEN, CheckResult, Status
from autograder.judging.transcript import Transcript, are_alike

Run = Callable[[Variant, str], Transcript]
"""Runs a check, given by grade_id, on a variant, and returns its transcript."""

_FAILED = (Status.FAIL, Status.ERROR)


def charge(
    homework: Homework, results: Mapping[str, CheckResult], run: Run
) -> dict[str, CheckResult]:
    """Return the results, by check, with each mistake charged once.

    Of the failed checks that fail as on a wrong variant in ``homework``, only those that the
    variant names still lose points. ``run`` runs a check on a variant.
    """
    charged = dict(results)
    for exercise in dict.fromkeys(cell.exercise for cell in homework.checks if cell.exercise):
        failed = {
            check: found.transcript
            for check, found in results.items()
            if found.exercise == exercise
            and found.status in _FAILED
            and found.transcript
            and UNWRITTEN not in found.message
        }
        mistakes = homework.mistakes_in(exercise)
        if failed and mistakes:
            charged |= _charge_exercise(results, failed, mistakes, run)
    return charged


def _charge_exercise(
    results: Mapping[str, CheckResult],
    failed: Mapping[str, Transcript],
    mistakes: Sequence[Variant],
    run: Run,
) -> dict[str, CheckResult]:
    explained = {v: _explained(v, failed, run) for v in mistakes}
    charged: dict[str, CheckResult] = {}
    left = set(failed)
    made: list[Variant] = []
    while found := _best(explained, left):
        left = _settle(results, charged, found, left, explained[found[0]] & left)
        made += found
    if left and made:  # two mistakes at once
        pairs = (compose(one, other) for one in made for other in mistakes if other != one)
        fitting = [pair for pair in pairs if pair]
        unexplained = {check: failed[check] for check in left}
        everything = {pair: _explained(pair, unexplained, run) for pair in fitting}
        while found := _best(everything, left, paid=set(charged)):
            left = _settle(results, charged, found, left, everything[found[0]] & left)
    for check in left:
        hints = [v.hint for v in mistakes if check in explained[v]]
        if hints:
            charged[check] = replace(results[check], hint=join_hints(hints))
    return charged


def _explained(variant: Variant, failed: Mapping[str, Transcript], run: Run) -> set[str]:
    """Return the failed checks whose transcripts equal those of a variant.

    The checks in ``variant.lost`` run first. If one of them differs, the others are not run, since
    some train for seconds.
    """

    def alike(checks: Iterable[str]) -> set[str]:
        return {check for check in checks if are_alike(run(variant, check), failed[check])}

    due = failed.keys() & set(variant.lost)
    found = alike(due)
    return found | alike(failed.keys() - due) if found == due else found


def _best(
    explained: Mapping[Variant, set[str]], left: set[str], paid: Collection[str] = ()
) -> list[Variant]:
    """Return the variants that explain the most failed checks, and cost the same checks.

    A variant is considered if it explains each check that it names, apart from those ``paid``.

    Args:
        explained: The failed checks that each variant explains.
        left: Failed checks that no chosen variant explains yet.
        paid: Checks whose points an earlier chosen variant has cost.
    """
    fitting = {
        variant: checks & left
        for variant, checks in explained.items()
        if checks & left and set(variant.lost) <= (checks & left).union(paid)
    }
    most = max(map(len, fitting.values()), default=0)
    best = [variant for variant, checks in fitting.items() if len(checks) == most]
    return [v for v in best if fitting[v] == fitting[best[0]] and set(v.lost) == set(best[0].lost)]


def _settle(
    results: Mapping[str, CheckResult],
    charged: dict[str, CheckResult],
    found: Sequence[Variant],
    left: set[str],
    explained: set[str],
) -> set[str]:
    lost = found[0].lost
    hints = join_hints(variant.hint for variant in found)
    for check in explained:
        result = results[check]
        if check in lost:
            charged[check] = replace(result, hint=hints)
        else:
            charged[check] = replace(
                result, status=Status.PASS, score=result.max_score, message="", hint="",
                traceback="", charged_in=lost[0],
            )  # fmt: skip
    return left - explained
