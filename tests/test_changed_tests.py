"""``changed_tests`` finds the tests beside an edit."""

import subprocess
from pathlib import Path

import pytest

from scripts import changed_tests


@pytest.mark.parametrize(
    ("edited", "tests"),
    [
        ("course_lib/layers/masks.py", ["tests/course_lib/layers/test_masks.py"]),
        ("course_lib/layers/transformer_layers.py", ["tests/course_lib/layers"]),
        ("course_lib/validation.py", ["tests/course_lib/test_validation.py"]),
        ("course_lib/recipes/finetuning.py", ["tests/course_lib/recipes"]),
        ("book/_ext/course_book/figures/kv_cache/figure.py", ["tests/book/figures"]),
        ("tests/test_house.py", ["tests/test_house.py"]),
        ("course_lib/course_map.py", []),
        ("tests/conftest.py", []),
        ("scripts/changed_tests.py", ["tests/test_changed_tests.py"]),
        ("book/bert.md", []),
        ("README.md", []),
    ],
)
def test_tests_beside_an_edit_are_found(edited, tests):
    assert changed_tests.tests_of(Path(edited)) == tests


def test_edited_new_and_moved_files_are_found_and_deleted_ones_are_not(tmp_path, monkeypatch):
    def git(*options):
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *who, *options], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("gone.py", "kept.py", "edited.py"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "edited.py").write_text("otherwise")
    (tmp_path / "new.py").write_text("new")
    monkeypatch.chdir(tmp_path)
    assert changed_tests.edited("HEAD") == [Path("edited.py"), Path("new.py")]
