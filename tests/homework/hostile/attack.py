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
        submission: The notebook. The exercises in ``lost`` must earn nothing.
        keeps: Checks of the exercises in ``lost`` that it passes honestly all the same.
        forge: Alters the notebook's JSON in place, or returns other bytes to hand in.
        flagged: Words that one of the remarks for the staff must hold; empty if none is due.
        invalid: Whether nothing can be graded, so that each check is lost.
    """

    submission: Submission
    keeps: frozenset[str] = frozenset()
    forge: Callable[[dict[str, Any]], bytes | None] | None = None
    flagged: str = ""
    invalid: bool = False

    def must_lose(self, homework: Homework) -> set[str]:
        """Return the grade_ids of the checks that must earn nothing."""
        if self.invalid:
            return {cell.grade_id for cell in homework.checks}
        return self.submission.lost_checks(homework) - self.keeps

    def may_lose(self, homework: Homework) -> set[str]:
        """Return the grade_ids of all checks that may earn nothing.

        A wrong attention function also breaks ``MultiHeadAttention``, which calls it.
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
    forge: Callable[[dict[str, Any]], bytes | None] | None = None,
    flagged: str = "",
    invalid: bool = False,
) -> Attack:
    """Build an attack from the fields of its submission and its own.

    Args:
        name: The folder's name.
        tries: The attempt, in words.
        edits: As ``Submission``.
        extra: As ``Submission``.
        lost: As ``Submission``; the exercises that ``edits`` names if None.
        keeps: As ``Attack``, separated by spaces.
        forge: As ``Attack``.
        flagged: As ``Attack``.
        invalid: As ``Attack``.
    """
    edits = edits or {}
    submission = Submission(
        student=name,
        what=tries,
        edits=edits,
        extra=extra,
        lost=dict.fromkeys(edits, "*") if lost is None else lost,
        judge_only=True,
    )
    return Attack(
        submission=submission,
        keeps=frozenset(keeps.split()),
        forge=forge,
        flagged=flagged,
        invalid=invalid,
    )


def at_attention(body: str, before: str = "") -> dict[str, Edit]:
    """Return an edit of the attention function's cell: the code ``before``, then the given body."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    signature = f"def {ATTENTION}(query, key, value, mask=None, *, return_weights=False):"
    return {ATTENTION: f"{before.strip()}\n\n\n{signature}\n{lines}\n"}


def at_padding(body: str, before: str = "") -> dict[str, Edit]:
    """Return an edit of the padding mask's cell: the code ``before``, then the given body."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return {PADDING: f"{before.strip()}\n\n\ndef padding_mask(token_ids, pad_id):\n{lines}\n"}
