"""In each homework right answers get full marks, and each mistake loses its own checks alone.

Here without the judge, in one process. ``make test`` grades for each check a variant that loses it,
and a right style of each exercise; ``make proof`` grades all, on all checks, with more seeds.
``test_judged_classes.py`` asks the judge.
"""

import ast
import dataclasses
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
import torch
from _pytest.mark import ParameterSet
from course_book.notebooks.used_files import UsedFiles

from autograder.homework_source import source
from autograder.homework_source.cell_text import BEGIN_HIDDEN_TESTS, students_text
from autograder.homework_source.homework import CellKind
from autograder.homework_source.variants import is_named
from autograder.judging.results import Status
from autograder.judging.trusted_code import names_of_checks
from course_lib.course_map import COURSE_MAP
from course_lib.usual_errors import hint_for
from tests.homework.in_process import Kernel, lost
from tests.homework.own_kernel import CellRun, grade_cells, lost_checks, run_cells, with_checks_of
from tests.homework.submissions import Submission, answered_cells, nothing_written
from tests.homework.tables import (
    ROOT,
    course_homeworks,
    load_homework,
    load_table,
    read_released,
    released_notebook,
    tabled_homeworks,
)

HOMEWORKS = tabled_homeworks()
each_homework = pytest.mark.parametrize("homework", HOMEWORKS)
USED = UsedFiles(ROOT)  # one for all: it reads each file once


def as_it_is(homework: str) -> pytest.MarkDecorator:
    """Return the mark of a test of one homework, with the files that the test depends on.

    They are those that the homework's source and this file import, directly or not, or name.
    """
    solutions = ROOT / "solutions" / f"{homework}.py"
    text = solutions.read_text(encoding="utf-8")
    used = USED.by([text, repr(text), f"import tests.homework.{Path(__file__).stem}"])
    paths = [*used, solutions, released_notebook(homework)]
    return pytest.mark.depends_on(*(str(path.relative_to(ROOT)) for path in paths))


AS_IT_IS = {homework: as_it_is(homework) for homework in HOMEWORKS}
each_as_it_is = pytest.mark.parametrize(
    "homework", [pytest.param(homework, marks=AS_IT_IS[homework]) for homework in HOMEWORKS]
)


def rows_of(homework: str) -> Iterator[ParameterSet]:
    """Yield (homework, submission) for each submission that may run outside the judge."""
    for submission in load_table(homework).submissions:
        if not submission.judge_only:
            name = f"{homework[:4]}-{submission.student}, {submission.what}"
            yield pytest.param(homework, submission, id=name)


SUBMISSIONS = [row for homework in HOMEWORKS for row in rows_of(homework)]
LOSING = [p for p in SUBMISSIONS if p.values[1].lost and p.values[1].status is not Status.TIMEOUT]


def run_submission(homework: str, submission: Submission, **settings) -> list[CellRun]:
    """Grade a submission in this process; ``settings`` are those of ``grade_cells``."""
    cells = answered_cells(submission, load_homework(homework), read_released(homework))
    return grade_cells(cells, load_homework(homework), **settings)


# ---- the notebook ----


CONTRACT = re.compile(r"assert_raises|assert_keeps_inputs|\.dtype|\.double\(\)")


@each_homework
def test_a_notebook_is_short(homework):
    cells = read_released(homework).cells
    lines = {cell.id: cell.source.count("\n") + 1 for cell in cells}
    kinds = {c.grade_id: c.kind for c in load_homework(homework).cells}
    assert sum(lines.values()) <= 450
    assert sum(n for name, n in lines.items() if kinds.get(name) is CellKind.SETUP) <= 25
    tests = {name: n for name, n in lines.items() if kinds.get(name) is CellKind.TEST}
    assert max(tests.values()) <= 15, tests


@each_homework
def test_contracts_are_worth_a_tenth_of_the_points_at_most(homework):
    tests = [c for c in load_homework(homework).checks if c.kind is CellKind.TEST]
    contracts = [c for c in tests if len(CONTRACT.findall(students_text(c))) > 2]
    assert sum(c.points for c in contracts) <= sum(c.points for c in tests) / 10


@each_homework
def test_errors_are_asked_for_in_one_exercise_of_three_at_most(homework):
    cells = load_homework(homework).cells
    exercises = {c.grade_id for c in cells if c.kind is CellKind.SOLUTION}
    asking = {c.exercise for c in cells if "assert_raises(" in c.source}
    assert len(asking) <= max(1, len(exercises) // 3)


@each_homework
def test_an_exercise_has_two_right_styles_and_a_mistake_for_each_check(homework):
    variants = load_homework(homework).variants
    for cell in load_homework(homework).cells:
        of_cell = [v for v in variants if v.exercise == cell.grade_id]
        if cell.kind is CellKind.SOLUTION:
            assert sum(v.is_right for v in of_cell) >= 2, cell.grade_id
        if cell.kind is CellKind.TEST:
            assert any(cell.grade_id in v.lost for v in variants), cell.grade_id


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.proof) for seed in range(1, 5))]


@pytest.mark.parametrize("seed", SEEDS)
@each_homework
def test_a_variant_costs_what_it_says_whatever_the_seed(homework, seed):
    graded = load_homework(homework)
    kernel = Kernel(graded, seed)
    daily = {name: v for v in graded.variants for name in v.lost or [v.exercise] if v.source}
    chosen = daily.values() if seed == 0 else [v for v in graded.variants if v.source]
    for variant in dict.fromkeys(chosen):
        results = kernel.grade({variant.exercise: variant.source})
        assert lost(results) == set(variant.lost), variant.name
        hints = [results[check].hint for check in variant.lost]
        assert all(is_named(variant.hint, hint) for hint in hints), variant.name


def test_the_template_that_a_homework_begins_with_holds(tmp_path):
    (tmp_path / "solutions").mkdir()
    shutil.copy(ROOT / "scripts" / "templates" / "hw10-angles.py", tmp_path / "solutions")
    template = source.load_homework("hw10", tmp_path)
    kernel = Kernel(template)
    for variant in template.variants:
        results = kernel.grade({variant.exercise: variant.source})
        assert lost(results) == set(variant.lost), variant.name
    blank = dict.fromkeys(("cosine", "nearest"), "raise NotImplementedError")
    assert len(lost(kernel.grade(blank))) == 3


@each_homework
def test_a_homework_has_about_twenty_points_in_small_checks(homework):
    checks = load_homework(homework).checks
    assert (
        (18 if homework in course_homeworks() else 1) <= sum(cell.points for cell in checks) <= 24
    )
    dear = [c.grade_id for c in checks if c.points > (2 if c.kind is CellKind.TEST else 4)]
    assert not dear, "a test has at most 2 points, a written answer 4"
    assert 1 <= [cell.kind for cell in checks].count(CellKind.WRITTEN) <= 2


@each_homework
def test_every_check_says_what_it_checks_and_where_to_read(homework):
    chapters = {room.chapter for room in COURSE_MAP}
    for cell in load_homework(homework).checks:
        assert len(cell.title) > 15, cell.grade_id
        chapter, _, anchor = cell.read.partition("#")
        assert chapter in chapters, cell.grade_id
        assert re.fullmatch(r"[a-z0-9-]+", anchor), cell.grade_id
        page = ROOT / "book" / f"{chapter}.md"
        assert not page.exists() or f"({anchor})=" in page.read_text(encoding="utf-8"), cell.read


LINK = re.compile(r"\[([^\]]+)\]\(book:([a-z0-9-]+)#?([a-z0-9-]*)\)")


@each_homework
def test_a_link_has_the_words_of_the_heading_to_which_it_leads(homework):
    """A notebook without the book's address names only the heading, which readers look for."""
    text = (ROOT / "solutions" / f"{homework}.py").read_text(encoding="utf-8")
    links = LINK.findall(re.sub(r"\n# ?", " ", text))
    assert links
    for words, chapter, anchor in links:
        page = (ROOT / "book" / f"{chapter}.md").read_text(encoding="utf-8")
        before = rf"\({anchor}\)=\n+##+" if anchor else "#"
        heading = re.compile(rf"^{before} +{re.escape(words)}$", re.MULTILINE | re.IGNORECASE)
        assert heading.search(page), (words, chapter, anchor)


OF_OTHER_TESTS = re.compile(r"begin there|fails? too|see the (test|check)|\b(test|check)s? of\b")


@each_homework
def test_no_hint_speaks_of_other_tests(homework):
    """The notebook names the tests that fail by itself: ``course_lib.notebook_tests``."""
    texts = [
        node.value
        for cell in load_homework(homework).cells
        if cell.kind in (CellKind.SETUP, CellKind.TEST)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    texts += [variant.hint for variant in load_homework(homework).variants]
    assert not [text for text in texts if OF_OTHER_TESTS.search(text)]


# ---- right and wrong ----


@each_as_it_is
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 20), marks=pytest.mark.proof)])
def test_the_solved_notebook_passes_with_every_seed(homework, seeds):
    names = names_of_checks(load_homework(homework), "cpu")
    for seed in seeds:
        runs = run_cells(load_homework(homework).cells, seed=seed, names=names)
        failed = {run.cell.grade_id: run.error for run in runs if run.error}
        assert not failed, (seed, failed)


WORDS = {"a few": 5, "five": 5, "six": 6, "eight": 8, "ten": 10, "twenty": 20}
SAID = re.compile(rf"\b({'|'.join(WORDS)}) seconds")


@pytest.mark.proof
@pytest.mark.parametrize("homework", HOMEWORKS)
def test_the_last_cell_takes_no_more_than_twice_the_time_that_its_text_says(homework):
    cells = load_homework(homework).cells
    demo = next(number for number, cell in enumerate(cells) if cell.kind is CellKind.DEMO)
    said = SAID.search(" ".join(cells[demo - 1].source.split()))
    matplotlib.use("agg")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for cell in cells[: demo + 1]:
        if cell.kind in (CellKind.SETUP, CellKind.SOLUTION, CellKind.DEMO):
            began = time.process_time()
            exec(compile(cell.source, f"<{cell.grade_id}>", "exec"), namespace)
    assert said, cells[demo - 1].source
    assert time.process_time() - began <= 2 * WORDS[said[1]]


@pytest.mark.gpu
@pytest.mark.parametrize("homework", HOMEWORKS)
def test_what_is_right_is_right_on_a_gpu(homework, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    for submission in load_table(homework).submissions:
        if submission.is_right:
            # Waiting for a GPU takes the processor too.
            runs = run_submission(homework, submission, seconds=120)
            assert lost_checks(runs) == set(), (submission.student, messages(runs))


@each_as_it_is
def test_the_released_notebook_earns_nothing(homework):
    runs = run_submission(homework, nothing_written(load_homework(homework)))
    tests = {c.grade_id for c in load_homework(homework).checks if c.kind is CellKind.TEST}
    assert lost_checks(runs) == tests


@pytest.mark.proof
@pytest.mark.parametrize(("homework", "submission"), SUBMISSIONS)
def test_a_submission_loses_exactly_the_checks_named_for_it(homework, submission):
    expected = submission.lost_checks(load_homework(homework))
    once = submission.status is Status.TIMEOUT
    # A mistake meets another seed in the hidden part alone, and a fresh one in the judge.
    for seed in range(3 if submission.is_right else 1):
        runs = run_submission(homework, submission, seed=seed, seconds=4 if once else 60)
        assert lost_checks(runs) == expected, messages(runs)
        assert is_named(submission.hint, messages(runs))


def messages(runs: list[CellRun]) -> str:
    """Return the messages and hints of the cells that failed, as text."""
    failed = [(run.cell.grade_id, str(run.error)) for run in runs if run.error]
    return "\n".join(f"{name}: {error}\n{hint_for(error)}" for name, error in failed)


@pytest.mark.proof
@pytest.mark.parametrize(("homework", "submission"), LOSING)
def test_the_hidden_part_alone_finds_the_same(homework, submission):
    """Passing the visible tests by heart is not enough."""
    expected = submission.lost_checks(load_homework(homework))
    cells = answered_cells(submission, load_homework(homework), read_released(homework))
    hidden = [
        dataclasses.replace(cell, source=visible_part_silenced(cell.source))
        if cell.grade_id in expected
        else cell
        for cell in with_checks_of(cells, {*submission.edits, *submission.lost})
    ]
    runs = grade_cells(hidden, load_homework(homework), seed=1)
    assert lost_checks(runs) == expected, messages(runs)


def visible_part_silenced(source: str) -> str:
    """Return the source of a check whose visible part can't fail, but still defines its names."""
    visible, marker, hidden = source.partition(BEGIN_HIDDEN_TESTS)
    assert marker, f"a check without a hidden part:\n{source}"
    silenced = [
        "with _suppress(Exception):\n" + textwrap.indent(ast.unparse(statement), "    ")
        for statement in ast.parse(visible).body
    ]
    return "\n".join(["from contextlib import suppress as _suppress", *silenced, hidden])


@pytest.mark.proof
@each_homework
def test_a_sample_of_mutants_is_noticed(homework):
    """``python -m tests.homework.mutants hwNN`` tries all mutants."""
    command = [sys.executable, "-m", "tests.homework.mutants", homework, "--sample", "20"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert result.returncode == 0, result.stdout + result.stderr


# ---- the tables ----


@each_homework
def test_a_table_names_each_student_once(homework):
    students = [submission.student for submission in load_table(homework).submissions]
    assert len(students) == len(set(students))


SIBLINGS = (
    {"torch.nn.MultiheadAttention", "torch.nn.functional.multi_head_attention_forward"},
    {
        "torch.nn.Transformer",
        "torch.nn.TransformerDecoder",
        "torch.nn.TransformerDecoderLayer",
        "torch.nn.TransformerEncoder",
        "torch.nn.TransformerEncoderLayer",
    },
)


@each_homework
def test_who_forbids_a_layer_forbids_what_stands_for_it(homework):
    """An exercise that forbids one of PyTorch's attention layers must forbid its equivalents."""
    for cell in load_homework(homework).cells:
        for together in SIBLINGS:
            assert together & {*cell.forbids} in (set(), together), cell.grade_id
