"""Answers of the right shape that compute nothing earn only checks that need no computing.

Each solution is run, and the numbers in its result are replaced. So its errors, its parameters and
its side effects are right.
"""

import pytest

from autograder.homework_source.homework import CellKind
from autograder.judging.trusted_code import names_of_checks
from tests.homework.own_kernel import lost_checks, run_cells, with_checks_of
from tests.homework.submissions import solved_cells, solved_sources, wrapped_cell
from tests.homework.tables import course_homeworks, load_homework

EARNED = {  # by checks that pass all the same
    "GRUCell-parameters",
    "AdditiveAttention-parameters",
    "scaled_dot_product_attention-shape", "scaled_dot_product_attention-errors",
    "padding_mask-errors", "MultiHeadAttention-parameters", "MultiHeadAttention-shape",
    "training_step-update", "training_step-clipping",
    "ngram_counts-short",
    "corrupt_tokens-errors",
    "GatedFeedForward-parameters", "GroupedQueryAttention-memory",
}  # fmt: skip
SLOW = {"training_step-learns", "fine_tune-learns"}

HOLLOW = """
def _wrapped(function, how):
    import dataclasses
    import torch

    def emptied(x, given):
        if isinstance(x, torch.nn.Parameter | torch.nn.Module):
            return x
        if isinstance(x, torch.Tensor):
            alike = [y.clone() for y in given if (y.shape, y.dtype) == (x.shape, x.dtype)]
            if alike and how not in ("zeros", "ones"):
                return alike[0] if how == "the input" else sum(alike[1:], alike[0])
            return torch.ones_like(x) if how == "ones" else torch.zeros_like(x)
        if isinstance(x, str):
            return ""
        if isinstance(x, bool | int | float):
            return type(x)(how == "ones")
        if isinstance(x, dict):
            return type(x)({key: emptied(y, given) for key, y in x.items()})
        if isinstance(x, list | tuple):
            return type(x)(emptied(y, given) for y in x)
        if dataclasses.is_dataclass(x):
            return dataclasses.replace(x, **{k: emptied(y, given) for k, y in vars(x).items()})
        return x

    def call(*args, **named):
        tensors = [x for x in (*args, *named.values()) if isinstance(x, torch.Tensor)]
        return emptied(function(*args, **named), tensors)

    return call
"""


@pytest.mark.proof
@pytest.mark.parametrize("how", ["zeros", "ones", "the input", "the sum of the inputs"])
@pytest.mark.parametrize("homework", course_homeworks())
def test_what_computes_nothing_earns_what_asks_for_no_computing(homework, how):
    solved = load_homework(homework)
    sources, cells = solved_sources(solved), solved_cells(solved)
    names = names_of_checks(solved, "cpu")
    for hollow in (*([exercise] for exercise in sources), list(sources)):
        kept = [
            wrapped_cell(cell, HOLLOW, how) if cell.grade_id in hollow else cell for cell in cells
        ]
        kept = with_checks_of(kept, hollow, SLOW)
        tests = {cell.grade_id for cell in kept if cell.kind is CellKind.TEST and cell.source}
        assert tests - lost_checks(run_cells(kept, names=names)) <= EARNED, hollow
