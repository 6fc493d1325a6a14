"""Do kernels begin with what chapters share, and apart from that like any other kernel?"""

import os
import signal
import sys

import psutil
import pytest
from course_book.notebooks import kernels
from course_book.notebooks.warm_kernels import shared_imports, warm_kernels
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.depends_on("book/_ext")
LOOK = "import os, sys; print('colorsys' in sys.modules, os.getppid(), os.getcwd(), sys.path)"


def run(code: str) -> str:
    notebook = new_notebook(cells=[new_code_cell(code)])
    NotebookClient(notebook, kernel_name="python3").execute()
    return notebook.cells[0].outputs[0].text


def test_kernels_are_forked_from_one_that_has_imported_it():
    alone = run(LOOK).split(maxsplit=2)
    with warm_kernels(["colorsys.rgb_to_hsv", "no_such_module", "json.no_such_name"]):
        first, second = run(LOOK).split(maxsplit=2), run(LOOK).split(maxsplit=2)
    assert alone[:2] == ["False", str(os.getpid())]
    assert first[0] == "True"
    assert first == second  # one parent
    assert first[2] == alone[2]
    assert not psutil.pid_exists(int(first[1]))


def test_a_kernel_keeps_nothing_for_the_next():
    with warm_kernels([]):
        assert run("kept = 1; print(kept)") == "1\n"
        assert run("print('kept' in globals())") == "False\n"


def test_a_chapter_may_start_processes_and_learn_how_they_end():
    with warm_kernels([]):
        code = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'exit(3)']))"
        assert "returncode=3" in run(code)


def test_a_kernel_may_end_between_a_look_at_it_and_the_signal_that_ends_it():
    with warm_kernels([]):
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel()
        kernel = manager.provisioner.process
        kernel.kill()
        kernel.wait(timeout=10)
        kernel.send_signal(signal.SIGTERM)  # as the provisioner does
        manager.cleanup_resources()


def test_what_two_chapters_import_is_shared():
    chapters = [
        ["import torch", "from torch import nn\nimport torch"],
        ["import torch", "from course_lib.layers import masks", "%matplotlib inline\nimport math"],
        ["from torch import nn", "from course_lib.layers import masks", "import math"],
    ]
    assert shared_imports(chapters) == ["torch", "torch.nn"]


@pytest.mark.parametrize(
    ("shared", "look"),
    [
        ([], "import os; print(os.environ['OMP_NUM_THREADS'])"),
        pytest.param(
            ["torch"], "import torch; print(torch.get_num_threads())", marks=pytest.mark.proof
        ),
    ],
)
def test_a_chapters_kernel_computes_with_one_thread(monkeypatch, tmp_path, shared, look):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "")
    monkeypatch.delenv("OMP_NUM_THREADS")
    kernels._set_up_environment(tmp_path)
    with warm_kernels(shared):
        assert run(look) == "1\n"
