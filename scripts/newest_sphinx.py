"""Build the book with the newest Sphinx and MyST: ``python -m scripts.newest_sphinx``.

Jupyter Book 1 keeps us at Sphinx 7, but writes a configuration that any Sphinx reads. With it, in
an environment of its own, the same chapters are built here, so that we learn on which day they no
longer are. Outputs of the book's last build are used again, except of chapters whose cells the
newer MyST reads otherwise: those run.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "newest-sphinx"
PACKAGES = (
    *("sphinx>=9", "myst-parser>=5", "myst-nb", "sphinx-book-theme", "sphinx-external-toc"),
    *("sphinx-copybutton", "sphinx-design", "sphinx-exercise", "sphinx-togglebutton"),
    *("sphinxcontrib-bibtex", "sphinxcontrib-katex"),
)
"""The packages that make pages. All others, such as torch, come from our own environment, so that
outputs are those of the same versions."""
SOURCES = ("_config.yml", "_toc.yml", "book", "course_lib", "autograder", "solutions", "benchmarks")


def make_environment(folder: Path) -> Path:
    """Create an environment with the newest Sphinx and MyST in a folder; return its Python."""
    venv.create(folder, clear=True, with_pip=True)
    python = folder / "bin" / "python"
    _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES])
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(_run([python, "-c", ask], stdout=subprocess.PIPE).strip())
    # A .pth file adds our environment's packages, which come last.
    (packages / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


def write_project(folder: Path) -> None:
    """Write a project that any Sphinx can build: a folder of links to sources, and ``conf.py``."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in SOURCES:
        (folder / name).symlink_to(ROOT / name)
    _run([Path(sys.executable).with_name("jupyter-book"), "config", "sphinx", folder])


def _run(command: list[object], **options: int) -> str:
    """Run a command; return its output if ``stdout`` is a pipe.

    Raises:
        CalledProcessError: The command failed.
    """
    done = subprocess.run(list(map(str, command)), check=True, text=True, **options)
    return done.stdout or ""


def main() -> int:
    """Build the book with the newest Sphinx; return its exit status, 0 if there was no warning.

    Raises:
        SystemExit: The book has not been built with our own Sphinx yet.
    """
    outputs = ROOT / "build" / "book" / "_build" / "chapter-outputs"
    if not outputs.is_dir():
        raise SystemExit("newest_sphinx: takes chapters' outputs from a build. First: make book")
    python = make_environment(BUILD / "venv")
    write_project(BUILD / "source")
    for stale in ("chapter-outputs", "doctrees", "html"):
        shutil.rmtree(BUILD / stale, ignore_errors=True)
    shutil.copytree(outputs, BUILD / "chapter-outputs")
    command = [python, "-m", "sphinx", "-W", "-n", "--keep-going", "-b", "html"]
    command += ["-d", BUILD / "doctrees", BUILD / "source", BUILD / "html"]
    extension = {"PYTHONPATH": str(ROOT / "book" / "_ext")}
    return subprocess.run(
        list(map(str, command)), env=os.environ | extension, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
