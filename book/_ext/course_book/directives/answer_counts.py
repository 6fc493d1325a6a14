"""Which questions each page asks, told to all pages: ``js/progress.js`` counts the answers."""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_QUESTIONS = "course_questions"
_SCRIPT = "js/questions.js"


def note_question(env: BuildEnvironment, label: str, version: str) -> None:
    """Count a question to the page being read.

    Args:
        env: Of the book.
        label: Of the question.
        version: Changes with its text.
    """
    data: dict[str, Any] = env.metadata[env.docname]
    data.setdefault(_QUESTIONS, {})[label] = version


def _write(app: Sphinx, env: BuildEnvironment) -> None:
    if app.builder.format != "html":
        return
    asked = {
        page: questions
        for page, data in sorted(env.metadata.items())
        if (questions := data.get(_QUESTIONS))
    }
    script = Path(app.outdir) / "_static" / _SCRIPT
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"window.courseQuestions = {json.dumps(asked)};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Write the script before any page, which names its digest.

    Args:
        app: The Sphinx application.
    """
    app.add_js_file(_SCRIPT, loading_method="defer")
    app.connect("env-updated", _write)
