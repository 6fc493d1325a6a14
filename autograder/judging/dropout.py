"""Dropout that nobody asked for costs one check: the others are run again without it."""

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
"""A cell after which dropout drops nothing."""


def charge_dropout_once(
    results: Mapping[str, CheckResult],
    sources: Iterable[str],
    run_without: Callable[[Collection[str]], Mapping[str, CheckResult]],
) -> dict[str, CheckResult]:
    """Run failed checks again without dropout, if the code has any.

    Args:
        results: By check, in the notebook's order.
        sources: The submission's code.
        run_without: Runs these checks where dropout drops nothing.

    Returns:
        The same; of each exercise's checks that pass without dropout, one that is worth least keeps
        its failure.
    """
    found = dict(results)
    failed = [c for c, result in found.items() if result.status in (Status.FAIL, Status.ERROR)]
    if not failed or not any(map(_MENTIONED.search, sources)):
        return found
    second = run_without(failed)
    spared = [check for check in failed if second[check].status is Status.PASS]
    payers: dict[str, str] = {}
    for check in sorted(spared, key=lambda check: found[check].max_score):  # the first of the least
        payers.setdefault(found[check].exercise, check)
    for check in spared:
        payer = payers[found[check].exercise]
        if payer == check:
            found[check] = replace(found[check], hint=_HINT, transcript=())
        else:
            found[check] = replace(second[check], charged_in=payer)
    return found
