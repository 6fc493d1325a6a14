"""Running the chapters: with this Python, with course_lib at hand, and again when that changes.

jupyter-cache keys a chapter's outputs on its code cells and its kernel alone, and Sphinx builds a
page again only when the page itself changes. So both are told here what else a page depends on.
"""

import hashlib
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

LIBRARY_SUFFIXES = (".py", ".mplstyle", ".json", ".txt")
PACKAGES = ("torch", "numpy", "matplotlib", "sacrebleu")
"""Packages whose version may change what a chapter shows."""


def digest_of_files(files: Iterable[Path], root: Path, extra: Iterable[str] = ()) -> str:
    """Return a digest of files' names and contents.

    Args:
        files: The files.
        root: The folder that their names are taken relative to.
        extra: Further strings that the digest depends on.

    Returns:
        16 hexadecimal digits; the same for the same files, whatever their order.
    """
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    for text in extra:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:16]


def library_digest(library: Path, runs: Path) -> str:
    """Return a digest of course_lib, of Python and of the packages that it computes with.

    Args:
        library: The folder of ``course_lib``.
        runs: The folder of what long trainings left, which chapters read; it may be missing.

    Returns:
        16 hexadecimal digits, that change whenever a chapter's outputs may change.

    Raises:
        FileNotFoundError: The folder is missing.
    """
    if not library.is_dir():
        raise FileNotFoundError(f"course_lib not found at {library}")
    files = [file for file in library.rglob("*") if file.suffix in LIBRARY_SUFFIXES]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    kept = digest_of_files(runs.rglob("*.json"), runs)
    return digest_of_files(files, library, [kept, platform.python_version(), *versions])


def _configure(app: Sphinx, config: Config) -> None:
    root = Path(app.srcdir)
    config.course_lib_digest = library_digest(root / "course_lib", root / "benchmarks" / "runs")
    book = Path(__file__).parents[3]
    config.course_book_digest = digest_of_files((book / "_ext").rglob("*.py"), book)
    looks = [*(book / "_static").rglob("*"), *(book / "_templates").rglob("*")]
    looks += [*(book / "_ext").rglob("*.js"), *(book / "_ext").rglob("*.css")]
    looks += [book / "glossary.md", book / "references.bib"]  # of which other pages show parts
    config.course_looks_digest = digest_of_files(filter(Path.is_file, looks), book)

    caches = Path(app.outdir).parent / "chapter-outputs"
    config.nb_execution_cache_path = str(caches / config.course_lib_digest)
    if caches.is_dir():
        for stale in caches.iterdir():
            if stale.name != config.course_lib_digest:
                shutil.rmtree(stale)
    _set_up_kernels(caches.with_name("kernels"))


def _set_up_kernels(folder: Path) -> None:
    # What the builder's own IPython runs at its start is no part of the book. And each kernel would
    # warn that it is reached by TCP.
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(
        "c.IPKernelApp.log_level = 'ERROR'\n", "utf-8"
    )
    os.environ["IPYTHONDIR"] = str(folder)


def _find_library(root: Path) -> None:
    # Our own directives read course_lib too, whether or not it is installed.
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    # Kernels inherit this process's environment. The kernel "python3" then is this very Python,
    # also where the reader's home folder holds a kernel of the same name.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(root) not in others:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(root), *others])


def setup(app: Sphinx) -> None:
    """Key the cache and the pages on course_lib, and let kernels import it.

    Args:
        app: The Sphinx application; its source folder holds ``course_lib``.
    """
    # A changed value with rebuild="env" makes Sphinx read every page again.
    app.add_config_value("course_lib_digest", "", "env", types=[str])
    app.add_config_value("course_book_digest", "", "env", types=[str])
    # And with "html" it writes every page again, and copies the styles and scripts, which it
    # otherwise leaves alone as long as no page has changed.
    app.add_config_value("course_looks_digest", "", "html", types=[str])
    app.connect("config-inited", _configure)
    _find_library(Path(app.srcdir))
