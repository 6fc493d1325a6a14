"""A worker's Python has the packages that students have, and no others."""

import importlib.util
from pathlib import Path

import pytest

from autograder.judging.student_process import StudentProcess
from autograder.sandbox import file_system
from autograder.sandbox.student_packages import show_packages


def install(folder, name, *files, requires=()):
    """Write an installed package into a folder as pip does: its metadata, and empty ``files``.

    ``requires`` are the names of packages that it needs.
    """
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    needs = "".join(f"Requires-Dist: {other}\n" for other in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, "../../bin/x")))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()


def test_wanted_packages_and_their_requirements_are_left(tmp_path):
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
    covered = {mounts[i + 1] for i, word in enumerate(mounts) if word == "--tmpfs"}
    assert covered == {str(here), str(there)}
    (here / "Wanted-1.0.dist-info" / "RECORD").unlink()  # the owners of files are not known
    show_packages.cache_clear()
    assert show_packages((str(here),), ("wanted",)) == ()


@pytest.mark.sandbox
def test_worker_imports_the_students_packages_alone(sandbox):
    process = StudentProcess(sandbox, seconds=30.0, submission_seconds=60.0)
    theirs = ["torch", "numpy", "matplotlib.pyplot", "safetensors.torch", "tqdm", "IPython", "pip"]
    parts = ["torch.testing", "torch.utils.checkpoint", "torch._refs", "torch._dynamo"]
    for name in (*theirs, *parts):
        assert process.run_cell("own", f"import {name}") is None
    others = ["transformers", "tokenizers", "sacrebleu", "nbgrader", "distributed", "pytest"]
    others = [name for name in others if importlib.util.find_spec(name)]
    layers = ["torch.testing._internal.common_nn", "torch._vendor.quack.rmsnorm"]
    for name in (*others, *layers):
        tried = process.run_cell("own", f"import {name}")
        assert tried.message.startswith("ModuleNotFoundError"), tried
    for name in others:
        file = importlib.util.find_spec(name).origin
        tried = process.run_cell("own", f"open({file!r})")
        assert tried.message.startswith("FileNotFoundError"), tried
    folders = list(map(str, file_system._other_packages()))
    shown = f"import os\nassert not sum(map(os.listdir, {folders}), [])"
    assert process.run_cell("own", shown) is None
    process.stop()
