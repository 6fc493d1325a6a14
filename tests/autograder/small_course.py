"""A course with one small homework, and classes of any size for it: quick to grade."""

import json
from pathlib import Path

from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.source import load_homework

HOMEWORK = "hw00-doubling"
SOURCE = '''
# %% [markdown]
# # Homework 0: Doubling

# %% setup="imports"
import torch
from course_lib.testing import assert_close

# %% solution="double"
def double(x):
    """Return twice as much."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% test="double-values" points=2
# It doubles
assert_close(double(torch.ones(2)), torch.full((2,), 2.0))
### BEGIN HIDDEN TESTS
secret = torch.randn(3, 4)
assert_close(double(secret), 2 * secret)
### END HIDDEN TESTS

# %% test="double-gradient" points=3
# Its gradient is 2
### BEGIN HIDDEN TESTS
x = torch.randn(5, requires_grad=True)
double(x).sum().backward()
assert_close(x.grad, torch.full_like(x, 2.0))
### END HIDDEN TESTS

# %% [markdown] written="why" points=1
# ## Why twice?
#
# ### BEGIN SOLUTION
# Once is not enough.
# ### END SOLUTION
'''
ANSWERS = (  # and what each earns
    ("def double(x):\n    return x + x", 5.0),
    ("def double(x):\n    return 3 * x", 0.0),
    ("def double(x):\n    return (2 * x).detach()", 2.0),
    ("def double(x):\n    raise ValueError(x)", 0.0),
    ("import os\ndef double(x):\n    os._exit(3)", 0.0),
)


def write_course(root: Path) -> None:
    """Write a course into a new folder: its homework, and the library that its students have."""
    library = Path(__file__).parents[2] / "course_lib"
    (root / "solutions").mkdir(parents=True)
    (root / "solutions" / f"{HOMEWORK}.py").write_text(SOURCE.lstrip())
    (root / "course_lib").mkdir()
    for name in ("__init__.py", "testing.py"):
        (root / "course_lib" / name).write_bytes((library / name).read_bytes())


def write_class(root: Path, folder: Path, count: int) -> dict[str, float]:
    """Write ``count`` submissions into a class's ``folder``; return the right points by student.

    They use the answers in ``ANSWERS`` in turn, in the notebook of the course in ``root``.
    """
    notebook = json.loads(instructors_notebook(load_homework(HOMEWORK, root)))
    marks = {}
    for number in range(count):
        answer, points = ANSWERS[number % len(ANSWERS)]
        for cell in notebook["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "double":
                cell["source"] = f"# submission {number}\n{answer}"
        student = f"student-{number:04d}"
        path = folder / student / HOMEWORK / f"{HOMEWORK}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook))
        marks[student] = points
    return marks
