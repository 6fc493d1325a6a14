"""Parameters of which ``make test`` tries some, and ``make proof`` all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def with_proofs(values: Iterable[Any], proofs: Collection[Any]) -> list[Any]:
    """Mark those that another one, in the same test or elsewhere, stands for on most days.

    Args:
        values: All of them.
        proofs: Which are left to ``make proof``; each must be among them.
    """
    values = list(values)
    assert all(proof in values for proof in proofs), set(proofs) - set(values)
    return [pytest.param(v, marks=pytest.mark.proof) if v in proofs else v for v in values]
