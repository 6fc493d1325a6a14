"""Rebuilding of pages: after a change of the extension or the styles, and after a failed build.

Sphinx rebuilds a page when its own source has changed. Two digests make it rebuild all pages when
the extension, a style, a script or a template has changed. After a build with warnings Sphinx
would neither repeat them nor finish the search index, so the next build then starts afresh.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config


def digest_of_files(files: Iterable[Path], root: Path, extra: Iterable[str] = ()) -> str:
    """Return 16 hexadecimal digits that depend on files' names and contents and on other strings.

    Names are relative to ``root``.
    """
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    for text in extra:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:16]


def _set_digests(app: Sphinx, config: Config) -> None:
    book = Path(__file__).parents[3]
    config.course_extension_digest = digest_of_files((book / "_ext").rglob("*.py"), book)
    looks = [file for name in ("_static", "_templates") for file in (book / name).rglob("*")]
    looks += [*(book / "_ext").rglob("*.js"), *(book / "_ext").rglob("*.css")]
    looks += [book / "glossary.md", book / "references.bib"]  # other pages show parts of these
    config.course_looks_digest = digest_of_files(filter(Path.is_file, looks), book)


def _mark(app: Sphinx) -> Path:
    return Path(app.doctreedir) / "unfinished"


def _begin(app: Sphinx, config: Config) -> None:
    mark = _mark(app)
    if mark.exists():
        mark.with_name(ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _remove_index(app: Sphinx) -> None:
    # make takes index.html for a built book; sphinx-external-toc writes it after all pages.
    if app.builder.format == "html":
        (Path(app.outdir) / "index.html").unlink(missing_ok=True)


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and not app._warncount:
        _mark(app).unlink()


def setup(app: Sphinx) -> None:
    """Have pages rebuilt after a change of the extension or the styles, or a failed build."""
    app.add_config_value("course_extension_digest", "", "env", types=[str])  # reads all pages again
    app.add_config_value("course_looks_digest", "", "html", types=[str])  # writes them again
    app.connect("config-inited", _set_digests)
    app.connect("config-inited", _begin)
    app.connect("builder-inited", _remove_index)
    app.connect("build-finished", _finish, priority=950)  # after handlers that may warn
