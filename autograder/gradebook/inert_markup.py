"""Makes what a student wrote harmless in pages that are not ours.

formgrader shows notebooks as they are, HTML and scripts included, in the browser of a teaching
assistant who is logged in to a server that runs code.
"""

import re
from collections.abc import Collection

from nbformat import NotebookNode

from autograder.clean_text import clean_text

_MAX_CHARACTERS = 100_000
# What colours code and what reads Markdown may take time with the square of these.
_MAX_CODE = 10_000  # characters of a cell
_MAX_BEGUN = 100  # environments of formulas in a text
# Has no width and is no part of any markup: what it parts looks the same, and does nothing.
_BREAK = "\u2060"
_PARTED = re.compile(
    r"<(?=[A-Za-z/!?])"  # the start of a tag, comment or declaration
    r"|\](?=[(\[:])"  # of a link or picture; converters can be fooled about where one leads
    r"|\\(?=(?:href|url|class|cssId|style|data|html|require|includegraphics))"  # in formulas
)
_KEPT_METADATA = ("nbgrader", "course", "deletable", "editable")


def inert_markup(text: str) -> str:
    """Take from Markdown, HTML and formulas what they can do; what they say stays.

    Args:
        text: What a student wrote.

    Returns:
        Text that reads the same, in which no tag, picture or link begins.
    """
    clean = clean_text(text, _MAX_CHARACTERS)
    if clean.count("\\begin") > _MAX_BEGUN:
        clean = clean.replace("\\begin", f"\\{_BREAK}begin")
    return _PARTED.sub(lambda found: found[0] + _BREAK, clean)


def make_inert(notebook: NotebookNode, instructors: Collection[str]) -> None:
    """Leave in a notebook nothing that a page made from it could run or fetch.

    Sources of code are shown as text by every page, and stay as they are, unless they are so long
    that nobody reads them; so does what cells printed, which is not taken from a submission.

    Args:
        notebook: A student's notebook, changed in place.
        instructors: Texts of the instructor's, which stay as they are. A cell is known by its text:
            what else it says of itself, the student may have written.
    """
    notebook.metadata = NotebookNode(
        {"kernelspec": notebook.metadata["kernelspec"]} if "kernelspec" in notebook.metadata else {}
    )
    for cell in notebook.cells:
        known = {key: cell.metadata[key] for key in _KEPT_METADATA if key in cell.metadata}
        cell.metadata = NotebookNode(known)
        cell.pop("attachments", None)
        if cell.source in instructors:
            continue
        if cell.cell_type != "code":
            cell.source = inert_markup(cell.source)
        elif (more := len(cell.source) - _MAX_CODE) > 0:
            cell.source = f"{cell.source[:_MAX_CODE]}\n# {more:,} characters more were handed in"
