"""The students' branch as a folder: what was released, for Colab, Binder, hubs and VS Code."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from autograder.homework_source.homework import HomeworkError
from autograder.releasing.students_branch import badges, edition_file
from autograder.releasing.wheel import wheel_name

_README = """# Homework

{table}

Each folder has a notebook, a `README.md` that says how to begin on your own machine, and what the
notebook needs of the course's library.

- **Binder, Codespaces** and a **JupyterHub** have the whole folder, and all that it needs.
- **Colab** and **Kaggle** open a notebook alone: its first cell installs the library.
- **VS Code:** *Git: Clone*, then *Reopen in Container*, or open one homework's folder as its
  `README.md` says.

Hand in the notebook, under its own name.
"""

_DEVCONTAINER = {
    "name": "Homework",
    "image": "mcr.microsoft.com/devcontainers/python:3.12-bookworm",
    "postCreateCommand": "pip install --user -r requirements.txt",
    "customizations": {"vscode": {"extensions": ["ms-python.python", "ms-toolsai.jupyter"]}},
}

_CPU = "--extra-index-url https://download.pytorch.org/whl/cpu"  # no graphics card is there


def write_students_folder(homeworks: Sequence[str], root: Path, folder: Path) -> None:
    """Lay out released homework, for ``.ci/publish-branch``.

    Raises:
        HomeworkError: One of them was not released, or the folder holds something.
    """
    if folder.exists() and any(folder.iterdir()):
        raise HomeworkError(f"{folder} is not empty: name a new folder")
    released = {homework: root / "dist" / homework.split("-")[0] for homework in homeworks}
    for homework, source in released.items():
        if not (source / f"{homework}.ipynb").is_file():
            raise HomeworkError(f"{homework} is not released: make release HW={source.name}")
    folder.mkdir(parents=True, exist_ok=True)
    pins: dict[str, None] = {}  # in the order in which they come
    for homework, source in released.items():
        shutil.copytree(source, folder / homework)
        wheel = root / "dist" / "editions" / wheel_name(homework)
        data = wheel.read_bytes()
        edition = folder / edition_file(wheel.name, hashlib.sha256(data).hexdigest())
        edition.parent.mkdir(parents=True)
        edition.write_bytes(data)
        pins |= dict.fromkeys((source / "requirements.txt").read_text("utf-8").splitlines())
    (folder / ".devcontainer").mkdir()
    for name, text in {
        "README.md": _README.format(table=_table(released, root)),
        "requirements.txt": "\n".join([_CPU, *pins]) + "\n",
        "runtime.txt": "python-3.12\n",  # what Binder takes
        ".devcontainer/devcontainer.json": json.dumps(_DEVCONTAINER, indent=2) + "\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")


def _table(released: dict[str, Path], root: Path) -> str:
    rows = [
        f"| [{homework}]({homework}/{homework}.ipynb) | {badges(homework, root)} |"
        for homework in released
    ]
    return "\n".join(["| homework | open it |", "|---|---|", *rows])
