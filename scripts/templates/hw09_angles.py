"""The submissions of hw09: right and wrong, with the checks that each must lose.

Two points are to be had from tests, three from the written question.
"""

from .submissions import Submission, mistake, right

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(student="ada", what="right, as solved"),
    Submission(
        student="bela",
        what="no norms",
        edits={"cosine": ((" / (a.norm() * b.norm())", ""),)},
        lost={"cosine": "values"},
        hint="divide by both norms",
    ),
)

MISTAKES: tuple[Submission, ...] = (
    right(
        "with unit vectors",
        {"cosine": "def cosine(a, b):\n    return (a / a.norm()) @ (b / b.norm())"},
    ),
    mistake("one norm forgotten", "cosine", ((" * b.norm()", ""),), lost="values"),
)

DELIGHT = "cat is near to dog"
