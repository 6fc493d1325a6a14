"""Tables in the place of interactive figures, for readers without scripts."""

from collections.abc import Sequence
from html import escape


def html_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that scrolls inside itself where it is too wide.

    Args:
        caption: What it shows.
        heads: The heading of each column.
        rows: The cells of each row; the first one is the row's heading.

    Returns:
        HTML; all texts are escaped.
    """
    head = "".join(
        f'<th scope="col">{escape(text)}</th>' if text else "<td></td>" for text in heads
    )
    body = "\n".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="course-scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table class="course-weights"><caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )
