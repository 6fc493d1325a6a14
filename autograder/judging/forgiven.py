"""Fails checks that forgave a mistake for which no other check deducts points.

By ``course_lib.testing.forgive`` a check ignores a mistake that another check charges. Code may
make the mistake in the first check and not in the second, by chance or on purpose.
"""

from collections.abc import Mapping
from dataclasses import replace

from autograder.judging.results import CheckResult, Status


def charge_unpaid(results: Mapping[str, CheckResult]) -> dict[str, CheckResult]:
    """Fail each check that forgave a mistake if the checks that charge it have passed.

    Args:
        results: By check.

    Returns:
        The changed results.
    """
    clean = {check for check, found in results.items() if found.status is Status.PASS}
    return {check: _charged(found, clean) for check, found in results.items()}


def _charged(result: CheckResult, clean: set[str]) -> CheckResult:
    for mistake, paid_in in result.forgave:
        if result.status in (Status.PASS, Status.PARTIAL) and clean.issuperset(paid_in):
            others = " and ".join(paid_in)
            message = f"A mistake that {others} did not find shows here: {mistake}."
            return replace(result, status=Status.FAIL, score=0.0, message=message, forgave=())
    return result
