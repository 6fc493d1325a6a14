"""Self-contained HTML pages: the Jinja environment that feedback and report share.

All values are escaped. A page holds its own style and script, and a policy that forbids the browser
to load or run anything else.
"""

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from autograder.clean_text import clean_text, one_line
from autograder.judging import second_try
from autograder.reports.status_words import STATUS_WORDS, format_points, format_seconds

_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)
_TEMPLATES = Path(__file__).parent / "templates"


def render_page(template: str, *, script: str = "", **values: Any) -> str:
    """Return the HTML page of a template; ``script`` names the JavaScript file to include."""
    source = _read(script) if script else ""
    policy = _POLICY
    if source:
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    return (
        _environment()
        .get_template(template)
        .render(
            policy=policy,
            style=Markup(_read("style.css")),  # noqa: S704 -- our own file
            script=Markup(source),  # noqa: S704 -- our own file
            words=STATUS_WORDS,
            **values,
        )
    )


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        clean=clean_text,
        line=one_line,
        points=format_points,
        seconds=format_seconds,
        second_try=second_try.explain_second_try,
    )
    return environment


@functools.cache
def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
