"""When a page was last changed, from the history of its source; without git, no date."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config


def last_changes(root: Path) -> dict[str, str]:
    """Return the day of the last commit of each file.

    Args:
        root: The uppermost folder of the project.

    Returns:
        Days such as ``2026-03-01`` by path from the root. Empty where there is no git, no history,
        or only a part of it: then the newest commit would seem to have changed every file.
    """
    git = shutil.which("git")
    if git is None:
        return {}

    def ask(*arguments: str) -> str:
        command = [git, "-C", str(root), *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return answer.stdout if answer.returncode == 0 else ""

    if ask("rev-parse", "--is-shallow-repository").strip() != "false":
        return {}
    days: dict[str, str] = {}
    day = ""
    for line in ask("log", "--format=%x00%cs", "--name-only", "--relative", "--", ".").splitlines():
        if line.startswith("\0"):
            day = line[1:]
        elif line:
            days.setdefault(line, day)
    return days


def _find_days(app: Sphinx, config: Config) -> None:
    config.course_last_changes = last_changes(Path(app.srcdir))


def _add_day(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if doctree is None:
        return
    file = Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
    context["course_last_change"] = app.config.course_last_changes.get(file)


def setup(app: Sphinx) -> None:
    """Give each page the day of its last change.

    Args:
        app: The Sphinx application.
    """
    app.add_config_value("course_last_changes", {}, "", types=[dict])
    app.connect("config-inited", _find_days)
    app.connect("html-page-context", _add_day)
