"""Charges unwanted dropout once, by running failed checks without it."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from autograder.judging.results import CheckResult, Status

_MENTIONED = re.compile("dropout", re.IGNORECASE)
_HINT = (
    "You drop values at random, so two equal calls give different results; leave dropout out, or "
    "set it to 0."
)
NO_DROPOUT = """\
import torch
torch.nn.functional.dropout = lambda input, *args, **kwargs: input
"""
"""A cell that turns dropout into the identity."""


def charge_dropout_once(
    results: Mapping[str, CheckResult],
    sources: Iterable[str],
    run_without: Callable[[Collection[str]], Mapping[str, CheckResult]],
) -> dict[str, CheckResult]:
    """Return the results, after failed checks ran again without dropout if the code mentions it.

    Of an exercise's checks that pass without dropout, the one worth the fewest points still fails.
    ``sources`` are the student's solutions; ``run_without`` runs checks again without dropout.
    """
    found = dict(results)
    failed = [c for c, result in found.items() if result.status in (Status.FAIL, Status.ERROR)]
    if not failed or not any(map(_MENTIONED.search, sources)):
        return found
    second = run_without(failed)
    spared = [check for check in failed if second[check].status is Status.PASS]
    payers: dict[str, str] = {}
    for check in sorted(spared, key=lambda check: found[check].max_score):  # of equals, the first
        payers.setdefault(found[check].exercise, check)
    for check in spared:
        payer = payers[found[check].exercise]
        if payer == check:
            found[check] = replace(found[check], hint=_HINT, transcript=())
        else:
            found[check] = replace(second[check], charged_in=payer)
    return found
