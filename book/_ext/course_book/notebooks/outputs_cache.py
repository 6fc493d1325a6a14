"""Chapters run again exactly when their outputs may change.

jupyter-cache finds outputs by a chapter's code cells and its kernel. Here each chapter also has a
cache folder of its own, named by a digest of the files and package versions that it uses. Sphinx
reads a chapter again when its folder changes. A preview shares these folders with the book.
"""

import importlib.metadata
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from myst_nb.core.read import create_nb_reader
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from course_book.notebooks import kernels
from course_book.notebooks.preview import execution_mode, is_shown
from course_book.notebooks.used_files import UsedFiles
from course_book.site.rebuilding import digest_of_files

PACKAGES = ("torch", "numpy", "matplotlib", "sacrebleu", "transformers")
"""Packages whose versions may change the outputs of chapters."""


def surroundings() -> list[str]:
    """Return texts that all outputs depend on: the source of ``kernels``, versions of packages."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    environment = Path(kernels.__file__).read_text("utf-8")
    return [environment, f"python {platform.python_version()}", *versions]


def output_folders(env: BuildEnvironment) -> dict[str, str]:
    """Return the path ``chapter-outputs/PAGE/DIGEST`` of each chapter's cache, by its page."""
    folders: dict[str, str] = getattr(env, "course_output_folders", {})
    return folders


def _set_folders(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Set each chapter's cache folder; return the pages to read again, as their folder changed.

    In a preview these are pages that it shows.
    """
    root, caches = Path(app.srcdir), _caches(app)
    used, around = UsedFiles(root), surroundings()
    before = output_folders(env)
    now = {
        page: str(caches / page / digest_of_files(used.by(cells), root, around))
        for page, cells in _chapters(env)
    }
    env.course_output_folders = now  # type: ignore[attr-defined]  # pickled with the environment
    return [
        page for page, folder in now.items() if before.get(page) != folder and is_shown(app, page)
    ]


def _chapters(env: BuildEnvironment) -> Iterator[tuple[str, list[str]]]:
    """Yield each page with code cells, and the sources of these cells."""
    for page in sorted(env.found_docs):
        path = Path(env.doc2path(page))
        text = path.read_text("utf-8")
        myst, config = env.myst_config, env.mystnb_config  # type: ignore[attr-defined]  # myst-nb's
        if reader := create_nb_reader(str(path), myst, config, text):
            cells = reader.read(text).cells
            yield page, [cell.source for cell in cells if cell.cell_type == "code"]


def _use_folder(app: Sphinx, page: str, source: list[str]) -> None:
    if folder := output_folders(app.env).get(page):
        config = app.env.mystnb_config  # type: ignore[attr-defined]  # myst-nb's
        config = config.copy(execution_cache_path=folder, execution_mode=execution_mode(app, page))
        app.env.mystnb_config = config  # type: ignore[attr-defined]


def _drop_stale(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.config.course_preview:
        return
    kept = {Path(folder) for folder in output_folders(app.env).values()}
    for database in list(_caches(app).rglob("global.db")):
        if database.parent not in kept:
            shutil.rmtree(database.parent)


def _caches(app: Sphinx) -> Path:
    return Path(app.outdir).with_name("chapter-outputs")


def setup(app: Sphinx) -> None:
    """Have the outputs of each chapter cached in a folder of its own."""
    app.connect("env-get-outdated", _set_folders)
    app.connect("source-read", _use_folder)
    app.connect("build-finished", _drop_stale)
