"""A worker's Python has the packages that students have, and no others."""

import importlib.util
from pathlib import Path

import pytest

from autograder.judging.student_process import StudentProcess
from autograder.sandbox import file_system
from autograder.sandbox.visible_packages import show_packages


def install(folder, name, *files, requires=()):
    """Lay a package out as pip does."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    needs = "".join(f"Requires-Dist: {other}\n" for other in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, "../../bin/x")))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()


def test_what_students_install_and_what_that_requires_is_left(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    install(here, "Wanted", "wanted/__init__.py", requires=['Needed-One[fast]; python_version>"3"'])
    install(
        there, "needed_one", "needed_one.py", requires=['quick; extra == "fast"', "x; extra=='y'"]
    )
    install(there, "quick", "quick/__init__.py", "shared/quick.py")
    install(here, "x", "x/__init__.py")
    install(there, "other", "other/__init__.py", "other_file.py", "other.so", "shared/other.py")
    mounts = show_packages((str(here), str(there)), ("wanted", "not-installed"))
    shown = {Path(mounts[i + 1]) for i, word in enumerate(mounts) if word == "--ro-bind-try"}
    assert {path for path in shown if path.suffix != ".dist-info"} == {
        here / "wanted", there / "needed_one.py", there / "quick", there / "shared"
    }  # fmt: skip
    assert {mounts[i + 1] for i, word in enumerate(mounts) if word == "--tmpfs"} == {
        str(here), str(there)
    }  # fmt: skip


def test_where_nothing_says_whose_the_files_are_all_are_left(tmp_path):
    install(tmp_path, "wanted", "wanted/__init__.py")
    (tmp_path / "wanted-1.0.dist-info" / "RECORD").unlink()
    assert show_packages((str(tmp_path),), ("wanted",)) == ()


@pytest.mark.sandbox
def test_what_the_judge_has_and_students_have_not_cannot_be_imported(sandbox):
    process = StudentProcess(sandbox, seconds=30.0, submission_seconds=60.0)
    theirs = ["torch", "numpy", "matplotlib.pyplot", "safetensors.torch", "tqdm", "IPython", "pip"]
    for name in theirs:
        assert process.run_cell("own", f"import {name}") is None
    for name in ("transformers", "tokenizers", "sacrebleu", "nbgrader", "distributed", "pytest"):
        if importlib.util.find_spec(name) is None:
            continue  # the judge has it no more than they
        tried = process.run_cell("own", f"import {name}")
        assert tried.message == f"ModuleNotFoundError: No module named '{name}'", tried
        file = importlib.util.find_spec(name).origin
        tried = process.run_cell("own", f"open({file!r})")
        assert tried.message.startswith("FileNotFoundError"), tried
    process.stop()


@pytest.mark.sandbox
def test_packages_of_another_python_cannot_be_found(sandbox):
    process = StudentProcess(sandbox, seconds=30.0, submission_seconds=60.0)
    others = file_system._other_packages()
    shown = f"import os\nassert not sum(map(os.listdir, {list(map(str, others))}), [])"
    assert process.run_cell("own", shown) is None
    process.stop()


@pytest.mark.sandbox
def test_the_layers_that_pytorch_has_once_more_are_not_there(sandbox):
    process = StudentProcess(sandbox, seconds=30.0, submission_seconds=60.0)
    for name in ("torch.testing", "torch.utils.checkpoint", "torch._refs", "torch._dynamo"):
        assert process.run_cell("own", f"import {name}") is None
    for name in ("torch.testing._internal.common_nn", "torch._vendor.quack.rmsnorm"):
        tried = process.run_cell("own", f"import {name}")
        assert tried.message.startswith("ModuleNotFoundError"), name
    process.stop()
