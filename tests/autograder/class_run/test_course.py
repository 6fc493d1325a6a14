"""The hash of a homework's dependencies changes with each of these files, and no other."""

import pytest

from autograder.class_run.course import Course
from autograder.class_run.result_store import fingerprint
from autograder.homework_source.source import load_homework
from tests.autograder.small_course import HOMEWORK, write_course

SOLUTION = f"solutions/{HOMEWORK}.py"
LIBRARY = {
    "layers/__init__.py": "",
    "layers/doubling.py": "from course_lib.layers.factor import FACTOR\n"
    "def reference(x):\n    return FACTOR * x\n",
    "layers/factor.py": "FACTOR = 2\n",
    "layers/others.py": "FACTOR = 3\n",
    "plotting/__init__.py": "",
    "plotting/house.mplstyle": "font.size: 10\n",
    "course_map.py": "COURSE_MAP = ()\n",
    "usual_errors.py": "HINTS = ()\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    write_course(root)
    for name, text in LIBRARY.items():
        (root / "course_lib" / name).parent.mkdir(exist_ok=True)
        (root / "course_lib" / name).write_text(text)
    source = root / SOLUTION
    hidden = "### BEGIN HIDDEN TESTS\nfrom course_lib.layers.doubling import reference"
    source.write_text(source.read_text().replace("### BEGIN HIDDEN TESTS", hidden, 1))
    return root


@pytest.fixture(scope="module")
def before(project):
    return Course.load(load_homework(HOMEWORK, project), project)


@pytest.fixture
def edit(project):
    """Return a function that edits a file of the project, and returns the course loaded anew.

    It appends ``new``, or puts it in the place of ``old``. All edits are undone after the test.
    """
    undo = {}

    def edit(name, new, old=""):
        path = project / name
        text = path.read_text() if path.exists() else ""
        undo.setdefault(path, text)
        path.write_text(text.replace(old, new, 1) if old else text + new)
        assert path.read_text() != text
        return Course.load(load_homework(HOMEWORK, project), project)

    yield edit
    for path, text in undo.items():
        path.write_text(text)


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("course_lib/plotting/__init__.py", "\nWIDTH = 3\n"),
        ("course_lib/plotting/house.mplstyle", "axes.grid: True\n"),
        ("course_lib/course_map.py", "COURSE_MAP += (1,)\n"),
        ("course_lib/layers/others.py", "WIDTH = 3\n"),
        ("course_lib/layers/brand_new.py", "WIDTH = 3\n"),
        ("course_lib/layers/doubling.py", "# a comment\n\n\n"),
        ("course_lib/layers/factor.py", '"""Twice."""\n'),
        (SOLUTION, "\n# %% [markdown]\n# Well done.\n"),
        (SOLUTION, '\n# %% demo="another"\nprint("for fun")\n'),
    ],
)
def test_digest_is_the_same_after_an_edit_elsewhere(before, edit, name, added):
    assert edit(name, added).digest == before.digest


@pytest.mark.parametrize(
    ("name", "new", "old"),
    [
        ("course_lib/layers/doubling.py", "FACTOR * 1 *", "FACTOR *"),
        ("course_lib/layers/factor.py", "WIDTH = 3\n", ""),  # imported by the one before
        ("course_lib/layers/__init__.py", "WIDTH = 3\n", ""),  # the package of both
        ("course_lib/testing.py", "WIDTH = 3\n", ""),  # imported by the setup cell
        ("course_lib/usual_errors.py", "WIDTH = 3\n", ""),  # used by the judge
        (SOLUTION, "points=4", "points=3"),
        (SOLUTION, "### BEGIN HIDDEN TESTS\nassert True", "### BEGIN HIDDEN TESTS"),
        (SOLUTION, "import torch\nimport math", "import torch"),
    ],
)
def test_digest_changes_with_files_that_the_homework_uses(before, edit, name, new, old):
    assert edit(name, new, old).digest != before.digest


@pytest.mark.parametrize(
    "code", ["import course_lib.layers.others as o", "from course_lib.layers import others"]
)
def test_fingerprint_changes_with_modules_beside_the_notebook(before, edit, code):
    own, other = code.encode(), b"from course_lib.layers.doubling import reference"
    after = edit("course_lib/layers/others.py", "WIDTH = 3\n")
    assert fingerprint(after, own) != fingerprint(before, own)
    assert fingerprint(after, other) == fingerprint(before, other)
    assert before.digest_for(other) == before.digest


def test_relative_imports_and_modules_named_in_texts_are_followed(edit):
    edit("course_lib/layers/own.py", "from . import wide\nfrom .. import course_map\n")
    edit("course_lib/layers/wide.py", "WIDTH = 3\n")
    edit("course_lib/layers/doubling.py", 'RUN = "course_lib.layers.own:WIDTH"\n')
    digests = {edit("course_lib/layers/wide.py", "# no change\n").digest}
    digests |= {edit("course_lib/layers/wide.py", "WIDTH = 4\n").digest}
    digests |= {edit("course_lib/course_map.py", "COURSE_MAP += (2,)\n").digest}
    assert len(digests) == 3
