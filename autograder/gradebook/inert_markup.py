"""Makes what a student wrote harmless in pages that are not ours.

formgrader shows notebooks as they are, HTML and scripts included, in the browser of a teaching
assistant who is logged in to a server that runs code. And what reads text and code there takes four
times as long for twice as much, in which nobody else is answered.
"""

import re
from collections.abc import Collection

from nbformat import NotebookNode

from autograder.clean_text import clean_text
from autograder.gradebook.harmless_tex import HARMLESS

_MOST_TEXT = 20_000  # characters of a cell that is no code; what is handed in holds all of it
_MOST_TEXTS = 100_000  # of all of them
# The squares of the lengths of the code cells, together: twice what homework has.
_MOST_CODE = 10**9
_UNCOLOURED = {"name": "python", "pygments_lexer": "text"}
# Has no width and is no part of any markup: what it parts looks the same, and does nothing.
_BREAK = "\u2060"
_PARTED = re.compile(
    r"<(?=[A-Za-z/!?])"  # the start of a tag, comment or declaration
    r"|\](?=[(\[:])"  # of a link or picture; converters can be fooled about where one leads
    r"|(?P<harmless>\\\\(?!\*?\s*\[))|\\\\"  # a line's end; it may say how far up the next one is
    r"|\\(?=(?P<command>[A-Za-z]+))"  # in formulas: but for what is harmless
    r"|(?:```|~~~)(?=[^\S\n]*[^\s`~])"  # of code: its language
)
_KEPT_METADATA = ("nbgrader", "course", "deletable", "editable")


def inert_markup(text: str, limit: int = _MOST_TEXT) -> str:
    """Take from Markdown, HTML and formulas what they can do; what they say stays.

    Args:
        text: What a student wrote.
        limit: Most characters to keep, as in ``clean_text``.

    Returns:
        Text that reads the same, in which no tag, picture or link begins.
    """
    return _PARTED.sub(_part, clean_text(text, limit))


def _part(found: re.Match[str]) -> str:
    stays = found["harmless"] or found["command"] in HARMLESS
    return found[0] if stays else found[0] + _BREAK


def make_inert(notebook: NotebookNode, instructors: Collection[str]) -> None:
    """Leave in a notebook nothing that a page made from it could run or fetch.

    Sources of code are shown as text by every page, and stay as they are; so does what cells
    printed, which is not taken from a submission. Of so much code that it would take long, none is
    shown in colours.

    Args:
        notebook: A student's notebook, changed in place.
        instructors: Texts of the instructor's, which stay as they are. A cell is known by its text:
            what else it says of itself, the student may have written.
    """
    notebook.metadata = NotebookNode(
        {"kernelspec": notebook.metadata["kernelspec"]} if "kernelspec" in notebook.metadata else {}
    )
    code = [len(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    if sum(length**2 for length in code) > _MOST_CODE:
        notebook.metadata["language_info"] = NotebookNode(_UNCOLOURED)
    left = _MOST_TEXTS
    for cell in notebook.cells:
        known = {key: cell.metadata[key] for key in _KEPT_METADATA if key in cell.metadata}
        cell.metadata = NotebookNode(known)
        cell.pop("attachments", None)
        if cell.cell_type != "code" and cell.source not in instructors:
            limit = max(min(left, _MOST_TEXT), 1)
            left -= len(cell.source)
            cell.source = inert_markup(cell.source, limit)
