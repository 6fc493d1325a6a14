"""Builds of small books, forked from a process that has imported Sphinx and the extension.

The imports take as long as a build of two pages. Each build leads a process group of its own.
"""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["sphinx.cmd.build", "jupyter_book.cli.main", "myst_nb.sphinx_", "course_book"]
)
_PROGRAMS = {"sphinx": "sphinx.cmd.build", "jupyter-book": "jupyter_book.cli.main"}


class Build:
    """A running build.

    Args:
        program: ``sphinx`` or ``jupyter-book``.
        arguments: The arguments of its command line.
        folder: The working directory.
    """

    def __init__(self, program: str, *arguments: str, folder: Path) -> None:
        handle, log = tempfile.mkstemp(prefix="build-", suffix=".log")
        os.close(handle)
        self._log = Path(log)
        self._process = _FORKS.Process(target=_run, args=(program, arguments, folder, self._log))
        self._process.start()

    @property
    def pid(self) -> int:
        """The id of the build's process, and of the group of all its processes."""
        assert self._process.pid is not None
        return self._process.pid

    def wait(self) -> tuple[int, str]:
        """Return the exit status, negative for a signal, and the output, once the build ends."""
        self._process.join(timeout=1800)
        status = self._process.exitcode
        assert status is not None, "the build does not end"
        with contextlib.suppress(ProcessLookupError):  # KaTeX's server, after a failed build
            os.killpg(self.pid, signal.SIGKILL)
        log = self._log.read_text("utf-8", errors="replace")
        self._log.unlink()
        return status, log


def start_sphinx(*arguments: str, folder: Path, **options: object) -> Build:
    """Start Sphinx with this extension in a folder without ``conf.py``.

    ``options`` are options of the configuration.
    """
    extensions = "myst_nb,sphinxcontrib.katex,course_book"
    given = {"extensions": extensions, "html_math_renderer": "katex", "katex_prerender": 1}
    settings = (given | options).items()
    flags = [part for name, value in settings for part in ("-D", f"{name}={value}")]
    return Build("sphinx", "-C", *flags, *arguments, folder=folder)


def _run(program: str, arguments: tuple[str, ...], folder: Path, log: Path) -> None:
    os.setsid()  # a group of processes that can be killed together
    with log.open("wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.chdir(folder)
    main = importlib.import_module(_PROGRAMS[program]).main
    if program == "jupyter-book":
        main.main(args=arguments, prog_name=program, standalone_mode=True)
    else:
        sys.exit(main(list(arguments)))
