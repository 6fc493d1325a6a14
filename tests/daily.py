"""Marks the parameters of a test that only ``make proof`` runs."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def with_proofs(values: Iterable[Any], proofs: Collection[Any]) -> list[Any]:
    """Return a test's parameters, with those in ``proofs`` marked ``proof``.

    ``make test`` runs only the others. Each of ``proofs`` must be in ``values``.
    """
    values = list(values)
    assert all(proof in values for proof in proofs), set(proofs) - set(values)
    return [pytest.param(v, marks=pytest.mark.proof) if v in proofs else v for v in values]
