"""Copies are found however they are disguised; who only solved the same exercise is left alone."""

import dataclasses
import json
import random

import pytest

from autograder.class_folders import TEAMS
from autograder.class_run.similarity import SHARE, find_similar, flag_similar
from autograder.homework_source.homework import CellKind
from autograder.judging.results import FlagKind, ungraded
from tests.homework.tables import load_homework, released_notebook, solved_notebook
from tests.processor_time import limited_to

HOMEWORK = "hw03-self-attention"
STUB = 'def attend(query, key, value):\n    """Return what the values say."""\n'
OPERATIONS = ("softmax", "matmul", "transpose", "relu", "einsum", "where", "clamp", "cumsum")


def program(seed: int, lines: int = 25) -> str:
    """Return the source of a random function, which is unlike that of every other seed."""
    generator = random.Random(seed)
    body = []
    for number in range(lines):
        operation, other = generator.choices(OPERATIONS, k=2)
        numbers = generator.sample(range(100), 2)
        body.append(
            f"    step_{number} = [x ** {numbers[0]} for x in query.{operation}({numbers[1]})]"
        )
        body.append(f"    if step_{number} != value.{other}() + {numbers[1]}: key -= {numbers[0]}")
    return STUB + "\n".join([*body, "    return step_0"])


def disguised(source: str) -> str:
    """Return the same program with other names, comments and layout."""
    for old, new in (("step_", "mein_schritt_"), ("query", "q"), ("value", "v"), ("key", "k")):
        source = source.replace(old, new)
    return source.replace("\n    if", "\n\n    # my own idea\n    if")


def pairs(solutions: dict[str, str]) -> set[tuple[str, str]]:
    found = find_similar({s: {"attend": text} for s, text in solutions.items()}, {"attend": STUB})
    return {(pair.student_a, pair.student_b) for pair in found}


def test_a_disguised_copy_is_found_and_nobody_else():
    solutions = {f"student-{n}": program(n) for n in range(12)}
    solutions["copy"] = disguised(solutions["student-7"])
    assert pairs(solutions) == {("copy", "student-7")}


def test_a_copy_with_another_part_is_still_found_by_its_share():
    whole = program(1)
    found = find_similar(
        {
            "ada": {"attend": whole, "mask": program(2, lines=1)},
            "bo": {"attend": whole, "mask": program(3, lines=1)},
        },
        {},
    )
    (pair,) = found
    assert SHARE <= pair.share < 1
    assert pair.cells == ("attend",)


def test_copies_do_not_hide_each_other():
    """Code that eleven near copies share is not ignored as code that the exercise gives."""
    copies = {f"copy-{n:02d}": program(1) + program(100 + n, lines=1) for n in range(11)}
    others = {f"student-{n:02d}": program(n) for n in range(2, 26)}
    found = pairs(copies | others)
    assert {name for pair in found for name in pair} == set(copies)
    assert len(found) == 55


def test_released_and_common_code_is_not_compared():
    untouched = {f"student-{n}": STUB for n in range(4)}
    assert pairs(untouched) == set()
    everybodys = {f"student-{n:02d}": program(1) for n in range(12)}
    assert pairs(everybodys) == set()


LAYOUTS = {
    "spaces": lambda source: source.replace(" for x in", " " * 1_100 + "for x in"),
    "line ends in brackets": lambda source: source.replace(" for x in", "\n" * 50 + "for x in"),
    "backslashes": lambda source: source.replace(" = [", " \\\n" * 50 + "= ["),
    "comments in brackets": lambda s: s.replace(" for x", " # " + "mine " * 300 + "\n for x"),
    "semicolons": lambda source: source.replace("]\n    if", "]; 0; 0\n    if").replace("; 0", ";"),
    "long texts": lambda s: s.replace("\n    step", "\n    '" + "mine " * 300 + "'; step"),
    "one line": lambda source: source.replace("\n", ";") + "x = 1;" * 3,
    "letters that look alike": lambda source: source.replace("for x in", "for \uff58 in"),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_no_layout_hides_a_copy(layout):
    hidden = layout(program(1))
    assert hidden != program(1)
    solutions = {"ada": program(1), "bo": hidden, "cy": program(2)}
    assert pairs(solutions) == {("ada", "bo")}


@pytest.mark.parametrize(
    "flood",
    [
        *("\n \n" * 100_000, "\r \r" * 100_000, "'''" + r"\N{" * 100_000, "'''" + "{a[" * 100_000),
        "'''" + "\n".join([r"\N{" * 300] * 330),
    ],
    ids=["blank lines", "blank lines of old Macs", "escapes", "brackets", "lines of escapes"],
)
def test_no_cell_holds_up_the_class(flood):
    with limited_to(seconds=10):  # pygments would read for hours
        assert pairs({"ada": flood, "bo": program(1), "cy": program(1)}) == {("bo", "cy")}


def test_a_class_is_flagged_and_no_mark_changes(tmp_path):
    homework = load_homework(HOMEWORK)
    released = released_notebook(HOMEWORK)
    code = {"ada": program(1), "bo": program(2), "cy": program(1)}
    results = hand_in(tmp_path, code)
    flagged = flag_similar(results, tmp_path, homework, released)
    texts = {r.student: [f.text for f in r.flags if f.kind is FlagKind.SIMILAR] for r in flagged}
    assert texts["bo"] == []
    assert texts["ada"][0].startswith("100% the same as cy: scaled_dot_product_attention")
    assert texts["cy"][0].startswith("100% the same as ada")
    assert [r.checks for r in flagged] == [r.checks for r in results]
    assert flag_similar(flagged, tmp_path, homework, released) == flagged
    (tmp_path / TEAMS).write_text(json.dumps({HOMEWORK: {"ada": "heads", "cy": "heads"}}))
    assert flag_similar(flagged, tmp_path, homework, released) == results  # they hand in together
    (tmp_path / TEAMS).write_text(json.dumps({"hw04": {"ada": "heads", "cy": "heads"}}))
    assert flag_similar(results, tmp_path, homework, released) == flagged  # another homework's
    (tmp_path / TEAMS).write_text(json.dumps({HOMEWORK: {"ada": "heads"}}))
    assert flag_similar(results, tmp_path, homework, released) == flagged


def hand_in(folder, code: dict[str, str]) -> list:
    """Write a notebook for each student in ``code``, with that code in each solution cell.

    Return ungraded results of these students.
    """
    homework = load_homework(HOMEWORK)
    solved = json.loads(solved_notebook(HOMEWORK))
    for student, source in code.items():
        for cell in solved["cells"]:
            if cell["metadata"].get("course", {}).get("kind") == CellKind.SOLUTION:
                cell["source"] = source
        path = folder / student / HOMEWORK / f"{HOMEWORK}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(solved))
    return [dataclasses.replace(ungraded(homework, student, ""), error="") for student in code]


def test_one_collection_of_copies_does_not_link_its_sources(tmp_path):
    code = {"bo": program(1), "cy": program(2), "di": program(3), "ed": program(4)}
    code["ada"] = "\n\n".join(code[student] for student in ("bo", "cy", "di"))
    results = hand_in(tmp_path, code)
    flagged = flag_similar(results, tmp_path, load_homework(HOMEWORK), released_notebook(HOMEWORK))
    texts = {result.student: [flag.text for flag in result.flags] for result in flagged}
    assert texts.pop("ada")[0].startswith("nearly all of bo, cy, di stands in it: scaled_dot")
    assert texts.pop("ed") == []
    for (text,) in texts.values():
        assert text.startswith("100% of it stands in ada: scaled_dot")
    assert len({(f.students, f.cells) for result in flagged for f in result.flags}) == 1


def test_identical_submissions_get_one_equal_flag_each(tmp_path):
    homework = load_homework(HOMEWORK)
    students = [*(f"copy-{n:02d}" for n in range(10)), "bo", "cy", *"defghijkl"]
    results = hand_in(tmp_path, {name: program(max(n, 9)) for n, name in enumerate(students)})
    flagged = flag_similar(results, tmp_path, homework, released_notebook(HOMEWORK))
    assert len({result.flags for result in flagged[:10]}) == 1
    assert {result.flags for result in flagged[10:]} == {()}
    (flag,) = flagged[0].flags
    assert flag.text.startswith("one of 10 that are nearly the same, copy-00, copy-01, ")
    assert " and 2 more: scaled_dot_product_attention" in flag.text
