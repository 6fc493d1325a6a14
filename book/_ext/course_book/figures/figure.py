"""The base class of interactive figures: the data of a figure, its table and its scripts."""

from abc import abstractmethod
from collections.abc import Sequence
from html import escape
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

Matrix = list[list[float]]


class Record(BaseModel):
    """A JSON object with checked fields.

    A missing or unknown field, a wrong type, and NaN or infinity raise ``ValueError``.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Figure(Record):
    """The data of a figure, as a code cell shows it, and the files that draw it.

    A folder ``NAME`` with a subclass in ``figure.py``, the script ``NAME.js`` and the style
    ``NAME.css`` adds a figure to the book. Scripts are named ``folder/file.js``.

    Attributes:
        scripts: Scripts that run before ``NAME.js``, in this order.
        deferred: Scripts that ``NAME.js`` loads when the reader starts the figure.
        styles: Names of other figures whose styles the figure uses too.
        wide: Whether the figure extends into the right margin.
        note: A sentence below the figure about its numbers; may be empty.
    """

    scripts: ClassVar[tuple[str, ...]] = ()
    deferred: ClassVar[tuple[str, ...]] = ()
    styles: ClassVar[tuple[str, ...]] = ()
    wide: ClassVar[bool] = False

    note: str

    @abstractmethod
    def table(self) -> str:
        """Return the data as an HTML table, for readers without scripts."""


def html_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table that scrolls sideways, from plain texts.

    ``heads`` are the headings of the columns; the first cell of each row is the row's heading.
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
