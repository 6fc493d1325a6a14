import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.homework_source.homework import (
    Cell,
    CellKind,
    Homework,
    HomeworkError,
    all_homeworks,
)
from autograder.homework_source.source import load_homework
from autograder.releasing.student_edition import importable_answers, write_student_edition

ROOT = Path(__file__).parents[3]

LAYERS = '''\
"""Layers of a small course."""
import math
import os.path
from collections import OrderedDict, defaultdict

_FACTOR = 2
"""How much a factor is."""

_SHARED = 3


def early(x):
    """Asked for by hw01."""
    return secret_of_early(x)


# A comment that tells how it is done.
@staticmethod
def late(x):
    """Asked for by hw02."""
    # a comment of the body
    return _helper(x) + math.floor(x) + _SHARED


def _helper(x):
    return _deeper(x) * _FACTOR


def _deeper(x):
    return len(defaultdict(int)) + x


def given(x):
    """Given."""
    return os.path.join(str(_SHARED), str(OrderedDict()))


def stack(x):
    """Given, without the layer that it uses."""
    return [late(x)]


def pile(x):
    """Likewise."""
    return stack(x)


class Latest:
    """Asked for by hw03."""

    def forward(self):
        return "the secret of the latest"


__all__ = ["early", "given", "late"]
'''

MODULES = {
    "__init__": '"""A small course."""\n',
    "layers": LAYERS,
    "stands": '"""Stands on late."""\nfrom course_lib.layers import late\n\n\ndef _build():\n'
    "    return late\n\n\ndef tower():\n    return _build()\n\n\nFLOORS = [tower]\nHEIGHT = 3\n",
    "stands_higher": '"""Higher."""\nfrom .stands import tower as t\n\n\ndef roof():\n'
    "    return t\n",
    "passes_on": "from course_lib.layers import given, late\n"
    "from course_lib.layers import late as l\n",
    "fields": "from course_lib.layers import given\n\n\nclass Fields:\n    late: int = given(1)\n",
    "lazy": "def call(x):\n    from course_lib.layers import late\n\n    return late(x)\n",
    "typed": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
    "    from course_lib.layers import late\n\nx = 1\n",
}


def homework(solution, of="course_lib.layers", more=""):
    return f'# %% setup="imports"\nimport math\n{more}\n# %% solution="{solution}" of="{of}"\n'


@pytest.fixture
def root(tmp_path):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "course_lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "course_lib" / "__pycache__" / "layers.pyc").write_bytes(b"secret_of_early")
    (tmp_path / "course_lib" / "py.typed").write_text("")
    (tmp_path / "course_lib" / "recipes").mkdir()
    (tmp_path / "course_lib" / "recipes" / "run.py").write_text("import tokenizers\n")
    for name, text in MODULES.items():
        (tmp_path / "course_lib" / f"{name}.py").write_text(text)
    for number, name in enumerate(("early", "late", "Latest"), start=1):
        path = tmp_path / "solutions" / f"hw0{number}-{name.lower()}.py"
        path.write_text(homework(name))
    return tmp_path


@pytest.fixture
def edition(root, monkeypatch):
    """Write the students' edition of hw02, make it importable, and return its folder."""
    write_student_edition("hw02", root, root / "out")
    monkeypatch.syspath_prepend(root / "out")
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if is_ours(name)}
    yield root / "out" / "course_lib"
    for name in [name for name in sys.modules if is_ours(name)]:
        del sys.modules[name]
    sys.modules.update(kept)


def is_ours(name):
    return name.split(".")[0] == "course_lib"


def test_layers_of_this_and_later_homework_are_withheld(edition):
    layers = importlib.import_module("course_lib.layers")
    assert layers.early.__doc__ == "Asked for by hw01."
    assert layers.given(1) == "3/OrderedDict()"
    for name, asked in (("late", "hw02-late"), ("Latest", "hw03-latest")):
        with pytest.raises(ImportError, match=f"{name} is not in this edition: .*{asked} asks you"):
            exec(f"from course_lib.layers import {name}")
        with pytest.raises(ImportError, match=asked):
            getattr(layers, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        layers.nonsense  # noqa: B018
    assert layers.__all__ == ["early", "given"]


def test_private_names_of_a_withheld_layer_are_removed(edition):
    text = (edition / "layers.py").read_text()
    for gone in (
        "_helper", "_deeper", "_FACTOR", "How much a factor is", "import math", "defaultdict",
        "A comment that tells", "a comment of the body", "@staticmethod",
        "the secret of the latest",
    ):  # fmt: skip
        assert gone not in text
    for kept in ("_SHARED = 3", "import os.path", "OrderedDict", '"""Layers of a small course."""'):
        assert kept in text


def test_first_homework_withholds_all_and_the_last_only_its_own(root):
    write_student_edition("hw01", root, root / "first")
    assert "secret_of_early" not in (root / "first/course_lib/layers.py").read_text()
    write_student_edition("hw03", root, root / "last")
    last = (root / "last/course_lib/layers.py").read_text()
    assert "return _helper(x)" in last
    assert "the secret of the latest" not in last
    assert (root / "last/course_lib/stands.py").read_text() == MODULES["stands"]


@pytest.mark.parametrize(
    ("module", "name"),
    [("stands", "tower"), ("stands", "FLOORS"), ("stands_higher", "roof"), ("layers", "stack"),
     ("layers", "pile"), ("passes_on", "late"), ("passes_on", "l")],
)  # fmt: skip
def test_names_that_use_a_withheld_layer_are_withheld(edition, module, name):
    with pytest.raises(ImportError, match="homework hw02-late asks"):
        exec(f"from course_lib.{module} import {name}")


def test_other_names_stay(edition):
    assert importlib.import_module("course_lib.passes_on").given(1) == "3/OrderedDict()"
    assert importlib.import_module("course_lib.fields").Fields.__name__ == "Fields"
    assert "[late(x)]" not in (edition / "layers.py").read_text()
    assert importlib.import_module("course_lib.stands").HEIGHT == 3
    assert "late" not in (edition / "stands.py").read_text().split("_WITHHELD")[0].split('"""')[2]


def test_late_and_type_checking_imports_stay(edition):
    assert importlib.import_module("course_lib.typed").x == 1
    lazy = importlib.import_module("course_lib.lazy")
    with pytest.raises(ImportError, match="hw02-late asks you to write it"):
        lazy.call(1)


def exercise(name, source):
    return Cell(kind=CellKind.SOLUTION, grade_id=name, source=source)


def test_importable_answer_is_found(edition):
    cells = (
        exercise("early", "def early(x):\n    return x\n\ndef own(x):\n    return x"),
        exercise("late", "def late(x):\n    return x"),  # withheld
        exercise("part", "%matplotlib inline\nclass Fields:\n    early = 1"),
        exercise("private", "def _build():\n    return 1"),
        exercise("import", "import math"),
    )
    asked = Homework(id="hw02-late", title="", cells=cells)
    assert importable_answers(asked, edition.parent) == [
        ("part", "course_lib.fields.Fields"),
        ("early", "course_lib.layers.early"),
    ]


@pytest.mark.parametrize("name", all_homeworks(ROOT))
def test_no_homework_can_be_answered_by_importing(tmp_path, name):
    write_student_edition(name, ROOT, tmp_path)
    assert importable_answers(load_homework(name, ROOT), tmp_path) == []


def test_other_files_are_copied_without_compiled_ones_and_recipes(edition):
    assert (edition / "py.typed").exists()
    assert not list(edition.rglob("__pycache__"))
    assert [path.name for path in (edition / "recipes").iterdir()] == ["__init__.py"]
    with pytest.raises(ImportError, match="recipes is not in this edition"):
        importlib.import_module("course_lib.recipes.run")


WITHHELD = r"cell imports \w+ from course_lib.\w+, which this"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("from course_lib.layers import late\n", WITHHELD),
        ("def later():\n    from course_lib.stands import tower\n", WITHHELD),
        (
            '\n# %% demo="fun"\n%matplotlib inline\nfrom course_lib.layers import Latest as L\n',
            WITHHELD,
        ),
        (
            "from course_lib.layers import defaultdict\n",
            r"imports defaultdict from .* the module that defines",
        ),
    ],
)
def test_notebook_that_imports_a_withheld_name_is_rejected(root, cell, words):
    path = root / "solutions" / "hw02-late.py"
    path.write_text(homework("late", more=cell))
    with pytest.raises(HomeworkError, match=words):
        write_student_edition("hw02", root, root / "out")
    assert not (root / "out").exists()


def test_hidden_test_may_import_the_reference(root):
    path = root / "solutions" / "hw02-late.py"
    hidden = "### BEGIN HIDDEN TESTS\nfrom course_lib.layers import late\n### END HIDDEN TESTS\n"
    path.write_text(homework("late") + f'\n# %% test="late-x" points=1\n# Title\n{hidden}')
    write_student_edition("hw02", root, root / "out")


def test_unknown_name_to_withhold_is_rejected(root):
    path = root / "solutions" / "hw02-late.py"
    path.write_text(homework("no_such_layer"))
    with pytest.raises(HomeworkError, match="does not define no_such_layer"):
        write_student_edition("hw02", root, root / "out")
    path.write_text(homework("late", of="course_lib.no_such_module"))
    with pytest.raises(HomeworkError, match=r"asks for course_lib\.no_such_module"):
        write_student_edition("hw02", root, root / "out")
    assert not (root / "out").exists()


def test_every_module_of_the_real_edition_can_be_imported(tmp_path):
    write_student_edition("hw03", ROOT, tmp_path)
    names = [
        ".".join(path.relative_to(tmp_path).with_suffix("").parts)
        for path in tmp_path.glob("course_lib/**/*.py")
    ]
    names.remove("course_lib.recipes.__init__")  # says why it is not there
    assert len(names) > 60
    code = "import importlib, sys; [importlib.import_module(n) for n in sys.argv[1:]]"
    result = subprocess.run(
        [sys.executable, "-c", code, *names], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
