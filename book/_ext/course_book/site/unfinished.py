"""A build that failed, or never ended, leaves nothing that counts as built.

Sphinx keeps its environment even then, and its next run neither repeats a warning about a page that
it has read nor looks for words in a page that it has written. So a mark lies beside the environment
from the start of a build until it ends without a warning; where the mark still lies, the next build
starts afresh. Chapters' outputs are kept: they are whole as soon as they are there.
"""

from pathlib import Path

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config


def _mark(app: Sphinx) -> Path:
    return Path(app.doctreedir) / "unfinished"


def _start(app: Sphinx, config: Config) -> None:
    mark = _mark(app)
    if mark.exists():
        mark.with_name(ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _close_front_door(app: Sphinx) -> None:
    # By this file make knows a built book. sphinx-external-toc writes it anew when all pages are
    # written, and make deletes it where a warning has failed the build.
    if app.builder.format == "html":
        (Path(app.outdir) / "index.html").unlink(missing_ok=True)


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and not app._warncount:
        _mark(app).unlink()


def setup(app: Sphinx) -> None:
    """Mark a build as unfinished until it is finished.

    Args:
        app: The Sphinx application.
    """
    app.connect("config-inited", _start)
    app.connect("builder-inited", _close_front_door)
    app.connect("build-finished", _finish, priority=900)  # what comes last may warn, too
