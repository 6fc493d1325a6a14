"""The staff's page with near-identical code side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.clean_text import one_line
from autograder.judging.notebook_file import MAX_FILE_BYTES, without_outputs
from autograder.judging.results import FlagKind, SubmissionResult
from autograder.reports.pages import render_page

_MOST = 4  # students side by side; of a larger group, the first ones


@dataclass(frozen=True, kw_only=True)
class _Cluster:
    """Students whose code is nearly the same, and the code of the first few of them.

    Attributes:
        students: All their ids.
        cells: For each cell its grade_id, and for each of the first students the cell's lines,
            each with whether all of these have it.
    """

    students: tuple[str, ...]
    cells: tuple[tuple[str, tuple[tuple[tuple[str, bool], ...], ...]], ...]


def render_similar(results: Sequence[SubmissionResult], submitted: Path) -> str:
    """Return the page of submissions flagged as similar; empty if there are none.

    ``submitted`` is the folder of the submitted notebooks.
    """
    groups = {
        (flag.students, flag.cells): result.homework
        for result in results
        for flag in result.flags
        if flag.kind is FlagKind.SIMILAR and flag.students
    }
    clusters = [_cluster(*alike, homework, submitted) for alike, homework in groups.items()]
    clusters.sort(key=lambda cluster: -len(cluster.students))
    if not clusters:
        return ""
    return render_page("similar.html", clusters=clusters, most=_MOST, homework=results[0].homework)


def _cluster(
    students: tuple[str, ...], cells: tuple[str, ...], homework: str, submitted: Path
) -> _Cluster:
    sources = [
        _sources(submitted / student / homework / f"{homework}.ipynb")
        for student in students[:_MOST]
    ]
    return _Cluster(
        students=tuple(one_line(student, 80) for student in students),
        cells=tuple((cell, _side_by_side([s.get(cell, "") for s in sources])) for cell in cells),
    )


def _side_by_side(sources: Sequence[str]) -> tuple[tuple[tuple[str, bool], ...], ...]:
    """Return each source's lines, paired with whether all sources have the line.

    Indentation is ignored.
    """
    shared = set.intersection(*({line.strip() for line in text.splitlines()} for text in sources))
    return tuple(
        tuple((line, bool(line.strip()) and line.strip() in shared) for line in text.splitlines())
        for text in sources
    )


def _sources(notebook: Path) -> Mapping[str, str]:
    """Return a notebook's code by grade_id; empty if the notebook is missing or unreadable."""
    import nbformat  # slow to import

    try:
        if notebook.is_symlink() or notebook.stat().st_size > MAX_FILE_BYTES:
            return {}
        text = without_outputs(notebook.read_bytes()).decode()
        cells = nbformat.reads(text, as_version=4).cells
    except (OSError, ValueError):
        return {}
    return {
        c.metadata.nbgrader.grade_id: c.source
        for c in cells
        if "grade_id" in c.metadata.get("nbgrader", {})
    }
