"""A notebook that is opened alone, on a machine that has another PyTorch and nothing of the course.

As on Colab: the environment is real, pip is, and so is a server with https, on this machine. Only
the other PyTorch is this one under another version's name: does pip leave it alone?
"""

import functools
import http.server
import os
import re
import ssl
import subprocess
import sys
import threading
from importlib.metadata import distribution
from pathlib import Path

import certifi
import nbformat
import pytest
import torch
import yaml

from autograder.releasing.release import release
from autograder.releasing.students_branch import write_students_folder
from tests.homework.submissions import RUN_NOTEBOOK, solve_notebook
from tests.homework.tables import ROOT, load_homework

pytestmark = [
    pytest.mark.proof,
    pytest.mark.depends_on(
        "autograder", "course_lib", "pyproject.toml", "requirements", "solutions", "tests/homework"
    ),
]

HOMEWORK = "hw03-self-attention"
OTHER_TORCH = "2.12.0+cu126"
OTHER_NUMPY = "2.2.6"
PLACE = "dept/course"  # of the repository, on the server
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a repository on an https server, its folder, and its own certificate."""
    place = tmp_path_factory.mktemp("server")
    certificate, key, web = place / "certificate.pem", place / "key.pem", place / "web"
    web.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key),
         "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(web))
    served = http.server.ThreadingHTTPServer(("localhost", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    served.socket = context.wrap_socket(served.socket, server_side=True)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"https://localhost:{served.server_port}/{PLACE}", web, certificate
    served.shutdown()
    served.server_close()


@pytest.fixture(scope="module")
def alone(server, tmp_path_factory):
    """A folder with only the solved notebook, released by a course that is on the server."""
    address, web, _ = server
    root = tmp_path_factory.mktemp("course")
    for name in ("solutions", "course_lib", "pyproject.toml"):
        (root / name).symlink_to(ROOT / name)
    (root / "_config.yml").write_text(yaml.safe_dump({"repository": {"url": address}}))
    made = release(HOMEWORK, root)
    write_students_folder([HOMEWORK], root, web / PLACE / "-" / "raw" / "students")
    notebook = solve_notebook(made.assignment, load_homework(HOMEWORK))
    # The fetching cell as it was released, and the cells up to the end of the first part.
    names = [cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in notebook.cells]
    first = [i for i, name in enumerate(names) if name.startswith("scaled_dot_product_attention-")]
    notebook.cells = notebook.cells[: 1 + max(first)]
    folder = tmp_path_factory.mktemp("alone")
    nbformat.write(notebook, folder / f"{HOMEWORK}.ipynb")
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An environment with another PyTorch and NumPy, Jupyter's kernel, and no safetensors."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    needed = [
        need.partition(";")[0]
        for need in distribution("torch").requires or ()
        if re.match(r"(filelock|typing|sympy|networkx|jinja2|fsspec|setuptools)", need)
        and "extra ==" not in need
    ]
    packages = [f"numpy=={OTHER_NUMPY}", "matplotlib", "tqdm", "ipykernel", "nbclient", *needed]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    (site,) = folder.glob("lib/python3.*/site-packages")
    installed = Path(torch.__file__).parent
    for name in ("torch", "torchgen", "functorch"):
        if (installed.parent / name).exists():
            (site / name).symlink_to(installed.parent / name)
    about = site / f"torch-{OTHER_TORCH}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {OTHER_TORCH}\n")
    (about / "INSTALLER").write_text("the machine's owner\n")
    (about / "RECORD").write_text("")
    return python


def bundle_of(certificate):
    """Write a file with the certificates that pip trusts and the server's; return its path."""
    known = Path(ssl.get_default_verify_paths().cafile or certifi.where()).read_text()
    together = certificate.with_name("bundle.pem")
    together.write_text(known + certificate.read_text())
    return together


def versions(python):
    """Return the versions of the packages that a Python has, by name."""
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "freeze"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines = (line.split(" @ ")[0].split("==") for line in listed.splitlines())
    return {line[0]: line[-1] for line in lines}


def test_a_notebook_alone_fetches_its_library_and_leaves_the_machine_s_torch(server, alone, python):
    _, _, certificate = server
    before = versions(python)
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [python, "-c", RUN_NOTEBOOK, f"{HOMEWORK}.ipynb"],
        cwd=alone,
        env=kept | {"PIP_CERT": str(bundle_of(certificate))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    cells = nbformat.read(alone / f"{HOMEWORK}.ipynb", as_version=4).cells
    printed = {c.id: "".join(o.get("text", "") for o in c.get("outputs", ())) for c in cells}
    passed = [text for text in printed.values() if text.startswith("Passed: ")]
    assert len(passed) == sum(name.startswith("scaled_dot_product_attention-") for name in printed)
    after = versions(python)
    assert (before["torch"], before["numpy"]) == (OTHER_TORCH, OTHER_NUMPY)
    assert "safetensors" not in before
    assert after == before | {
        "safetensors": after["safetensors"],
        "course_lib": after["course_lib"],
    }


@pytest.mark.parametrize("torch_there", ["2.11.0", "2.12.0", "2.13.0"])
@pytest.mark.parametrize("version", PYTHONS)
def test_what_a_notebook_asks_for_fits_each_python_and_torch(version, torch_there, tmp_path):
    """For each Python the course's requirements can be met without another torch."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    asked = re.findall(r'"([\w-]+>=[\d.]+)"', re.search(r"^dependencies = .*$", project, re.M)[0])
    assert len(asked) == 5
    (tmp_path / "asked.txt").write_text("\n".join(asked))
    (tmp_path / "kept.txt").write_text(f"torch=={torch_there}\n")
    done = uv_compile(version, tmp_path / "asked.txt", "--constraint", tmp_path / "kept.txt")
    assert f"torch=={torch_there}\n" in done


@pytest.mark.parametrize("version", PYTHONS)
def test_the_released_requirements_fit_each_python(version, alone, server):
    _, web, _ = server
    pins = web / PLACE / "-" / "raw" / "students" / HOMEWORK / "requirements.txt"
    resolved = uv_compile(version, pins)
    assert set(pins.read_text().split()) <= set(resolved.split())


def uv_compile(version, requirements, *more):
    """Return the pins that uv finds for a file of requirements; ``more`` are options for uv."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate",
         "--python-version", version, "--only-binary", ":all:", requirements, *more],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
