"""Text that would do something where the staff or a terminal shows it.

Names of folders, outputs and CSV files have tests of their own: ``test_feedback.py``,
``test_report.py``, ``test_grades.py``, ``test_cli.py``.
"""

# ruff: noqa: E501 -- one line an attack

from .attack import Attack, at_padding, attack

_MARKUP = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</pre></td></table><h1>Full marks</h1>",
    "{{ seed }}{% raw %}", "=cmd|' /C calc'!A0", "javascript:alert(1)", "\\x1b]0;owned\\x07\\x1b[2J",
    "\\u202e\\u2066\\ud800\\0", "&lt;b&gt;", "[bold red]:boom:[/]", "<!--", "]]>", "$$\\\\href{x}{y}$$",
)  # fmt: skip


def _say(number: int, text: str) -> Attack:
    edits = at_padding(
        f"""
kind = type("Kind{number}", (ValueError,), {{}})
kind.__name__ = {text!r}.encode().decode("unicode_escape", "replace")
raise kind({text!r}.encode().decode("unicode_escape", "replace"))  # {text}
"""
    )
    return attack(f"says-{number}", f"an error that says {text}", edits=edits)


ATTACKS: tuple[Attack, ...] = tuple(_say(number, text) for number, text in enumerate(_MARKUP))
