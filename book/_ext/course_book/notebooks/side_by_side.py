"""Chapters run in parallel, before Sphinx reads the pages one after the other.

myst-nb runs a chapter when Sphinx reads its page, on one core. Here myst-nb's own clients run the
chapters first, one a core, into the cache where myst-nb then finds their outputs.
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
from course_book.notebooks.preview import is_shown, leave_unrun

LOGGER = sphinx_logging.getLogger(__name__)
MAX_PARALLEL = 8  # a chapter takes some hundred megabytes
LONG_RUN = "\nlong_run: true\n"


class _ChapterLogger(logging.LoggerAdapter[sphinx_logging.SphinxLoggerAdapter]):
    """A logger that adds the chapter's name to warnings, and logs information as debug messages."""

    def process(self, msg: str, kwargs: MutableMapping[str, Any]) -> tuple[str, Any]:
        return msg, {**kwargs, **(self.extra or {})}

    def info(self, msg: object, *args: object, **kwargs: Any) -> None:
        self.debug(msg, *args, **kwargs)


def _clients(env: BuildEnvironment, pages: list[str]) -> Iterator[tuple[str, NotebookClientBase]]:
    """Yield (page, client that runs its notebook) for each of the pages without cached outputs."""
    folders = output_folders(env)
    paths = {page: Path(env.doc2path(page)) for page in folders.keys() & pages}
    texts = {page: path.read_text("utf-8") for page, path in paths.items()}
    # Slow chapters first, so that no core waits for another at the end. Long texts tend to be slow;
    # a short one that is slow says "long_run: true" in its front matter.
    for page in sorted(
        paths, key=lambda page: (LONG_RUN in texts[page], len(texts[page])), reverse=True
    ):
        path, text = paths[page], texts[page]
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
    leave_unrun(app, [page for page in clients if not is_shown(app, page)])
    if shown := {page: client for page, client in clients.items() if is_shown(app, page)}:
        _run(shown, app.verbosity)


def _run(clients: Mapping[str, NotebookClientBase], verbosity: int) -> None:
    pool = ThreadPoolExecutor(min(MAX_PARALLEL, os.cpu_count() or 1))
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
        for run in done:  # after a failure too: the other outputs are cached for the next build
            if problem := run.exception():
                problems[runs[run]] = problem
                cause = problem.__cause__ or problem  # myst-nb's own error only names the file
                LOGGER.error("%s could not be run: %s", runs[run], cause)
    except BaseException:  # Ctrl-C too: kernels have sessions of their own and would go on
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(run.done() for run in runs):
            _kill_kernels()
            time.sleep(0.1)
        raise
    pool.shutdown()
    for problem in problems.values():
        raise ExtensionError(f"could not be run: {', '.join(problems)}") from problem


def _kill_kernels() -> None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()


def setup(app: Sphinx) -> None:
    """Run the chapters as soon as Sphinx knows which pages to read."""
    app.connect("env-before-read-docs", _run_chapters)
