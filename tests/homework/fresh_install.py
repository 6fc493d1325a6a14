"""Tries a release as a student would: ``python -m tests.homework.fresh_install hw03``.

Makes a new environment from the released requirements alone, fills in the solutions, runs the
notebook top to bottom in the released folder, and says how long each took. Run ``make release``
first. pip's own settings, such as PIP_EXTRA_INDEX_URL for a smaller PyTorch, hold here too.
"""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import nbformat

from autograder.homework_source.homework import HomeworkError, resolve_homework

from .submissions import RUN_NOTEBOOK, solve_notebook
from .tables import ROOT, load_homework, load_table


def main(arguments: list[str]) -> int:
    """Install and run the release of a homework, and print the times; return the exit status."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        homework_id = resolve_homework(arguments[0], ROOT)
    except HomeworkError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        with zipfile.ZipFile(ROOT / "dist" / f"{homework_id.split('-')[0]}.zip") as archive:
            archive.extractall(place)
        folder = Path(place) / homework_id
        path = folder / f"{homework_id}.ipynb"
        solve_notebook(path, load_homework(homework_id))
        # Nothing of this process's environment may help.
        python = folder / ".venv" / "bin" / "python"
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        steps = (
            ("install", [sys.executable, "-m", "venv", ".venv"]),
            ("install", [str(python), "-m", "pip", "install", "-q", "-r", "requirements.txt"]),
            ("run", [str(python), "-c", RUN_NOTEBOOK, path.name]),
        )
        seconds = dict.fromkeys(("install", "run"), 0.0)
        for name, command in steps:
            started = time.monotonic()
            result = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True)
            seconds[name] += time.monotonic() - started
            if result.returncode:
                print(f"{name} failed:\n{result.stdout}{result.stderr}", file=sys.stderr)
                return 1
        outputs = nbformat.read(path, as_version=4).cells[-1].outputs
    printed = "".join(output.get("text", "") for output in outputs)
    if load_table(homework_id).delight not in printed:
        print(f"the last cell printed something else:\n{printed}", file=sys.stderr)
        return 1
    print(f"{homework_id}: installed in {seconds['install']:.0f} s, ran in {seconds['run']:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
