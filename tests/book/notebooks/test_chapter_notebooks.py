"""The notebooks to download: one for every chapter, plain, and running on their own."""

import sys
from pathlib import Path

import nbformat
import pytest
from course_book.notebooks.plain_code import imported_packages, plain_code
from course_book.notebooks.plain_markdown import to_plain_markdown
from nbclient import NotebookClient

from tests.book.contents import in_book, pages_with_code

ROOT = Path(__file__).parents[3]
# python -m tests.book.run_notebooks runs them all
AS_IT_IS = pytest.mark.depends_on(
    "build/book/_build/html/_sources/book/bleu.ipynb", "benchmarks/runs", "course_lib"
)
QUICK = (
    pytest.param("bleu", marks=[AS_IT_IS, in_book("bleu")]),
    pytest.param("cost-of-attention", marks=[pytest.mark.proof, in_book("cost-of-attention")]),
)


class NoReferences:
    """Stands for ``PageReferences`` of a page without targets: every role stays as written."""

    def role(self, name, content):
        return f"<{name} {content}>"

    def fold_summary(self, options):
        return "You write it yourself" if options.get("pyobject") == "graded" else ""

    def included(self, file, options):
        return f"# {file}\n"

    def equation(self, label):
        return "7"


def plain(text):
    """Return MyST as plain Markdown."""
    return to_plain_markdown(text, NoReferences())


def run_notebook(file, timeout=3600):
    """Run a notebook's file from top to bottom in a Jupyter kernel; return it with its outputs."""
    notebook = nbformat.read(file, as_version=4)
    NotebookClient(notebook, timeout=timeout, resources={"metadata": {"path": str(ROOT)}}).execute()
    return notebook


@pytest.mark.parametrize("chapter", pages_with_code())
def test_every_chapter_is_a_plain_notebook(site, chapter):
    notebook = nbformat.read(site / "_sources" / "book" / f"{chapter}.ipynb", as_version=4)
    nbformat.validate(notebook)
    first, *cells = notebook.cells
    assert "pip install . jupyter" in first.source
    named = set(first.source.split("```")[1].split()) | sys.stdlib_module_names
    named |= {"course_lib", "torch", "numpy", "matplotlib", "IPython"}
    for cell in cells:
        if cell.cell_type == "code":
            assert imported_packages(cell.source) <= named
            assert "glue(" not in cell.source
            assert cell.outputs == []
        else:
            prose = cell.source.split("```")[::2]
            assert not [sign for sign in (":::", "){", "]{", "}`") if sign in "".join(prose)]
    page = (site / "book" / f"{chapter}.html").read_text()
    assert f'href="../_sources/book/{chapter}.ipynb"' in page
    assert "glue(" not in page, "cells that glue values are removed"


@pytest.mark.parametrize("chapter", QUICK)
def test_a_notebook_runs_from_top_to_bottom(site, chapter):
    notebook = run_notebook(site / "_sources" / "book" / f"{chapter}.ipynb")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert len(outputs) > 5
    assert not [output for output in outputs if output.output_type == "error"]


def test_a_question_keeps_its_answers_and_folds_their_reasons():
    text = plain(
        "Before.\n\n```{quiz}\n:label: quiz-a\n\nHow *much*?\n\n- [ ] one\n      > No.\n"
        "- [x] two\n      > Yes,\n      > two.\n```\n\nAfter.\n"
    )
    assert text == (
        "Before.\n\n> **Check yourself**\n>\n> How *much*?\n>\n> - **a.** two\n> - **b.** one\n\n"
        "<details><summary>Right or wrong?</summary>\n\n**a.** Right. Yes,\ntwo.\n\n"
        "**b.** Wrong. No.\n\n</details>\n\nAfter."
    )


def test_a_prediction_folds_its_outcome():
    text = plain("```{predict}\n:label: p\n\nHow?\n\n- [ ] so\n- [x] thus\n\nIt is.\n\nSee?\n```\n")
    assert text.endswith(
        "<details><summary>What happens</summary>\n\n**b.** It is.\n\nSee?\n\n</details>"
    )


@pytest.mark.parametrize(
    ("myst", "markdown"),
    [
        ("(a-label)=\n# Title\n\n% a remark\nText.", "# Title\n\nText."),
        (r"$\query{q}\cdot\key k\T$", r"$k^{\top}$".replace("k", r"{q}\cdot k")),
        (r"`\query{q}` and `{x}`", r"`\query{q}` and `{x}`"),
        ("a [key]{.course-key} and [a link](x.html)", "a key and [a link](x.html)"),
        ("see {ref}`the\nplace <label>`.", "see <ref the\nplace <label>>."),
        ("```{math}\n:label: eq\n\nx^2 .\n```", "$$\nx^2 . \\tag{7}\n$$"),
        ("```{literalinclude} ../a.py\n:language: python\n```", "```python\n# ../a.py\n```"),
        (
            "```{literalinclude} ../a.py\n:pyobject: graded\n```",
            "<details><summary>You write it yourself</summary>\n\n```\n# ../a.py\n```\n"
            "\n</details>",
        ),
        ("```console\n$ make {x}`y`\n```", "```console\n$ make {x}`y`\n```"),
        (":::{note}\nMind $\\R$.\n:::", "> **Note**\n>\n> Mind $\\mathbb{R}$."),
        ("````{note}\n```{unknown}\nText.\n```\n````", "> **Note**\n>\n> Text."),
        ("```{exercise-start} A *b*\n:label: e\n```\nDo.\n```{exercise-end}\n```",
         "+++\n#### Exercise: A *b*\n\nDo.\n\n+++"),
    ],
)  # fmt: skip
def test_myst_becomes_markdown(myst, markdown):
    assert plain(myst) == markdown


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("from myst_nb import glue\nimport torch", "import torch"),
        ('x = 1\nglue("x", x, display=False)', "x = 1"),
        ('for x in y:\n    glue(x, x)\nglue(\n    "a",\n    1,\n)', ""),
        ('for x in y:\n    z(x)\n    glue(x, x)', "for x in y:\n    z(x)"),
        ('data = {}\nHTML(f\'<script type="application/json">{data}</script>\')', "data = {}"),
        ("HTML('<b>shown</b>')", "HTML('<b>shown</b>')"),
        ("%timeit glue", "%timeit glue"),
        ("# only a remark", ""),
    ],
)  # fmt: skip
def test_code_loses_statements_for_the_book_alone(code, kept):
    assert plain_code(code) == kept
