"""Chapters run again exactly when something changes that their outputs depend on.

jupyter-cache keys outputs on a chapter's code cells and its kernel alone, and Sphinx reads a page
again only when its own source changes. So each chapter's outputs lie in a folder that is named by
all else that they depend on, and a chapter whose folder is another than last time is read again. A
preview shares these folders with the book, and leaves what it doesn't show as it is.
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
from course_book.notebooks.preview import execution_mode, is_asked_for, previewed
from course_book.notebooks.used_files import UsedFiles
from course_book.notebooks.warm_kernels import ZYGOTE
from course_book.site.book_digests import digest_of_files

PACKAGES = ("torch", "numpy", "matplotlib", "sacrebleu", "transformers")
"""Packages whose version may change what a chapter shows."""


def surroundings() -> list[str]:
    """Return what every chapter depends on: how its kernel is set up, and the versions within."""
    setup = [path.read_text("utf-8") for path in (Path(kernels.__file__), ZYGOTE)]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return [*setup, f"python {platform.python_version()}", *versions]


def output_folders(env: BuildEnvironment) -> dict[str, str]:
    """Return where the outputs of each chapter lie.

    Args:
        env: Sphinx's environment.

    Returns:
        A folder by page, ``chapter-outputs/PAGE/DIGEST`` beside the folder of the built pages.
    """
    folders: dict[str, str] = getattr(env, "course_output_folders", {})
    return folders


def _name_folders(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    root, caches = Path(app.srcdir), _caches(app)
    used, around = UsedFiles(root), surroundings()
    before = output_folders(env)
    now = {
        page: str(caches / page / digest_of_files(used.of(cells), root, around))
        for page, cells in _chapters(env)
    }
    env.course_output_folders = now  # type: ignore[attr-defined]  # kept with the environment
    changed_outputs = (page for page, folder in now.items() if before.get(page) != folder)
    return [page for page in changed_outputs if is_asked_for(app, page)]


def _chapters(env: BuildEnvironment) -> Iterator[tuple[str, list[str]]]:
    """Yield each page that has code cells, with their sources."""
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
    kept = {Path(folder) for folder in output_folders(app.env).values()}
    if error is not None or previewed(app):
        return
    for database in list(_caches(app).rglob("global.db")):
        if database.parent not in kept:
            shutil.rmtree(database.parent)


def _caches(app: Sphinx) -> Path:
    return Path(app.outdir).with_name("chapter-outputs")


def setup(app: Sphinx) -> None:
    """Give each chapter's outputs a folder.

    Args:
        app: The Sphinx application; its source folder holds ``course_lib``.
    """
    app.connect("env-get-outdated", _name_folders)
    app.connect("source-read", _use_folder)
    app.connect("build-finished", _drop_stale)
