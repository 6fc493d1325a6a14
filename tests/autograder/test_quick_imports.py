"""The command line does not import slow packages, and works without them."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import nbgrader
from alembic.script import ScriptDirectory

from autograder.quick_imports import CONTENTS_MANAGERS, FORMATS, SERVER_EXTENSIONS
from autograder.releasing.generated_assignment import newest_version

ROOT = Path(__file__).parents[2]


def source_of(module: str) -> ast.Module:
    return ast.parse(Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8"))


def imported_by(module: str) -> dict[str, set[str]]:
    found = [node for node in ast.walk(source_of(module)) if isinstance(node, ast.ImportFrom)]
    return {str(node.module): {alias.name for alias in node.names} for node in found}


def test_nbgrader_imports_the_server_extensions_that_are_left_out():
    wanted = {
        f"nbgrader.{module}": names
        for module, names in imported_by("nbgrader").items()
        if module.startswith("server_extensions")
    }
    assert wanted == {name: {"load_jupyter_server_extension"} for name in SERVER_EXTENSIONS}


def test_jsonschema_and_jupytext_work_without_their_optional_imports():
    source = source_of("jsonschema._format")
    plain = {a.name for n in ast.walk(source) if isinstance(n, ast.Import) for a in n.names}
    assert plain | imported_by("jsonschema._format").keys() >= set(FORMATS)
    assert {f"jupytext.{name}" for name in imported_by("jupytext")} >= set(CONTENTS_MANAGERS)
    program = (
        "from autograder.quick_imports import skip_imports; skip_imports();"
        "import jsonschema, jupytext, nbformat;"
        "jsonschema.validate('a', {'type': 'string', 'format': 'iri'},"
        " format_checker=jsonschema.FormatChecker());"
        "assert jupytext.reads('# %%\\n1', fmt='py:percent').cells"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_migrations_are_read_as_alembic_reads_them():
    migrations = ScriptDirectory(str(Path(nbgrader.__file__).parent / "alembic"))
    assert newest_version() == migrations.get_current_head()


def test_the_command_line_imports_neither_torch_nor_the_formats_that_it_skips():
    program = (
        "from autograder.quick_imports import skip_imports; skip_imports();"
        "import sys, json, autograder.cli.app, autograder.gradebook.writer,"
        " autograder.gradebook.plugins, autograder.class_run.run, autograder.class_run.judges;"
        "print(json.dumps([name for name, module in sys.modules.items()"
        " if getattr(module, '__file__', None)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, cwd=ROOT, stdout=subprocess.PIPE
    )
    modules = json.loads(done.stdout)
    spared = {"torch", "distributed", "matplotlib", "IPython", "numpy", "alembic", *FORMATS}
    spared |= {*SERVER_EXTENSIONS, *CONTENTS_MANAGERS}
    assert "nbgrader.api" in modules
    assert not spared & set(modules)


def test_modules_needed_later_are_not_imported_before_a_judge_starts():
    program = (
        "import sys, autograder.cli.app, autograder.class_run.judges;"
        "late = {'sqlalchemy', 'jupytext', 'nbformat', 'nbgrader', 'torch'} & set(sys.modules);"
        "sys.exit(f'imported: {late}' if late else 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
