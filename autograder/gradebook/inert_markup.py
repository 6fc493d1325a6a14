"""Makes a student's Markdown harmless in nbgrader's pages.

formgrader renders notebooks with their HTML and scripts, in the browser of a teaching assistant who
is logged in to a server that runs code. Its renderers take quadratic time, in which the server
answers nobody else; therefore long text is cut and long code is not coloured.
"""

import re
from collections.abc import Collection

from nbformat import NotebookNode

from autograder.clean_text import clean_text
from autograder.gradebook.harmless_tex import HARMLESS

_MOST_TEXT = 20_000  # characters of a Markdown cell; the submitted file keeps all of them
_MOST_TEXTS = 100_000  # characters of all Markdown cells
# Sum of the squared lengths of the code cells: twice that of a homework.
_MOST_CODE = 10**9
_UNCOLOURED = {"name": "python", "pygments_lexer": "text"}
# WORD JOINER has no width and belongs to no markup: it breaks a tag without changing its look.
_BREAK = "\u2060"
_BROKEN = re.compile(
    r"<(?=[A-Za-z/!?])"  # the start of a tag, comment or declaration
    r"|\](?=[(\[:])"  # the middle of a link or picture
    r"|(?P<harmless>\\\\(?!\*?\s*\[))|\\\\"  # a line break; TeX takes a height after it
    r"|\\(?=(?P<command>[A-Za-z]+))"  # a TeX command; HARMLESS ones stay
    r"|(?:```|~~~)(?=[^\S\n]*[^\s`~])"  # a fenced block with a language
)
_KEPT_METADATA = ("nbgrader", "course", "deletable", "editable")


def inert_markup(text: str, limit: int = _MOST_TEXT) -> str:
    """Return the text, cut to ``limit``, with an invisible break in each tag and link."""
    return _BROKEN.sub(_part, clean_text(text, limit))


def _part(found: re.Match[str]) -> str:
    stays = found["harmless"] or found["command"] in HARMLESS
    return found[0] if stays else found[0] + _BREAK


def make_inert(notebook: NotebookNode, instructors: Collection[str]) -> None:
    """Remove from a notebook, in place, everything that a page could run or fetch.

    Pages show code as text, so code stays. A cell whose text is one of the ``instructors`` stays
    too; its metadata proves nothing, because the student may have written it.
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
