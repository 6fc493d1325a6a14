"""Chapters run side by side, one a core, before Sphinx reads the pages one after the other.

myst-nb runs a chapter when Sphinx reads its page, which leaves all cores but one idle. Here its own
clients run them ahead of that, into the cache, and find them there when the page is read.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from jupyter_cache import get_cache
from myst_nb.core.execute import create_client
from myst_nb.core.execute.base import NotebookClientBase
from myst_nb.core.read import create_nb_reader
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging as sphinx_logging
from sphinx.util.display import status_iterator

from course_book.notebooks.outputs_cache import output_folders
from course_book.notebooks.preview import is_asked_for, leave_unrun
from course_book.notebooks.warm_kernels import shared_imports, warm_kernels

LOGGER = sphinx_logging.getLogger(__name__)
MOST = 8
"""Chapters that run at once at most: each takes some hundred megabytes."""


class _ChapterLogger(logging.LoggerAdapter[sphinx_logging.SphinxLoggerAdapter]):
    """Names the chapter in warnings, and keeps the rest, which the progress says, for ``-v``."""

    def process(self, msg: str, kwargs: MutableMapping[str, Any]) -> tuple[str, Any]:
        return msg, {**kwargs, **(self.extra or {})}

    def info(self, msg: object, *args: object, **kwargs: Any) -> None:
        self.debug(msg, *args, **kwargs)


def _clients(env: BuildEnvironment, pages: list[str]) -> Iterator[tuple[str, NotebookClientBase]]:
    folders = output_folders(env)
    paths = {page: Path(env.doc2path(page)) for page in folders.keys() & pages}
    # The long ones first, as far as that can be known: or one core waits for another in the end.
    for page in sorted(paths, key=lambda page: paths[page].stat().st_size, reverse=True):
        path = paths[page]
        text = path.read_text("utf-8")
        myst, config = env.myst_config, env.mystnb_config  # type: ignore[attr-defined]  # myst-nb's
        config = config.copy(execution_cache_path=folders[page])
        reader = create_nb_reader(str(path), myst, config, text)
        assert reader is not None, f"{page} has code cells"
        notebook = reader.read(text)
        try:
            get_cache(folders[page]).match_cache_notebook(notebook)
        except KeyError:
            logger = _ChapterLogger(LOGGER, {"location": page})
            yield page, create_client(notebook, str(path), config, logger, reader.read_fmt)


def _run_chapters(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    if app.config.nb_execution_mode != "cache":
        return
    clients = dict(_clients(env, pages))
    leave_unrun(app, {page for page in clients if not is_asked_for(app, page)})
    if asked_for := {page: client for page, client in clients.items() if is_asked_for(app, page)}:
        with warm_kernels(shared_imports(map(_cells, asked_for.values()))):
            _run(asked_for, app.verbosity)


def _cells(client: NotebookClientBase) -> list[str]:
    return [cell.source for cell in client.notebook.cells if cell.cell_type == "code"]


def _run(clients: Mapping[str, NotebookClientBase], verbosity: int) -> None:
    pool = ThreadPoolExecutor(min(MOST, os.cpu_count() or 1))
    runs = {pool.submit(client.start_client): page for page, client in clients.items()}
    done = status_iterator(
        as_completed(runs),
        "running chapters... ",
        "purple",
        len(runs),
        verbosity,
        stringify_func=runs.__getitem__,
    )
    problems = {}
    try:
        for run in done:  # all of them, whatever becomes of one: what has run is kept for next time
            if problem := run.exception():
                problems[runs[run]] = problem
                LOGGER.error("%s could not be run: %s", runs[run], _cause(problem))
    except BaseException:  # Ctrl-C too: kernels are sessions of their own, and would go on
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(run.done() for run in runs):
            _end_kernels()
            time.sleep(0.1)
        raise
    pool.shutdown()
    if problems:
        raise ExtensionError(f"could not be run: {', '.join(problems)}") from next(
            iter(problems.values())
        )


def _cause(problem: BaseException) -> BaseException:
    """What went wrong in a chapter: myst-nb's own error names the chapter's file alone."""
    return problem.__cause__ or problem


def _end_kernels() -> None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()


def setup(app: Sphinx) -> None:
    """Run the chapters as soon as it is known which are to be read.

    Args:
        app: The Sphinx application.
    """
    app.connect("env-before-read-docs", _run_chapters)
