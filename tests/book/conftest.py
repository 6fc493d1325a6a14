"""Fixtures of the book: the built site, a server for it, small and tiny books."""

import fcntl
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from bs4 import BeautifulSoup

from tests.book.small_book import BASE, REPOSITORY, build_small_book

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "book" / "_build" / "html"
BUILD = [
    str(Path(sys.executable).with_name("jupyter-book")),
    *("build", ".", "--path-output", "build/book", "-W", "-n", "--keep-going"),
]


def is_up_to_date() -> bool:
    """Return whether the built book is newer than all its sources, as make sees it."""
    index = (SITE / "index.html").relative_to(ROOT)
    command = ["make", "--question", f"VENV={Path(sys.prefix)}", str(index)]
    inner = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(command, cwd=ROOT, env=inner, capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built book; the first test process builds the book if it is out of date."""
    if is_up_to_date():
        return SITE
    (ROOT / "build").mkdir(exist_ok=True)
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(uuid.uuid4()))
    with (ROOT / "build" / "book.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if lock.read() != run:
            built = subprocess.run(
                BUILD, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                timeout=7200,
            )  # fmt: skip
            assert built.returncode == 0, f"the book does not build:\n{built.stderr[-5000:]}"
            lock.truncate(0)
            lock.write(run)
    return SITE


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder over http on this machine during the block, and yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of a server with the book."""
    with serving(site) as address:
        yield address


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small book's pages, built for an address."""
    return build_small_book(
        tmp_path_factory.mktemp("published") / "book",
        base=BASE,
        repository=REPOSITORY,
        colab_url="https://colab.research.google.com",
        jupyterhub_url="https://hub.example.org/",
    )


@pytest.fixture(scope="session")
def small_served(published: Path) -> Iterator[str]:
    """The address of a server with the small book."""
    with serving(published) as address:
        yield address


class Built(NamedTuple):
    """A built tiny book: its index page, the warnings of the build, and the folder of all pages."""

    html: str
    warnings: str
    folder: Path

    @property
    def page(self) -> BeautifulSoup:
        """The parsed index page."""
        return BeautifulSoup(self.html, "lxml")


def build_tiny_book(
    folder: Path, text: str, left_out: Sequence[str] = (), *, warns: bool = False, **others: str
) -> Built:
    """Build a book with this extension and Sphinx's own theme.

    Args:
        folder: The folder for the sources, in ``source``, and for the pages.
        text: The Markdown of the index page.
        left_out: Patterns of files that are no pages.
        warns: Whether the build may have warnings.
        others: The Markdown of further pages, by name.
    """
    from sphinx.application import Sphinx
    from sphinx.util.console import strip_colors
    from sphinx.util.docutils import docutils_namespace

    source, out = folder / "source", folder / "out"
    (source / "book").mkdir(parents=True)
    (source / "course_lib").symlink_to(ROOT / "course_lib")
    for name, page in {"index": text, **others}.items():
        (source / f"{name}.md").write_text(page)
    options = {
        "extensions": ["myst_nb", "sphinxcontrib.katex", "course_book"],
        "exclude_patterns": ["course_lib", *left_out],
        "html_math_renderer": "katex",
        "katex_prerender": True,
        "myst_enable_extensions": ["dollarmath"],
        "nb_execution_mode": "off",
        "root_doc": "index",
    }
    warnings = StringIO()
    with pytest.MonkeyPatch.context() as patch, docutils_namespace():
        patch.setattr(sys, "path", list(sys.path))
        patch.setenv("PYTHONPATH", "")
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
        folders = (source, None, out / "html", out / "doctrees", "html")
        Sphinx(*folders, confoverrides=options, status=StringIO(), warning=warnings).build()
    html = (out / "html" / "index.html").read_text()
    assert warns or not warnings.getvalue()
    return Built(html, strip_colors(warnings.getvalue()), out / "html")


@pytest.fixture
def build_page(tmp_path: Path) -> Callable[..., Built]:
    """The function ``build_tiny_book`` for the temporary folder of the test."""
    return partial(build_tiny_book, tmp_path)
