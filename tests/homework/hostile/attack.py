"""Parts of hw03's hostile submissions: one dishonest exercise, the others solved.

Each earns what its solved exercises are worth, and nothing for the dishonest one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.homework_source.homework import Homework

from ..submissions import Edit, Submission

ATTENTION = "scaled_dot_product_attention"
CAUSAL = "causal_mask"
PADDING = "padding_mask"
LAYER = "MultiHeadAttention"
EVERYTHING = dict.fromkeys((ATTENTION, CAUSAL, PADDING, LAYER), "*")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A submission that tries to get undeserved points.

    Attributes:
        submission: The submission. The exercises in its ``lost`` must earn nothing.
        keeps: Ids of checks of these exercises that it passes honestly all the same.
        forge: Function that changes the notebook's JSON in place, or returns other bytes to submit.
        flagged: Words that one of the result's flags for the staff must have; empty if none is due.
        invalid: Whether the file can't be graded, so that each check fails.
    """

    submission: Submission
    keeps: frozenset[str] = frozenset()
    forge: Callable[[dict[str, Any]], bytes | None] | None = None
    flagged: str = ""
    invalid: bool = False

    def must_lose(self, homework: Homework) -> set[str]:
        """Return the ids of the checks that must fail."""
        if self.invalid:
            return {cell.grade_id for cell in homework.checks}
        return self.submission.lost_checks(homework) - self.keeps

    def may_lose(self, homework: Homework) -> set[str]:
        """Return the ids of the checks that may fail: those that must, and those in ``keeps``.

        An attack on the attention function may also fail the checks of the layer that uses it.
        """
        lost = self.must_lose(homework) | self.keeps
        if ATTENTION in self.submission.lost:
            lost |= {cell.grade_id for cell in homework.checks if cell.exercise == LAYER}
        return lost


def attack(
    name: str,
    tries: str,
    *,
    edits: Mapping[str, Edit] | None = None,
    extra: str = "",
    lost: Mapping[str, str] | None = None,
    keeps: str = "",
    **fields: Any,
) -> Attack:
    """Return an attack, built from fields of its submission and its own.

    Args:
        name: Name of the student's folder.
        tries: The attempt, in words.
        edits: As in ``Submission``.
        extra: As in ``Submission``.
        lost: As in ``Submission``; if None, all checks of the exercises that ``edits`` names.
        keeps: As in ``Attack``, separated by spaces.
        fields: Further fields of ``Attack``.
    """
    edits = edits or {}
    lost = dict.fromkeys(edits, "*") if lost is None else lost
    submission = Submission(
        student=name, what=tries, edits=edits, extra=extra, lost=lost, judge_only=True
    )
    return Attack(submission=submission, keeps=frozenset(keeps.split()), **fields)


def _function(signature: str, body: str, before: str) -> str:
    """Return the source of a function with this body, below the source ``before``."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"{before.strip()}\n\n\ndef {signature}:\n{lines}\n"


def at_attention(body: str, before: str = "") -> dict[str, Edit]:
    """Return the edit that gives the attention function this body, below the source ``before``."""
    signature = f"{ATTENTION}(query, key, value, mask=None, *, return_weights=False)"
    return {ATTENTION: _function(signature, body, before)}


def at_padding(body: str, before: str = "") -> dict[str, Edit]:
    """Return the edit that gives the padding mask this body, below the source ``before``."""
    return {PADDING: _function("padding_mask(token_ids, pad_id)", body, before)}
