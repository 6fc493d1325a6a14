"""Finds students' answers and code in cells that are not meant for them."""

# ruff: noqa: E501 -- one line a place

import copy
import dataclasses
import json

import pytest
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autograder.homework_source.cell_text import ANSWER_STUB, students_text
from autograder.homework_source.homework import Cell, CellKind, all_homeworks
from autograder.judging.added_text import LOCKED
from autograder.judging.results import FlagKind
from autograder.judging.submission import read_submission
from tests.autograder.conftest import DOUBLE
from tests.homework.tables import ROOT, load_homework, read_released, released_notebook

HW03 = "hw03-self-attention"
QUESTION = "why-scale"
LAST_TEST = "MultiHeadAttention-gradients"
DEMO = "mirror-reading"
TEXTS = [cell.id for cell in read_released(HW03).cells if cell.id.startswith("text-")]
FIRST_TEXT, ABOVE, BELOW = TEXTS[2], TEXTS[-2], TEXTS[-1]
ANSWER = "The scores have variance d_k, so dividing by its root keeps the softmax from saturating."
IS_RIGHT = "def double(x):\n    return x + x"
STUB = 'def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError("your code goes here")'


def markdown(source):
    return {"cell_type": "markdown", "id": "own", "metadata": {}, "source": source}


def code(source):
    return markdown(source) | {"cell_type": "code", "outputs": [], "execution_count": None}


class Notebook:
    """A notebook to edit; methods take cells by their ``id``, which may be a grade_id."""

    def __init__(self, cells):
        self.cells = copy.deepcopy(cells)
        for cell in self.cells:
            cell["source"] = "".join(cell["source"])

    def place(self, name):
        return next(n for n, cell in enumerate(self.cells) if cell["id"] == name)

    def cell(self, name):
        return self.cells[self.place(name)]

    def text(self, name):
        return self.cell(name)["source"]

    def put(self, name, source):
        self.cell(name)["source"] = source

    def append(self, name, source):
        self.put(name, f"{self.text(name)}\n{source}")

    def insert(self, cell, *, after=None, before=None):
        place = self.place(after) + 1 if after else self.place(before)
        self.cells.insert(place, cell)

    def merge(self, first, second):
        """Merge ``second`` into ``first``, which keeps its type and metadata, as Jupyter does."""
        self.append(first, f"\n{self.text(second)}")
        del self.cells[self.place(second)]

    def strip(self, *names, ids=False):
        for name in names or [cell["id"] for cell in self.cells]:
            self.cell(name)["metadata"] = {}
            if ids:
                self.cell(name)["id"] = "lost"

    def data(self):
        return json.dumps({"cells": self.cells, "metadata": {}, "nbformat": 4}).encode()


def released(homework_id=HW03):
    return Notebook(json.loads(released_notebook(homework_id).read_text())["cells"])


def fill(notebook):
    notebook.put(QUESTION, notebook.text(QUESTION).replace(ANSWER_STUB, ANSWER))


def split(notebook, *, keeps="both"):
    fill(notebook)
    question, _, answer = notebook.text(QUESTION).rpartition("\n\n")
    half = copy.deepcopy(notebook.cell(QUESTION)) | {"source": answer, "id": "half"}
    notebook.put(QUESTION, question)
    notebook.insert(half, after=QUESTION)
    if keeps != "both":
        notebook.strip(QUESTION if keeps == "second" else "half")


def merge_and_fill(notebook, first, second):
    fill(notebook)
    notebook.merge(first, second)


def in_the_middle(notebook, name, line):
    first, _, rest = notebook.text(name).partition("\n")
    notebook.put(name, f"{first}\n{line}\n{rest}")


ANSWERED = {
    "in its cell": fill,
    "below the stub": lambda nb: nb.append(QUESTION, ANSWER),
    "below": lambda nb: nb.insert(markdown(ANSWER), after=QUESTION),
    "raw below": lambda nb: nb.insert(markdown(ANSWER) | {"cell_type": "raw"}, after=QUESTION),
    "at the start": lambda nb: nb.cells.insert(0, markdown(ANSWER)),
    "comment above": lambda nb: nb.insert(code(f"# {ANSWER}"), before=QUESTION),
    "comment at the end": lambda nb: nb.cells.append(code(f"\n# My answer\n# {ANSWER}")),
    "text in quotes": lambda nb: nb.insert(code(f'"""\n{ANSWER}\n"""'), after=DEMO),
    "prose in a code cell": lambda nb: nb.insert(code(ANSWER), after=QUESTION),
    "a variable": lambda nb: nb.insert(code(f"answer = '{ANSWER}'"), before=QUESTION),
    "in the text below": lambda nb: nb.put(BELOW, f"{ANSWER}\n\n{nb.text(BELOW)}"),
    "in another text": lambda nb: nb.append(FIRST_TEXT, f"\n{ANSWER}"),
    "comment in the test above": lambda nb: nb.append(LAST_TEST, f"# {ANSWER}"),
    "comment in the midst of a test": lambda nb: in_the_middle(nb, LAST_TEST, f"# {ANSWER}"),
    "comment at a line's end": lambda nb: nb.append(LAST_TEST, f"print(query)  # {ANSWER}"),
    "comment in setup": lambda nb: nb.append("imports", f"\n# {ANSWER}"),
    "comment in the demo": lambda nb: nb.put(DEMO, f"# {ANSWER}\n{nb.text(DEMO)}"),
    "prose in a test": lambda nb: nb.append(LAST_TEST, ANSWER),
    "merged into the text above": lambda nb: merge_and_fill(nb, ABOVE, QUESTION),
    "merged into the test above": lambda nb: merge_and_fill(nb, LAST_TEST, QUESTION),
    "merged with the text below": lambda nb: merge_and_fill(nb, QUESTION, BELOW),
    "split": split,
    "split, the first half is known": lambda nb: split(nb, keeps="first"),
    "split, the second half is known": lambda nb: split(nb, keeps="second"),
    "metadata lost": lambda nb: (fill(nb), nb.strip(QUESTION)),
    "metadata and id lost": lambda nb: (fill(nb), nb.strip(QUESTION, ids=True)),
    "as code": lambda nb: (fill(nb), nb.cell(QUESTION).update(cell_type="code")),
    "as raw": lambda nb: (fill(nb), nb.cell(QUESTION).update(cell_type="raw")),
    "everything lost": lambda nb: (fill(nb), nb.strip(ids=True)),
    "a picture": lambda nb: nb.insert(markdown("![](attachment:page.png)"), after=QUESTION),
}
BLANK = {
    "as released": lambda nb: None,
    "the stub deleted": lambda nb: nb.put(QUESTION, nb.text(QUESTION).replace(ANSWER_STUB, "")),
    "all of the text deleted": lambda nb: nb.put(QUESTION, ""),
    "more lines": lambda nb: nb.put(QUESTION, f"\n{nb.text(QUESTION)}\n\n"),
    "the cell deleted": lambda nb: nb.cells.remove(nb.cell(QUESTION)),
    "metadata lost": lambda nb: nb.strip(QUESTION),
    "everything lost": lambda nb: nb.strip(ids=True),
    "as code": lambda nb: nb.cell(QUESTION).update(cell_type="code"),
    "merged into the text above": lambda nb: nb.merge(ABOVE, QUESTION),
    "merged into the test above": lambda nb: nb.merge(LAST_TEST, QUESTION),
    "empty cells": lambda nb: (nb.cells.append(markdown(" \n")), nb.cells.append(code(" "))),
    "a copied text": lambda nb: nb.cells.append(markdown(nb.text(FIRST_TEXT))),
    "solved": lambda nb: nb.put("causal_mask", f"# the lower triangle\n{nb.text('causal_mask')}"),
    "a cell that computes": lambda nb: nb.insert(code("x = 'a'  # try"), after="causal_mask"),
    "an import in setup": lambda nb: nb.append("imports", "import numpy as np"),
}  # fmt: skip


@pytest.mark.parametrize("where", ANSWERED)
def test_answer_in_another_cell_is_graded_by_hand(where):
    notebook = released()
    ANSWERED[where](notebook)
    submission = read_submission(notebook.data(), load_homework(HW03))
    assert submission.unanswered == frozenset()
    kept = [cell.source for cells in submission.own_cells.values() for cell in cells]
    assert any(
        ANSWER in text or "page.png" in text for text in [*submission.answers.values(), *kept]
    )


@pytest.mark.parametrize("how", BLANK)
def test_question_without_text_is_unanswered(how):
    notebook = released()
    BLANK[how](notebook)
    submission = read_submission(notebook.data(), load_homework(HW03))
    assert (submission.unanswered, submission.elsewhere) == ({QUESTION}, frozenset())


@pytest.mark.parametrize("homework_id", all_homeworks(ROOT))
def test_released_notebook_contains_no_student_text(homework_id):
    homework = load_homework(homework_id)
    notebook = released(homework_id)
    for lose in (lambda: None, notebook.strip, lambda: notebook.strip(ids=True)):
        lose()
        submission = read_submission(notebook.data(), homework)
        own = [cell.source for each in submission.own_cells.values() for cell in each]
        assert [text for text in own if "YOUR CODE HERE" not in text] == []
        assert submission.unanswered


HELPER = "def helper(x):\n    return x + x"
USES_HELPER = "def double(x):\n    return helper(x)"


def small(homework=DOUBLE, **sources):
    """Return a homework's notebook; ``sources`` replace those of cells, by grade_id."""
    cells = []
    for cell in homework.cells:
        made = markdown if cell.kind is CellKind.WRITTEN else code
        source = sources.get(cell.grade_id, students_text(cell))
        cells.append(made(source) | {"metadata": {"nbgrader": {"grade_id": cell.grade_id}}})
        cells[-1]["id"] = cell.grade_id
    return Notebook(cells)


def with_added(place, added, *, solution=IS_RIGHT, first=False):
    """Return the notebook of ``DOUBLE`` with ``added`` text in the cell ``place``.

    It is added at the end, or at the start if ``first``. ``solution`` is the student's function.
    """
    notebook = small(double=solution)
    text = notebook.text(place)
    notebook.put(place, f"{added}\n{text}" if first else f"{text}\n{added}")
    return notebook


USES_NUMPY = "def double(x):\n    return torch.from_numpy(np.asarray(2.0)) * x"
LOOP = "@functools.wraps(len)\ndef double(x):\n    return x + x"
CODE = {  # where it was added, what, and the solution that needs it
    "import": ("imports", "import numpy as np", USES_NUMPY),
    "import in a later test": ("double-gradient", "from numpy import asarray as a", USES_NUMPY.replace("np.asarray", "a")),
    "import that may fail": ("imports", "try:\n    import numpy as np\nexcept ImportError:\n    np = None", USES_NUMPY),
    "function in a test": ("double-values", HELPER, USES_HELPER),
    "function in a later test": ("double-gradient", f"# for double\n{HELPER}", USES_HELPER),
    "decorated": ("double-values", f"import functools\n@functools.cache\n\n{HELPER}", USES_HELPER),
    "class": ("imports", "class Two:\n    '''\nTwo.\n    '''\n    two = 2", "def double(x):\n    return Two.two * x"),
    "class in a test": ("double-values", "class Two:\n\n    two = 2", "def double(x):\n    return Two.two * x"),
    "constant": ("imports", "TWO = {\n    'two': 2,\n}", "def double(x):\n    return TWO['two'] * x"),
    "constant in a test": ("double-gradient", "two: int = 2", "def double(x):\n    return two * x"),
    "solution, its cell empty, in setup": ("imports", IS_RIGHT, ""),
    "solution in its test": ("double-values", IS_RIGHT, STUB),
    "solution in a later test": ("double-gradient", f"import functools\n{LOOP}\nprint(double)", STUB),
    "solution, with the code below it": ("double-values", f"{IS_RIGHT}\nplain = double\ndouble = lambda x: plain(x)", STUB),
}  # fmt: skip


@pytest.mark.sandbox
@pytest.mark.parametrize("first", [False, True], ids=["at the end", "at the start"])
@pytest.mark.parametrize("what", CODE)
def test_code_added_to_a_locked_cell_runs_in_a_cell_of_its_own(grade, what, first):
    place, added, solution = CODE[what]
    result = grade(with_added(place, added, solution=solution, first=first).data())
    assert [check.status.value for check in result.checks] == ["pass", "pass", "manual"], result
    assert not result.cell_failures
    assert [flag.cell for flag in result.flags if flag.kind is FlagKind.FORGED] == [place]


TWICE = [
    Cell(kind=CellKind.SOLUTION, grade_id="twice", source="def twice(x):\n    return double(x)"),
    dataclasses.replace(DOUBLE.cells[2], grade_id="twice-values", exercise="twice"),
    Cell(kind=CellKind.DEMO, grade_id="fun", source="# For fun\ny = torch.ones(2)\nprint(y)"),
]
LONGER = dataclasses.replace(DOUBLE, cells=(*DOUBLE.cells, *TWICE))


@pytest.mark.sandbox
@pytest.mark.parametrize("place", ["imports", "double-gradient", "twice-values", "fun"])
@pytest.mark.parametrize(
    "added", [HELPER, "import operator\nhelper = lambda x: operator.add(x, x)"]
)
def test_earlier_exercise_can_use_helper_in_later_cell(grade, place, added):
    notebook = small(LONGER, double=USES_HELPER)
    notebook.append(place, f"{added}\nprint('once')\nagain = twice(torch.ones(1))")
    result = grade(notebook.data(), homework=LONGER)
    assert [check.status.value for check in result.checks] == ["pass", "pass", "manual", "pass"]
    assert [shown.text for shown in result.outputs] == ["once\n"]
    assert len(result.cell_failures) == (place in ("imports", "double-gradient"))


@pytest.mark.sandbox
@pytest.mark.parametrize("place", ["imports", "double-values", "double-gradient"])
def test_code_in_a_locked_cell_does_not_run_in_the_judge(grade, place):
    added = "factor = 3.0\ntorch.full = torch.rand\ndef assert_close(*args, **how): pass"
    solution = "def double(x):\n    return 3 * x"
    result = grade(with_added(place, added, solution=solution).data())
    assert [check.status.value for check in result.checks] == ["fail", "fail", "manual"]


def test_code_of_another_release_does_not_run():
    notebook = with_added("imports", "import numpy as np")
    node = NotebookNode(cell_type="code", source=notebook.text("imports"))
    node.metadata = NotebookNode(nbgrader=NotebookNode(grade_id="imports", locked=True))
    checksum = compute_checksum(node)
    notebook.cell("imports")["metadata"]["nbgrader"] |= {"locked": True, "checksum": checksum}
    assert read_submission(notebook.data(), DOUBLE).own_cells == {}


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("place", "added", "solution"),
    [
        ("fun", "two = 2 * y[0]", "def double(x):\n    return two * x"),
        ("fun", IS_RIGHT, STUB),
        ("imports", IS_RIGHT, STUB),
    ],
)
def test_feedback_names_the_locked_cell_with_misplaced_code(grade, place, added, solution):
    notebook = small(LONGER, double=solution)
    notebook.append(place, added)
    result = grade(notebook.data(), homework=LONGER)
    assert result.checks[0].score == 0
    assert (
        f"is in the cell {place}, which grading replaces by the instructor's"
        in result.checks[0].hint
    )


def test_code_that_uses_a_locked_cells_variables_does_not_run():
    notebook = Notebook([code("y = torch.zeros(2)\nprint(y)\nz = y + 1\nprint('hello')")])
    notebook.cells[0]["metadata"] = {"nbgrader": {"grade_id": "fun"}}
    ((own,),) = read_submission(notebook.data(), LONGER).own_cells.values()
    assert own.source == "# Added to the cell fun\nprint('hello')"


def as_type(cell_type, name="double"):
    return lambda nb: nb.cell(name).update(cell_type=cell_type)


def copied(notebook):
    notebook.insert(copy.deepcopy(notebook.cell("double")) | {"cell_type": "markdown"}, after="why")


FOUND = {
    "markdown": as_type("markdown"),
    "setup as markdown": as_type("markdown", "imports"),
    "merged into the setup": lambda nb: nb.merge("imports", "double"),
    "merged with its test": lambda nb: nb.merge("double", "double-values"),
    "merged into a text": lambda nb: (
        nb.insert(markdown("## Part 1\n\nDouble it."), before="double"),
        nb.merge("own", "double"),
    ),
    "copied as markdown": copied,
    "metadata lost": lambda nb: nb.strip("double"),
    "metadata and id lost": lambda nb: nb.strip("double", ids=True),
    "all metadata lost": lambda nb: nb.strip(),
    "all metadata and ids lost": lambda nb: nb.strip(ids=True),
    "metadata lost, then markdown": lambda nb: (nb.strip("double"), as_type("markdown")(nb)),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("how", FOUND)
def test_solution_is_found(grade, how):
    notebook = small(double=IS_RIGHT)
    FOUND[how](notebook)
    result = grade(notebook.data())
    assert [check.status.value for check in result.checks] == ["pass", "pass", "manual"], result
    assert not result.cell_failures


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("homework_id", all_homeworks(ROOT))
def test_instructors_cell_without_metadata_is_not_student_text(homework_id, ids):
    homework = load_homework(homework_id)
    for cell in homework.cells:
        if cell.kind in LOCKED:
            notebook = released(homework_id)
            notebook.cells.append(copy.deepcopy(notebook.cell(cell.grade_id)) | {"id": "copy"})
            notebook.strip("copy", cell.grade_id, ids=ids)
            read = read_submission(notebook.data(), homework)
            assert read.own_cells == {}
            assert ["lost their metadata" in flag.text for flag in read.flags] == [True]
