"""The files that a chapter's code uses: direct and indirect imports, and paths in strings."""

from pathlib import Path

import jupytext
import pytest
from course_book.notebooks.used_files import UsedFiles
from course_book.site.rebuilding import digest_of_files

from tests.book.contents import pages_with_code

ROOT = Path(__file__).parents[3]
FILES = {
    "course_lib/__init__.py": "",
    "course_lib/alone.py": "import course_lib.circular",
    "course_lib/circular.py": "import course_lib.alone",
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


@pytest.mark.parametrize(
    ("cell", "files"),
    [
        ("import math", set()),
        ("import course_lib", {INIT}),
        ("import course_lib.alone", {INIT, "course_lib/alone.py", "course_lib/circular.py"}),
        ("from course_lib.layers.base import Base", {INIT, LAYERS, BASE}),
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
        ("'benchmarks', '/', '/etc/hosts', '../x', 'a/b', f'benchmarks/{1}'", set()),
    ],
)
def test_a_cell_uses(tmp_path, cell, files):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    used = UsedFiles(tmp_path).by(["x = 1", cell])
    assert {file.relative_to(tmp_path).as_posix() for file in used} == files


def test_a_missing_library_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="course_lib not found at"):
        UsedFiles(tmp_path)


def test_a_digest_depends_on_names_contents_and_extra_strings(tmp_path):
    first, second, third = (tmp_path / name for name in ("one.py", "two.py", "folder/one.py"))
    third.parent.mkdir()
    for file, text in ((first, "x = 1"), (second, "x = 2"), (third, "x = 1")):
        file.write_text(text)
    several = [[first], [second], [third], [first, second]]
    digests = [digest_of_files(files, tmp_path) for files in several]
    digests.append(digest_of_files([first], tmp_path, ["torch 2.0"]))
    first.write_text("x = 2")
    digests.append(digest_of_files([first], tmp_path))
    assert len(set(digests)) == 6
    assert digest_of_files([second, third], tmp_path) == digest_of_files([third, second], tmp_path)


def test_chapters_use_their_layers_and_no_list_of_chapters():
    used = UsedFiles(ROOT)
    lists = {"course_lib/course_map.py", "book/glossary.md", "_toc.yml", "scripts/contents.py"}
    assert all((ROOT / file).is_file() for file in lists)
    layer, users = "course_lib/layers/kv_cache.py", set()
    for page in pages_with_code():
        cells = jupytext.read(ROOT / "book" / f"{page}.md", fmt="md:myst").cells
        files = used.by([cell.source for cell in cells if cell.cell_type == "code"])
        names = {file.relative_to(ROOT).as_posix() for file in files}
        assert not names & lists, page
        users |= {page} if layer in names else set()
    assert "kv-caching" in users
    assert "bleu" not in users
