"""Released homework contains nothing of a solution, and its notebook runs once it is solved."""

import ast
import json
import os
import re
import subprocess
import sys
import zipfile
from functools import cache

import nbclient
import nbformat
import pytest

from autograder.homework_source.instructors_notebook import self_contained_notebook
from autograder.homework_source.source import read_source
from autograder.releasing.release import Release, release
from tests.homework.submissions import RUN_NOTEBOOK, solve_notebook
from tests.homework.tables import (
    ROOT,
    load_homework,
    load_table,
    released_notebook,
    tabled_homeworks,
)

pytestmark = pytest.mark.depends_on(
    "assignments", "autograder", "course_lib", "requirements", "solutions", "tests/homework"
)


SAMPLE = "hw03-self-attention"  # the others run under nbval in ``make proof``


@pytest.fixture(scope="module", params=tabled_homeworks())
def made(request, tmp_path_factory) -> Release:
    """The release of each homework in a new folder."""
    root = tmp_path_factory.mktemp("root")
    for name in ("solutions", "course_lib", "pyproject.toml"):
        (root / name).symlink_to(ROOT / name)
    return release(request.param, root)


def test_the_committed_student_notebook_is_not_stale(made):
    committed = released_notebook(made.homework.id).read_bytes()
    number = made.homework.id.split("-")[0]
    assert made.assignment.read_bytes() == committed, f"make release HW={number}"


# ---- secrets ----


def everything_for_students(made: Release) -> dict[str, str]:
    """Return the text of each released file by name, those in the archive too."""
    files = {str(path): path.read_bytes() for path in made.folder.rglob("*") if path.is_file()}
    files[str(made.assignment)] = made.assignment.read_bytes()
    with zipfile.ZipFile(made.archive) as archive:
        files |= {f"zip:{name}": archive.read(name) for name in archive.namelist()}
    return {name: data.decode("utf-8") for name, data in files.items()}


def secrets(made: Release) -> list[str]:
    """Return the lines of solutions and hidden tests that may be in no released file."""
    secret: list[str] = []
    shown = [*public_texts(made.homework.id)]
    for cell in made.homework.cells:
        inside = False
        for line in cell.source.split("\n"):
            if re.search("### (BEGIN|END)", line):
                inside = "BEGIN" in line
            else:
                (secret if inside else shown).append(line.strip())
    public = "\n".join(shown)
    return sorted({line for line in secret if len(line) > 15 and line not in public})


@cache
def public_texts(homework_id: str) -> tuple[str, ...]:
    """Return the sources of the imports and definitions in course_lib that students get.

    What this or a later homework withholds is found independently of the release's code.
    """
    library = ROOT / "course_lib"
    texts = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8")
        for path in library.glob("**/*.py")
    }
    withheld: dict[str, set[str]] = {module: set() for module in texts}
    for source in (ROOT / "solutions").glob("hw*.py"):
        for cell in read_source(source) if source.stem >= homework_id else ():
            if cell.of:
                withheld[cell.of].add(cell.grade_id)
    while any(_withhold_more(module, text, withheld) for module, text in texts.items()):
        pass
    return tuple(part for module in texts for part in _kept(texts[module], withheld[module]))


def _withhold_more(module: str, text: str, withheld: dict[str, set[str]]) -> bool:
    """Withhold a module's definitions that use withheld names; return whether any was new."""
    before = len(withheld[module])
    for origin, names in re.findall(r"^from (course_lib[\w.]*) import (\([^)]*\)|.*)$", text, re.M):
        withheld[module] |= set(re.findall(r"\w+", names)) & withheld.get(origin, set())
    for name, words in _words_of_definitions(text).items():
        if words & withheld[module]:
            withheld[module].add(name)
    return len(withheld[module]) > before


_DOCSTRING = re.compile(r'"""(?s:.*?)"""')  # an example in one needs nothing


@cache
def _words_of_definitions(text: str) -> dict[str, frozenset[str]]:
    """Return the words in the code of each function and class of a module, by its name."""
    lines = text.split("\n")
    return {
        node.name: frozenset(
            re.findall(
                r"\w+", _DOCSTRING.sub("", "\n".join(lines[node.lineno - 1 : node.end_lineno]))
            )
        )
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def _kept(text: str, withheld: set[str]) -> set[str]:
    """Return the sources of a module's imports and of the definitions that students get.

    Private ones are left out unless one of the others uses them.
    """
    imports, defined = _imports_and_definitions(text)
    definitions = {name: body for name, body in defined.items() if name not in withheld}
    words = _words_of_definitions(text)
    kept = {name for name in definitions if not name.startswith("_")}
    while more := {name for user in kept for name in words[user]} & definitions.keys() - kept:
        kept |= more
    return imports | {definitions[name] for name in kept}


@cache
def _imports_and_definitions(text: str) -> tuple[set[str], dict[str, str]]:
    """Return the sources of a module's imports, and of its functions and classes by name."""
    lines = text.split("\n")
    imports, definitions = set(), {}
    for node in ast.parse(text).body:
        source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.add(source)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = source
    return imports, definitions


def test_no_byte_of_a_solution_or_hidden_test_is_released(made):
    lines = secrets(made)
    assert len(lines) > len(made.homework.checks)
    forms = {form for s in lines for form in (s, json.dumps(s, ensure_ascii=False)[1:-1])}
    names = {text: name for name, text in everything_for_students(made).items()}
    for text, name in names.items():  # the folder and its archive hold the same: once is enough
        leaked = [form for form in forms if form in text]
        assert not leaked, (name, leaked)
        assert not re.search("(BEGIN|END) (SOLUTION|HIDDEN TESTS)", text), name


# ---- names in the text ----

INVITATION = re.compile(r"\b([Cc]ompar\w+|[Ii]mport\w*|[Ll]ook (at|into))\b")


def offers(text: str, name: str) -> bool:
    """Return whether a name can be imported from the module with this text."""
    defined = rf"^(def|class) {name}\b|^{name}\b.*=|^from .* import .*\b{name}\b"
    return bool(re.search(defined, text, re.MULTILINE))


def withheld(text: str) -> list[str]:
    """Return the names that a module of the student edition withholds, from its text."""
    return re.findall(r'^    "(\w+)": "', text.partition("\n_WITHHELD = {")[2], re.MULTILINE)


def invited_to(paragraph: str) -> set[str]:
    """Return the names in backquotes that a paragraph tells students to use.

    In a sentence with "them" these are all names before that word in the paragraph.
    """
    names: set[str] = set()
    for end in re.finditer(r"[.:!?]\)?(\s|$)", paragraph):
        before = paragraph[: end.start()]
        sentence = re.split(r"[.:!?]\)?\s", before)[-1]
        if INVITATION.search(sentence):
            names.update(re.findall(r"`(\w+)`", before if " them" in sentence else sentence))
    return names


def test_the_notebook_sends_students_only_to_what_their_edition_has(made):
    library = (made.folder / "course_lib").rglob("*.py")
    names = {".".join(p.relative_to(made.folder).with_suffix("").parts): p for p in library}
    modules = {name: path.read_text(encoding="utf-8") for name, path in names.items()}
    own = {cell.grade_id for cell in made.homework.cells}
    gone = {name for text in modules.values() for name in withheld(text)} - own
    assert gone or not any(cell.of for cell in made.homework.cells)
    for cell in nbformat.read(made.assignment, as_version=4).cells:
        for full in re.findall(r"\bcourse_lib(?:\.\w+)+", cell.source):
            module, _, name = full.rpartition(".")
            assert full in modules or name in own or offers(modules[module], name), full
        if cell.cell_type == "markdown":
            for paragraph in cell.source.split("\n\n"):
                assert not invited_to(paragraph) & gone, paragraph


# ---- run, solved ----

IN_THE_STUDENT_EDITION = """
import course_lib, pathlib
assert pathlib.Path(course_lib.__file__).parents[1] == pathlib.Path.cwd()
"""


@pytest.mark.proof
def test_the_released_notebook_runs_top_to_bottom_once_solved(made):
    homework_id = made.homework.id
    path = made.folder / f"{homework_id}.ipynb"
    solve_notebook(path, load_homework(homework_id), extra=IN_THE_STUDENT_EDITION)
    result = subprocess.run(
        [sys.executable, "-c", RUN_NOTEBOOK, path.name],
        cwd=made.folder,
        env={**os.environ, "PYTHONPATH": str(made.folder)},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert result.returncode == 0, result.stderr
    delight = load_table(homework_id).delight
    assert delight
    of_cells = [cell.get("outputs", []) for cell in nbformat.read(path, as_version=4).cells]
    (told,) = [each for each in of_cells if delight in "".join(o.get("text", "") for o in each)]
    assert any("image/png" in output.get("data", {}) for output in told)


@pytest.mark.parametrize("made", [SAMPLE], indirect=True)
def test_a_failing_test_says_what_came_the_likely_mistake_and_where_to_read(made):
    """The notebook runs in a kernel that has no more files than students have."""
    name = "scaled_dot_product_attention"
    by_name = {v.name: v.source for v in made.homework.variants if v.exercise == name}
    shown = {}
    for mistake, test in (
        ("softmax over dimension 1", f"{name}-values"),
        ("key.T", f"{name}-shape"),
    ):
        notebook = nbformat.read(made.folder / f"{made.homework.id}.ipynb", as_version=4)
        kept = {"imports": None, name: by_name[mistake], test: None}
        notebook.cells = [cell for cell in notebook.cells if cell.id in kept]
        for cell in notebook.cells:
            cell.source = kept[cell.id] or cell.source
        client = nbclient.NotebookClient(
            notebook,
            allow_errors=True,
            kernel_name="python3",
            resources={"metadata": {"path": made.folder}},
        )
        client.execute(env={**os.environ, "PYTHONPATH": str(made.folder)})
        (error,) = [o for o in notebook.cells[-1].outputs if o.output_type == "error"]
        shown[mistake] = error.traceback
    values = shown["softmax over dimension 1"]
    assert values[:2] == [
        "output: 2 of 2 entries differ from the expected values",
        "first at [0, 0, 0]: got 8.2, expected 6.5",
    ]
    assert values[2].startswith("Hint: You let the softmax run over")
    assert values[3].startswith("(line 8 of this cell: assert_close(")
    assert [line.partition(",")[0] for line in values[4:]] == ["Read: The matrix form"]
    raised = shown["key.T"]
    assert raised[0].startswith("RuntimeError: ")
    assert raised[1].startswith("Hint: You multiply queries by keys whose shape")
    assert re.fullmatch(
        r"\(line \d+ of the cell of scaled_dot_product_attention: .*key\.T.*\)", raised[3]
    )
    assert raised[-1].startswith("Read: The matrix form")


NBVAL = ("-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "--nbval-lax")


@pytest.mark.proof
@pytest.mark.parametrize("made", tabled_homeworks(), indirect=True)
def test_the_solved_notebook_runs_under_nbval(made, tmp_path):
    solved = tmp_path / made.source.name
    solved.write_text(self_contained_notebook(load_homework(made.source.stem)), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, *NBVAL, "--rootdir", tmp_path, solved],
        cwd=made.source.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    cells = nbformat.read(made.source, as_version=4).cells
    assert f"{sum(cell.cell_type == 'code' for cell in cells)} passed" in result.stdout
