"""What a chapter's code uses: imports of every form, near and far, and files that it names."""

from pathlib import Path

import jupytext
import pytest
from course_book.notebooks.used_files import UsedFiles
from course_book.site.book_digests import digest_of_files

ROOT = Path(__file__).parents[3]
FILES = {
    "course_lib/__init__.py": "",
    "course_lib/alone.py": "",
    "course_lib/layers/__init__.py": "",
    "course_lib/layers/base.py": "import math, torch",
    "course_lib/layers/near.py": "from course_lib.layers.base import Base",
    "course_lib/layers/relative.py": "from . import near",
    "course_lib/layers/lazy.py": "def f():\n    from ..drawing.draw import draw",
    "course_lib/drawing/__init__.py": "",
    "course_lib/drawing/draw.py": "",
    "course_lib/drawing/look.mplstyle": "",
    "benchmarks/runs/small/summary.json": "{}",
    "benchmarks/runs/large/summary.json": "{}",
}
ALL = {name for name in FILES if name.startswith("course_lib")}
INIT, LAYERS = "course_lib/__init__.py", "course_lib/layers/__init__.py"
BASE, NEAR = "course_lib/layers/base.py", "course_lib/layers/near.py"
DRAWING = {f"course_lib/drawing/{name}" for name in ("__init__.py", "draw.py", "look.mplstyle")}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("cell", "files"),
    [
        ("import math", set()),
        ("import course_lib", {INIT}),
        ("from course_lib.layers.base import Base", {INIT, LAYERS, BASE}),
        ("import course_lib.layers.base as base", {INIT, LAYERS, BASE}),
        ("from course_lib.layers import base, missing", {INIT, LAYERS, BASE}),
        ("from course_lib.layers.near import Near", {INIT, LAYERS, BASE, NEAR}),
        (
            "from course_lib.layers.relative import x",
            {INIT, LAYERS, BASE, NEAR, "course_lib/layers/relative.py"},
        ),
        (
            "def later():\n    import course_lib.layers.lazy",
            {INIT, LAYERS, "course_lib/layers/lazy.py", *DRAWING},
        ),
        ("run(['-m', 'course_lib.layers.base'])", {INIT, LAYERS, BASE}),
        ("script = 'from course_lib.layers.base import Base'", {INIT, LAYERS, BASE}),
        ("%time import course_lib.alone", ALL),
        ("(root / 'benchmarks/runs/small').glob('*')", {"benchmarks/runs/small/summary.json"}),
        ("'benchmarks/runs/small/summary.json'", {"benchmarks/runs/small/summary.json"}),
        ("'benchmarks', '/', '/etc/hosts', '../x', 'a/b', f'benchmarks/{1}'", set()),
    ],
)
def test_a_cell_uses(project, cell, files):
    used = UsedFiles(project).of(["x = 1", cell])
    assert {file.relative_to(project).as_posix() for file in used} == files


def test_modules_may_import_one_another_in_a_circle(project):
    (project / "course_lib" / "alone.py").write_text("import course_lib.other")
    (project / "course_lib" / "other.py").write_text("import course_lib.alone")
    assert len(UsedFiles(project).of(["import course_lib.other"])) == 3


def test_a_missing_library_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="course_lib not found at"):
        UsedFiles(tmp_path)


def test_a_digest_knows_names_and_contents(tmp_path):
    first, second = tmp_path / "one.py", tmp_path / "two.py"
    first.write_text("x = 1")
    digests = [digest_of_files([first], tmp_path)]
    first.write_text("x = 2")
    digests.append(digest_of_files([first], tmp_path))
    first.rename(second)
    digests.append(digest_of_files([second], tmp_path))
    digests.append(digest_of_files([second], tmp_path, ["torch 2.0"]))
    first.write_text("")
    digests.append(digest_of_files([first, second], tmp_path))
    assert len(set(digests)) == 5
    assert digest_of_files([second, first], tmp_path) == digests[-1]


@pytest.fixture(scope="module")
def used_by_chapters():
    """The files that each chapter of the book uses."""
    used = UsedFiles(ROOT)
    pages = [path for path in (ROOT / "book").glob("*.md") if "kernelspec:" in path.read_text()]
    cells = {p.stem: jupytext.read(p, fmt="md:myst").cells for p in pages}
    return {
        name: {
            file.relative_to(ROOT).as_posix()
            for file in used.of([c.source for c in of_page if c.cell_type == "code"])
        }
        for name, of_page in cells.items()
    }


def test_what_lists_chapters_and_words_runs_none_of_them_again(used_by_chapters):
    lists = {"course_lib/course_map.py", "book/glossary.md", "_toc.yml", "scripts/contents.py"}
    assert all((ROOT / file).is_file() for file in lists)
    assert {name: lists & used for name, used in used_by_chapters.items() if lists & used} == {}


def test_a_layer_runs_those_chapters_again_that_use_it(used_by_chapters):
    layer = "course_lib/layers/kv_cache.py"
    assert layer in used_by_chapters["kv-caching"]
    assert layer not in used_by_chapters["bleu"]
