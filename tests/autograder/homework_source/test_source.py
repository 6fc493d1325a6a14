import sys
import textwrap

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator

from autograder.homework_source.cell_text import students_text
from autograder.homework_source.homework import Cell, CellKind, HomeworkError
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.marked_reference import (
    mark_solution,
    marked_source,
    with_docstrings,
)
from autograder.homework_source.source import check_rules, load_homework, read_source

GOOD = '''\
# %% [markdown]
# # A small homework
#
# Read [the chapter](book:small#start).

# %% setup="imports"
import math

# %% solution="double"
def double(x):
    """Return twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% solution="double_all" of="layers"
# Use your own double.

# %% test="double-values" points=1 read="small#start"
# It doubles
assert double(2) == 4
### BEGIN HIDDEN TESTS
assert double(3) == 6
### END HIDDEN TESTS

# %% test="double_all-values" points=0.5
# It doubles all
assert double_all([1]) == [2]

# %% [markdown] written="why" points=2
# Why?
#
# ### BEGIN SOLUTION
# Because.
# ### END SOLUTION

# %% demo="fun"
print(double(21))
'''

HIDDEN = "### BEGIN HIDDEN TESTS\nassert double(3) == 6\n### END HIDDEN TESTS\n"

LAYERS = '''\
"""Layers that only these tests know."""
import functools
import math

_FACTOR = 2
_UNUSED = 3


def double_all(xs):
    """Return twice each."""
    # a helper does it
    return [_double(x) for x in xs]


def _double(x):
    return _FACTOR * x


def _stranger(x):
    return _UNUSED * x


@functools.cache
def decorated(
    x: int,
) -> int:
    """Say
    more.
    """

    @functools.wraps(decorated_by)
    def inner():
        return x

    return inner()  # done
    # and a last remark


class Layer:
    """A layer."""

    size = 3

    def __init__(self):
        """Begin."""
        super().__init__()
        self.x = 1

    def given(self):
        """Nothing to do."""

    def forward(self, x):
        # a comment of the body
        return self._help(x)

    def _help(self, x):
        """Secret."""
        return x


class HelperFirst:
    def _help(self):
        return 1

    def forward(self):
        return self._help()


def on_one_line(x): return x


def nothing(x):
    """Given as it is."""


NUMBER = 3
'''


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "layers.py").write_text(LAYERS)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("layers", None)


def write(root, text, name="hw01-small"):
    path = root / "solutions" / f"{name}.py"
    path.write_text(text)
    return path


def refusal(root, text):
    path = write(root, text)
    with pytest.raises(HomeworkError) as refused:
        load_homework("hw01", root)
    return str(refused.value).replace(str(path), "FILE")


def notebook_of(root):
    return nbformat.reads(instructors_notebook(load_homework("hw01", root)), as_version=4)


@pytest.mark.parametrize("text", ["", "# %% [markdown]\n# # Homework 1\n"])
def test_a_source_without_a_test_is_refused(root, text):
    told = refusal(root, text)
    assert told == "FILE holds no test and no written question: is the file whole?"


def test_a_source_may_be_saved_with_a_mark_before_its_text_but_not_in_another_encoding(root):
    write(root, f"\ufeff{GOOD}")
    with_mark = load_homework("hw01", root)
    write(root, GOOD)
    assert with_mark == load_homework("hw01", root)
    write(root, "").write_bytes(b"# %% [markdown]\n# f\xfcr\n")
    with pytest.raises(HomeworkError, match="line 2 is not written in UTF-8: save the file as"):
        load_homework("hw01", root)


def test_cells_get_their_kind_name_points_and_place_to_read(root):
    write(root, GOOD)
    homework = load_homework("hw01", root)
    assert (homework.id, homework.title) == ("hw01-small", "A small homework")
    assert [(str(c.kind), c.grade_id, c.points, c.exercise, c.read) for c in homework.cells] == [
        ("text", "", 0, "", ""),
        ("fetch", "fetch-edition", 0, "", ""),  # the release's own
        ("setup", "imports", 0, "", ""),
        ("solution", "double", 0, "", ""),
        ("solution", "double_all", 0, "", ""),
        ("test", "double-values", 1, "double", "small#start"),
        ("test", "double_all-values", 0.5, "double_all", ""),
        ("written", "why", 2, "", ""),
        ("demo", "fun", 0, "", ""),
    ]
    assert homework.checks[0].title == "It doubles"


def test_students_version_of_an_answer_is_python_on_the_same_lines():
    source = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\nx = 1"
    cell = Cell(kind=CellKind.SOLUTION, grade_id="f", source=source)
    assert students_text(cell) == "def f():\n    pass\n\n\nx = 1"


def test_a_question_without_a_heading_is_not_called_after_its_markers(root):
    write(root, GOOD)
    homework = load_homework("hw01", root)
    (question,) = (check for check in homework.checks if check.grade_id == "why")
    assert question.title == "why"  # its name


def test_nbgrader_finds_the_notebook_valid(root):
    write(root, GOOD)
    notebook = notebook_of(root)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    by_name = {c.metadata.nbgrader.grade_id: c for c in notebook.cells if "nbgrader" in c.metadata}
    locked = {name for name, cell in by_name.items() if cell.metadata.nbgrader.locked}
    assert locked == {"fetch-edition", "imports", "double-values", "double_all-values", "fun"}
    assert by_name["why"].cell_type == "markdown"
    assert by_name["why"].metadata.nbgrader.solution
    assert by_name["why"].metadata.nbgrader.grade


@pytest.mark.parametrize(
    ("shown", "hidden", "folded"), [(12, 0, False), (13, 0, True), (3, 20, False)]
)
def test_a_long_test_is_folded(root, shown, hidden, folded):
    secret = ["### BEGIN HIDDEN TESTS", *["assert 1"] * hidden, "### END HIDDEN TESTS"]
    lines = ["# It doubles", *["assert double(2) == 4"] * (shown - 1), *(secret if hidden else [])]
    start, end = GOOD.index("# It doubles"), GOOD.index('# %% test="double_all')
    write(root, GOOD[:start] + "\n".join(lines) + "\n\n" + GOOD[end:])
    cells = {cell.id: cell for cell in notebook_of(root).cells}
    assert cells["double-values"].metadata.get("jupyter", {}).get("source_hidden", False) is folded


def test_the_name_of_the_release_s_own_cell_is_taken(root):
    said = refusal(root, GOOD.replace('demo="fun"', 'demo="fetch-edition"'))
    assert "duplicate grade_id 'fetch-edition'" in said


def test_an_exercise_with_a_prefix_in_common_takes_the_longest(root):
    longer = GOOD[GOOD.index('# %% solution="double"') : GOOD.index('# %% solution="double_all"')]
    longer = longer.replace('"double"', '"double-again"')
    text = GOOD.replace('test="double-values"', 'test="double-again-values"')
    write(root, text.replace('# %% solution="double"', longer + '\n# %% solution="double"'))
    cells = read_source(root / "solutions" / "hw01-small.py")
    assert [c.exercise for c in cells if c.exercise] == ["double-again", "double_all"]


def test_links_to_the_book_become_addresses_or_plain_words(root):
    write(root, GOOD)
    notebook = notebook_of(root)
    assert "Read *the chapter*." in notebook.cells[0].source
    (root / "pyproject.toml").write_text('[project.urls]\nBook = "https://book.example/"\n')
    notebook = notebook_of(root)
    assert "[the chapter](https://book.example/small.html#start)" in notebook.cells[0].source


def test_rule_reaches_the_judge(root):
    ruled = 'solution="double" forbids="torch.nn.LayerNorm torch.mul"'
    text = GOOD.replace('solution="double"', ruled).replace(
        "Read [", "No `nn.LayerNorm`, no mul! ["
    )
    write(root, text)
    homework = load_homework("hw01", root)
    rules = {c.grade_id: c.forbids for c in homework.cells if c.kind is CellKind.SOLUTION}
    assert rules == {
        "double": ("torch.nn.LayerNorm", "torch.mul"),
        "double_all": (),
    }


def forbidding(name: str) -> str:
    return GOOD.replace('solution="double"', f'solution="double" forbids="{name}"')


def test_a_table_of_points_must_add_up_to_those_of_the_checks(root):
    def with_table(points):
        table = f"# | part | points |\n# |---|---|\n# | 1 | 0.5 |\n# | 2 | {points} |\n#\n# Read"
        return GOOD.replace("# Read", table)

    write(root, with_table(3))
    assert load_homework("hw01", root)
    assert refusal(root, with_table(4)) == (
        "FILE: the table in the introduction adds up to 4.5 points, the checks to 3.5: "
        "double 1, double_all 0.5, why 2"
    )


def test_a_rule_that_is_not_told_is_refused(root):
    message = refusal(root, forbidding("torch.nn.LayerNorm"))
    assert "FILE:9: forbids torch.nn.LayerNorm, but no text" in message


def test_a_check_of_identity_is_refused(root):
    message = refusal(root, GOOD.replace("double(3) == 6", "id(double(3)) == id(double(3))"))
    assert "FILE:23: the test cell double-values calls id(), which says nothing" in message


@pytest.mark.parametrize("name", ["torch.nn.LayerNrom", "nn.LayerNorm", "no:thing"])
def test_a_rule_that_means_nothing_is_refused(root, name):
    short = name.rpartition(".")[2]
    write(root, forbidding(name).replace("Read [", f"No {short}! ["))
    with pytest.raises(HomeworkError, match=f":9: forbids names '{name}', which does not exist"):
        check_rules(load_homework("hw01", root))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    ### END SOLUTION\n", "", "FILE:12: '### BEGIN SOLUTION' without an '### END"),
        ("    ### BEGIN SOLUTION\n", "", "FILE:13: '### END SOLUTION' without a '### BEGIN"),
        ("    return 2 * x\n", "    ### BEGIN SOLUTION\n", "FILE:13: '### BEGIN SOLUTION' inside"),
        ("### END HIDDEN TESTS\n", "", "FILE:22: '### BEGIN HIDDEN TESTS' without an '### END"),
        ("### BEGIN HIDDEN TESTS\n", "", "FILE:23: '### END HIDDEN TESTS' without a"),
        ("# ### END SOLUTION\n", "", "FILE:33: '### BEGIN SOLUTION' without an"),
        ("### BEGIN HIDDEN TESTS", "### BEGIN SOLUTION", "FILE:22: '### BEGIN SOLUTION' in a test"),
        ("### BEGIN HIDDEN TESTS", "# BEGIN HIDDEN TESTS", "FILE:22: '# BEGIN HIDDEN TESTS' in a"),
        ("print(double(21))", "### BEGIN SOLUTION", "FILE:38: '### BEGIN SOLUTION' in a demo"),
        ('demo="fun"', 'demo="why"', "FILE:37: duplicate grade_id 'why', first at FILE:30"),
        ('of="layers"', 'of="layers.no"', "FILE:16: no module 'layers.no' can be read"),
        ('of="layers"', 'of="json"', "FILE:16: json has no 'double_all'"),
        (
            "# Use your own double.",
            "x = 1",
            "FILE:16: an outline holds functions and classes with docstrings",
        ),
        ('test="double-values"', 'test="triple-values"', "FILE:19: test 'triple-values' must be"),
        ('test="double-values"', 'test="double"', "FILE:19: test 'double' must be named"),
        (" points=1", "", "FILE:19: points must be a positive number, got None"),
        (" points=1", " points=0", "FILE:19: points must be a positive number, got 0"),
        (" points=1", " points=-1", "FILE:19: points must be a positive number, got -1"),
        (" points=1", " points=true", "FILE:19: points must be a positive number, got True"),
        (" points=1", ' points="1"', "FILE:19: points must be a positive number, got '1'"),
        ('demo="fun"', 'domo="fun"', "FILE:37: unknown label domo; a text cell may have: none"),
        ('demo="fun"', 'demo="fun" points=1', "FILE:37: unknown label points; a demo cell"),
        ('demo="fun"', 'demo="fun" setup="x"', "FILE:37: a cell is of one kind, got setup and"),
        ('demo="fun"', 'demo="so much fun"', "FILE:37: a label is made of A-Z"),
        ('demo="fun"', "demo=fun", "FILE:37: unknown label"),
        (' demo="fun"', "", "FILE:37: a code cell needs one of the labels setup, solution"),
        ("[markdown] written", "written", "FILE:30: a written answer is a markdown cell"),
        ('setup="imports"', '[markdown] setup="imports"', "FILE:6: a setup cell holds code"),
        ("(2) == 4", "(2 == 4", "FILE:21: the test cell double-values is no Python: '(' was never"),
        ("(3) == 6", "(3) = 6", "FILE:23: the test cell double-values is no Python: "),
        ("### END HIDDEN", "return\n### END HIDDEN", "FILE:24: the test cell double-values is no"),
        ("assert double(3)", "%time double(3)", "FILE:23: the test cell double-values is no"),
        ("import math", "import math as", "FILE:7: the setup cell imports is no Python: "),
        (
            HIDDEN,
            f"for x in (3, 4):\n{textwrap.indent(HIDDEN, '    ')}x = 1\n",
            "FILE:26: the test cell double-values without its hidden part is no Python: "
            "expected an indented block after 'for' statement on line 22",
        ),
    ],
)
def test_a_source_that_breaks_the_grammar_is_refused_with_its_line(root, old, new, message):
    assert GOOD.count(old) >= 1
    assert message in refusal(root, GOOD.replace(old, new, 1))


def test_magics_of_a_setup_cell_are_no_fault(root):
    write(root, GOOD.replace("import math", "# %matplotlib inline\nimport math\n!true"))
    cells = {cell.grade_id: cell for cell in load_homework("hw01", root).cells}
    assert cells["imports"].source.startswith("%matplotlib")


def test_a_test_before_its_exercise_is_refused(root):
    start = GOOD.index('# %% solution="double"')
    end = GOOD.index('# %% solution="double_all"')
    moved = GOOD[:start] + GOOD[end:] + "\n" + GOOD[start:end]
    assert "test 'double-values' must be named" in refusal(root, moved)


def test_an_answer_without_its_own_solution_is_refused(root):
    text = GOOD.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", "", 1)
    assert "FILE:9: a solution cell needs '### BEGIN SOLUTION'" in refusal(root, text)


def test_lines_are_right_after_a_string_that_looks_like_a_cell(root):
    text = GOOD.replace("import math\n", 'import math\ntext = """\n# %% no cell\n"""\n')
    message = refusal(root, text.replace(" points=0.5", ""))
    assert "FILE:29: points must be" in message
    assert text.replace(" points=0.5", "").split("\n")[28].startswith('# %% test="double_all')


def test_an_unknown_homework_and_an_unreadable_source_are_refused(root):
    with pytest.raises(HomeworkError, match="no homework 'hw01'; known: none"):
        load_homework("hw01", root)
    write(root, GOOD)
    with pytest.raises(HomeworkError, match="known: hw01-small"):
        load_homework("hw02", root)
    (root / "solutions" / "hw01-small.py").write_bytes(b"# %% \xff\xfe")
    with pytest.raises(HomeworkError, match="cannot be read"):
        load_homework("hw01", root)


def test_private_helpers_of_the_module_come_inside_the_markers(root):
    marked = marked_source("layers", "double_all")
    visible, rest = marked.split("    ### BEGIN SOLUTION\n")
    solution, after = rest.split("    ### END SOLUTION")
    assert visible == 'def double_all(xs):\n    """Return twice each."""\n'
    assert "# a helper does it" in solution
    assert "def _double(x):" in solution
    assert "_FACTOR = 2" in solution
    assert "_stranger" not in marked
    assert "_UNUSED" not in marked
    assert after == ""
    namespace = {}
    exec(marked, namespace)
    assert namespace["double_all"]([2]) == [4]


def test_decorators_signature_and_docstring_stay_outside(root):
    source = LAYERS[LAYERS.index("@functools.cache") : LAYERS.index("\n\nclass Layer")].strip()
    marked = mark_solution(source)
    begin, end = marked.index("    ### BEGIN SOLUTION"), marked.index("    ### END SOLUTION")
    assert marked[:begin].endswith('    """Say\n    more.\n    """\n\n')
    assert marked[begin:].startswith("    ### BEGIN SOLUTION\n    @functools.wraps")
    assert "# and a last remark" in marked[begin:end]


def test_class_keeps_given_methods_and_loses_private_ones(root):
    marked = marked_source("layers", "Layer")
    assert marked == textwrap.dedent(
        '''\
        class Layer:
            """A layer."""

            size = 3

            def __init__(self):
                """Begin."""
                super().__init__()
                ### BEGIN SOLUTION
                self.x = 1
                ### END SOLUTION

            def given(self):
                """Nothing to do."""

            def forward(self, x):
                ### BEGIN SOLUTION
                # a comment of the body
                return self._help(x)

            def _help(self, x):
                """Secret."""
                return x
                ### END SOLUTION'''
    )


LONG = """class Layer:
    \'\'\'A layer.

    Raises:
        ValueError: Often.
    \'\'\'

    def __init__(self):
        \'\'\'Begin.\'\'\'
        self.x = 1

    def forward(self, x):
        return x"""


def test_docstrings_of_an_outline_replace_those_of_the_library():
    outline = "class Layer:\n    'A layer.'\n\n    def forward():\n        'Return x.'\n"
    assert with_docstrings(LONG, outline) == textwrap.dedent(
        """\
        class Layer:
            'A layer.'

            def __init__(self):
                self.x = 1

            def forward(self, x):
                'Return x.'
                return x"""
    )


@pytest.mark.parametrize(
    ("outline", "message"),
    [
        ("class Layer:\n    def back():\n        'No.'", "has Layer.back, the library has not"),
        ("class Layer:\n    size = 3", "and no code"),
    ],
)
def test_an_outline_with_code_or_unknown_names_is_refused(outline, message):
    with pytest.raises(HomeworkError, match=message):
        with_docstrings(LONG, outline)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("HelperFirst", r"HelperFirst._help must follow a public method"),
        ("on_one_line", "the body of 'on_one_line' must stand on lines of its own"),
        ("nothing", "nothing is left to write in 'nothing'"),
        ("NUMBER", "layers.NUMBER is no function or class defined there"),
        ("math", "layers has no .math"),
    ],
)
def test_a_layout_that_leaves_no_place_for_a_stub_is_refused(root, name, message):
    with pytest.raises(HomeworkError, match=message):
        marked_source("layers", name)
