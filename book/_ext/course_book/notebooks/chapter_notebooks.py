"""Each chapter as a notebook to download, which runs with ``course_lib`` and Jupyter installed.

It lies beside the page's source, where the theme's download button links to.
"""

import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from docutils import nodes
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx

from course_book.notebooks.page_references import PageReferences
from course_book.notebooks.plain_code import imported_packages, plain_code
from course_book.notebooks.plain_markdown import CELL_BREAK, to_plain_markdown

PACKAGE = "seq2seq-to-bert"
INSTALLED = {"course_lib", "torch", "numpy", "matplotlib", "IPython", ""}
"""Packages that come with ``course_lib`` and Jupyter."""
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def chapter_notebook(chapter: Path, page: PageReferences, repository: str = "") -> NotebookNode:
    """Return a chapter as a notebook without outputs.

    Args:
        chapter: The chapter's source, MyST Markdown.
        page: The targets of the chapter's roles and directives.
        repository: Public address of the course, from which the first cells install it; if it is
            empty, they name the course's folder.
    """
    cells = []
    in_solution = False
    for cell in jupytext.read(chapter, fmt="md:myst").cells:
        if cell.cell_type == "markdown":
            for text in to_plain_markdown(cell.source, page).split(f"{CELL_BREAK}\n"):
                if text := text.removesuffix(CELL_BREAK).strip():
                    solution = text.startswith("##### Solution")
                    in_solution = solution or (in_solution and not text.startswith("#"))
                    cells.append(new_markdown_cell(text))
                    if solution:
                        cells[-1].metadata["heading_collapsed"] = True  # JupyterLab folds it
        else:
            cells += _code_cells(cell, page, folded=in_solution)
    notebook = new_notebook(cells=[*_installation(cells, repository), *cells])
    if references := page.references():
        listed = "\n".join(f"- {line}" for line in references)
        notebook.cells.append(new_markdown_cell(f"## Cited in this chapter\n\n{listed}"))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for number, cell in enumerate(notebook.cells):  # the same chapter gives the same file
        cell["id"] = f"{chapter.stem[:50]}-{number}"
    return notebook


def _code_cells(cell: NotebookNode, page: PageReferences, *, folded: bool) -> list[NotebookNode]:
    source = plain_code(cell.source)
    if not source:
        return []
    code = new_code_cell(source)
    if folded or FOLDED & set(cell.metadata.get("tags", [])):
        code.metadata["jupyter"] = {"source_hidden": True}
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    if not figure.get("caption"):
        return [code]
    caption = " ".join(to_plain_markdown(figure["caption"], page).split())
    number = page.role("numref", figure["name"]) if "name" in figure else "Figure"
    return [code, new_markdown_cell(f"**{number}.** {caption}")]


def _installation(cells: list[NotebookNode], repository: str) -> list[NotebookNode]:
    code = (cell.source for cell in cells if cell.cell_type == "code")
    imported = {name for source in code for name in imported_packages(source)}
    others = sorted(imported - INSTALLED - sys.stdlib_module_names)
    source = f'"{PACKAGE} @ git+{repository}"' if repository else "."
    command = " ".join(["pip install", source, "jupyter", *others])
    where = "" if repository else " in the course's folder"
    text = (
        f"*This notebook is a chapter of the course. To run it, install the course's library{where}"
        f":*\n\n```bash\n{command}\n```\n\n*Interactive figures are in the book alone; numbers in "
        "the text are those of the book, yours may differ in the last digits.*"
    )
    first = [new_markdown_cell(text)]
    if repository:  # on Colab nobody has installed it
        first.append(
            new_code_cell(
                "import importlib.util\n\nif importlib.util.find_spec('course_lib') is None:\n"
                f"    %pip install --quiet {' '.join([source, *others])}"
            )
        )
    return first


def _write(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if doctree is None or "kernelspec" not in app.env.metadata[pagename]:
        return
    chapter = Path(app.env.doc2path(pagename))
    if chapter.suffix != ".md":
        return
    repository = app.config.html_theme_options.get("repository_url", "")
    notebook = chapter_notebook(chapter, PageReferences(app.env, pagename), repository)
    file = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    context["ipynb_source"] = f"{pagename}.ipynb"  # for the theme's download button


def setup(app: Sphinx) -> None:
    """Have a notebook written for each page that has code cells."""
    app.connect("html-page-context", _write, priority=490)  # before the theme's buttons
