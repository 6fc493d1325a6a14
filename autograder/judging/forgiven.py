"""What one check forgives, another has to charge: else it is forgiven no more.

A mistake is paid for once, so a check may pass over one that another looks for, by
``course_lib.testing.forgive``. Code may show a mistake to the one and not to the other, on purpose
or by chance: then nobody would charge it.
"""

from collections.abc import Mapping
from dataclasses import replace

from autograder.judging.results import CheckResult, Status


def charge_unpaid(results: Mapping[str, CheckResult]) -> dict[str, CheckResult]:
    """Fail each check that passed over a mistake which no check found.

    Args:
        results: By check.

    Returns:
        The same with those failed.
    """
    clean = {check for check, found in results.items() if found.status is Status.PASS}
    return {check: _charged(found, clean) for check, found in results.items()}


def _charged(result: CheckResult, clean: set[str]) -> CheckResult:
    for mistake, paid_in in result.forgave:
        if result.status in (Status.PASS, Status.PARTIAL) and clean.issuperset(paid_in):
            look = "looks" if len(paid_in) == 1 else "look"
            others = " and ".join(paid_in)
            message = f"What {others} {look} for, and did not find, shows here: {mistake}."
            return replace(result, status=Status.FAIL, score=0.0, message=message, forgave=())
    return result
