"""A class of made-up students' submissions: right and wrong, half done, endless and hostile."""

from autograder.homework_source.homework import CellKind, Homework, Variant
from autograder.judging.results import Status

from .hostile import ALWAYS_RIGHT, ENDLESS_LOOP, PATCHED_SHELL
from .submissions import BLANK, Submission, slug

_STUDENTS = (
    "ada", "bela", "chidi", "dana", "emil", "fatima", "goran", "hana", "ivo", "jun", "kofi", "lea",
    "mira", "nils", "olga", "pavel",
)  # fmt: skip
_WRONG = 8  # students with a mistake
_ANSWER = "### {0}\n\nAs the chapter says, and in words of my own: a person reads this."


def submission_of(variant: Variant, student: str = "") -> Submission:
    """Return the submission whose answer to one exercise is the variant, and else solved.

    The student's name is made from the variant's, if none is given.
    """
    prefix = f"{variant.exercise}-"
    names = " ".join(check.removeprefix(prefix) for check in variant.lost)
    return Submission(
        student=student or slug(f"{variant.exercise} {variant.name}"),
        what=variant.name if variant.lost else f"right, {variant.name}",
        edits={variant.exercise: variant.source},
        lost={variant.exercise: names} if names else {},
        hint=variant.hint,
    )


def make_sample_class(homework: Homework) -> tuple[Submission, ...]:
    """Return the submissions of sixteen students; ``make course`` grades those of homework 3."""
    exercises = [cell.grade_id for cell in homework.cells if cell.kind is CellKind.SOLUTION]
    right = {e: [v for v in homework.variants if v.exercise == e and v.is_right] for e in exercises}
    written = [cell for cell in homework.cells if cell.kind is CellKind.WRITTEN]
    answers = {cell.grade_id: _ANSWER.format(cell.title) for cell in written}
    students = iter(_STUDENTS)
    made = [
        Submission(
            student=next(students),
            what=f"right, in style {number + 1}",
            edits={e: styles[number].source for e, styles in right.items() if styles[number:]}
            | (answers if number < 2 else {}),
        )
        for number in range(3)
    ]
    mistakes = [homework.mistakes_in(e) for e in exercises]
    wrong = [m[-1 - i] for i in range(_WRONG) for m in mistakes if len(m) > i][:_WRONG]
    made += [submission_of(variant, next(students)) for variant in wrong]
    made += [
        submission_of(right[exercises[0]][0], next(students)) for _ in range(_WRONG - len(wrong))
    ]
    half, last = exercises[len(exercises) // 2 :], exercises[-1]
    everything = dict.fromkeys(exercises, "*")
    endless = f"def {last}(*args, **kwargs):{ENDLESS_LOOP}"
    ends = f"import os\n\ndef {last}(*args, **kwargs):\n    os._exit(0)\n"
    always = {e: f"{ALWAYS_RIGHT}{e} = AlwaysRight()" for e in exercises}
    rest = (
        ("half done", dict.fromkeys(half, BLANK), dict.fromkeys(half, "*"), {}),
        ("endless loop that swallows KeyboardInterrupt", {last: endless}, {last: "*"},
         {"status": Status.TIMEOUT}),
        ("os._exit", {last: ends}, {last: "*"}, {"status": Status.CRASH, "judge_only": True}),
        ("hostile: a result that equals everything", always, everything, {}),
        ("hostile: run_cell patched, nothing written", dict.fromkeys(exercises, BLANK), everything,
         {"extra": PATCHED_SHELL, "judge_only": True}),
    )  # fmt: skip
    made += [
        Submission(student=next(students), what=what, edits=edits, lost=lost, **more)
        for what, edits, lost, more in rest
    ]
    return tuple(made)
