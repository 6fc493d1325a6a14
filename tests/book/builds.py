"""Builds of small books, each in a process forked from one that has imported what a build needs.

To import Sphinx, MyST-NB and our extension takes as long as a build of two pages. The process that
did it starts no thread, and each build has standard streams, a folder and a session of its own.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["sphinx.cmd.build", "jupyter_book.cli.main", "myst_nb.sphinx_", "course_book"]
)


class Build:
    """A build that has begun.

    Args:
        program: ``sphinx`` or ``jupyter-book``.
        arguments: Those of its command line.
        folder: Where it runs.
    """

    def __init__(self, program: str, *arguments: str, folder: Path) -> None:
        handle, log = tempfile.mkstemp(prefix="build-", suffix=".log")
        os.close(handle)
        self._log = Path(log)
        run = _sphinx if program == "sphinx" else _jupyter_book
        self._process = _FORKS.Process(target=_run, args=(run, arguments, folder, self._log))
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process, which leads a group of its own."""
        assert self._process.pid is not None
        return self._process.pid

    def wait(self) -> tuple[int, str]:
        """Wait for its end.

        Returns:
            The exit status, negative if a signal ended it, and all that it printed.
        """
        self._process.join(timeout=1800)
        status = self._process.exitcode
        assert status is not None, "the build does not end"
        with contextlib.suppress(ProcessLookupError):  # KaTeX's server, of a build that failed
            os.killpg(self.pid, signal.SIGKILL)
        log = self._log.read_text("utf-8", errors="replace")
        self._log.unlink()
        return status, log


def build(program: str, *arguments: str, folder: Path) -> tuple[int, str]:
    """Run a build to its end.

    Args:
        program: ``sphinx`` or ``jupyter-book``.
        arguments: Those of its command line.
        folder: Where it runs.

    Returns:
        The exit status, negative if a signal ended it, and all that it printed.
    """
    return Build(program, *arguments, folder=folder).wait()


def _run(
    run: Callable[[list[str]], int], arguments: tuple[str, ...], folder: Path, log: Path
) -> None:
    os.setsid()  # a group of processes that can be killed as one
    with log.open("wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.chdir(folder)
    sys.exit(run(list(arguments)))


def _sphinx(arguments: list[str]) -> int:
    from sphinx.cmd.build import main

    return main(arguments)


def _jupyter_book(arguments: list[str]) -> int:
    from jupyter_book.cli.main import main

    main.main(args=arguments, prog_name="jupyter-book", standalone_mode=True)
    return 0
