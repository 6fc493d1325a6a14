"""Runs the homework's notebook and prints the results of its visible tests.

Usage: python visible_tests.py [NOTEBOOK]

These results are for the student only. The judge ignores them, and runs hidden tests too. On GitHub
the table is written into the run's summary.
"""

import html
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

SECONDS = 600  # of one cell


def tests_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the code cells that are worth points."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
    ]


def error_line(cell: nbformat.NotebookNode) -> str:
    """Return why a cell that was run failed, in one line; empty if it passed."""
    if cell.execution_count is None:
        return "did not run"
    for output in cell.outputs:
        if output.output_type == "error":
            lines = f"{output.evalue}".strip().splitlines() or [output.ename]
            return "not written yet" if output.ename == "NotImplementedError" else lines[0]
    return ""


def table(notebook: nbformat.NotebookNode) -> tuple[str, int]:
    """Return a Markdown table with a row per test, and the number of failed tests."""
    rows, lost = [], 0
    for cell in tests_of(notebook):
        title = cell.source.lstrip().partition("\n")[0].lstrip("# ")
        error = error_line(cell)
        lost += bool(error)
        words = [html.escape(text, quote=False).replace("|", "\\|") for text in (title, error)]
        points = cell.metadata["nbgrader"].get("points", 0)
        rows.append(f"| {'❌' if error else '✅'} | {words[0]} | {points:g} | {words[1]} |")
    head = [
        f"**{len(rows) - lost} of {len(rows)} visible tests pass.** Grading has hidden ones too.",
        "",
        "| | test | points | message |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n", lost


def main(names: list[str]) -> int:
    """Run the named notebook, or the only ``hw*.ipynb`` here, and print its table of tests.

    Return 0 if all tests passed, 1 if some failed, 2 if there is no notebook to run.
    """
    found = [Path(name) for name in names] or sorted(Path().glob("hw*.ipynb"))
    if len(found) != 1:
        print(f"Expected one notebook hw*.ipynb here, found {len(found)}.", file=sys.stderr)
        return 2
    try:
        notebook = nbformat.read(found[0], as_version=4)
    except (OSError, ValueError, AttributeError) as error:
        print(f"{found[0]} can't be read as a notebook: {error}", file=sys.stderr)
        return 2
    for cell in notebook.cells:
        if cell.cell_type == "code":  # remove saved outputs
            cell.outputs, cell.execution_count = [], None
    try:
        NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            allow_errors=True,
            resources={"metadata": {"path": str(found[0].parent)}},
        ).execute()
    except Exception as error:  # a dead kernel, or a timeout: the table shows the cells so far
        print(f"The run broke off: {type(error).__name__}: {error}", file=sys.stderr)
    text, lost = table(notebook)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text)
    print(text)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
