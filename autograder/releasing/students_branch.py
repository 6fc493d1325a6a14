"""The branch ``students`` in which students find the released folders on the web.

A workflow publishes it. Its repository is the course's own, ``repository: url`` in ``_config.yml``,
or, where that one is private, ``Students`` under ``[project.urls]`` in ``pyproject.toml``. Without
either, notebooks have no links to open them elsewhere.
"""

import base64
import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from autograder.homework_source.book_links import project_address
from autograder.homework_source.homework import HomeworkError
from autograder.releasing.student_edition import PACKAGE

BRANCH = "students"

_BADGES = {
    "Colab": "https://colab.research.google.com/assets/colab-badge.svg",
    "Kaggle": "https://kaggle.com/static/images/open-in-kaggle.svg",
    "Binder": "https://mybinder.org/badge_logo.svg",
}
_FOLDERS = {"jupyterlab": "lab/tree", "classic": "tree"}
_README = """# Homework

{table}

Each folder has a notebook, a `README.md` that says how to begin on your own machine, and the parts
of the course's library that the notebook uses.

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

_CPU = "--extra-index-url https://download.pytorch.org/whl/cpu"  # the hosts have no GPU
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date of the zip format
_WHEEL = "Wheel-Version: 1.0\nGenerator: autograder\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def students_repository(root: Path) -> str:
    """Return the address of the repository with the students' branch; empty if there is none."""
    course = _book_settings(root).get("repository") or {}
    address = project_address("Students", root) or str(course.get("url") or "")
    address = address.rstrip("/").removesuffix(".git")
    if address and not address.startswith("https://"):
        raise HomeworkError(
            "the repository for students must have an address that begins with https://, got: "
            f"{address} ([project.urls] Students in pyproject.toml, or repository: url in "
            "_config.yml)"
        )
    return address


def edition_file(wheel: str, sha256: str) -> str:
    """Return a wheel's path in the branch; ``wheel`` is its file name, ``sha256`` its checksum.

    Its folder is named by the checksum and kept, so that older notebooks find their wheel.
    """
    return f"editions/{sha256[:12]}/{wheel}"


def edition_address(repository: str, file: str) -> str:
    """Return the address of a file of the branch, for a repository on GitHub or else GitLab."""
    place = urlsplit(repository)
    if place.netloc == "github.com":
        return f"https://raw.githubusercontent.com{place.path}/{BRANCH}/{file}"
    return f"{repository}/-/raw/{BRANCH}/{file}"


def doors(homework_id: str, root: Path) -> dict[str, str]:
    """Return the addresses that open a homework's notebook, by service, such as ``Colab``.

    It is empty if the course names no address of its repository.
    """
    repository = students_repository(root)
    place = urlsplit(repository)
    notebook = f"{homework_id}/{homework_id}.ipynb"
    found = {}
    if place.netloc == "github.com":
        blob = f"{place.path}/blob/{BRANCH}/{notebook}"
        found["Colab"] = f"https://colab.research.google.com/github{blob}"
        found["Kaggle"] = f"https://kaggle.com/kernels/welcome?src=https://github.com{blob}"
        labpath = urlencode({"labpath": notebook})
        found["Binder"] = f"https://mybinder.org/v2/gh{place.path}/{BRANCH}?{labpath}"
    services = _book_settings(root).get("launch_buttons") or {}
    hub = str(services.get("jupyterhub_url") or "").rstrip("/")
    if hub and repository:
        folder = _FOLDERS.get(services.get("notebook_interface", ""), _FOLDERS["jupyterlab"])
        path = f"{folder}/{place.path.rsplit('/', 1)[-1]}/{notebook}"
        query = urlencode({"repo": repository, "branch": BRANCH, "urlpath": path})
        found["JupyterHub"] = f"{hub}/hub/user-redirect/git-pull?{query}"
    return found


def badges(homework_id: str, root: Path) -> str:
    """Return Markdown with a badge or link for each address of ``doors``; empty without any."""
    links = []
    for name, address in doors(homework_id, root).items():
        words = f"Open in {name}"
        picture = f"![{words}]({_BADGES[name]})" if name in _BADGES else words
        links.append(f"[{picture}]({address})")
    return " ".join(links)


def _book_settings(root: Path) -> dict[str, Any]:
    try:
        settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return settings if isinstance(settings, dict) else {}


# ---- the branch as a folder ----


def write_students_folder(homeworks: Sequence[str], root: Path, folder: Path) -> None:
    """Write the files of the students' branch, with its homeworks, into an empty or new folder.

    ``root`` is the project's folder; ``.ci/publish-branch`` publishes ``folder``.

    Raises:
        HomeworkError: A homework was not released, or the folder is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise HomeworkError(f"{folder} is not empty: name a new folder")
    released = {homework: root / "dist" / homework.split("-")[0] for homework in homeworks}
    for homework, source in released.items():
        if not (source / f"{homework}.ipynb").is_file():
            raise HomeworkError(f"{homework} is not released: make release HW={source.name}")
    folder.mkdir(parents=True, exist_ok=True)
    pins: dict[str, None] = {}  # used as an ordered set
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
        "runtime.txt": "python-3.12\n",  # the form that Binder expects
        ".devcontainer/devcontainer.json": json.dumps(_DEVCONTAINER, indent=2) + "\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")


def _table(released: dict[str, Path], root: Path) -> str:
    rows = [
        f"| [{homework}]({homework}/{homework}.ipynb) | {badges(homework, root)} |"
        for homework in released
    ]
    return "\n".join(["| homework | open it |", "|---|---|", *rows])


# ---- the student edition as a wheel, for notebooks that are opened without their folder ----


def wheel_name(homework_id: str) -> str:
    """Return the file name of a homework's wheel; the homework's number is its version."""
    return f"{PACKAGE}-{int(homework_id[2:4])}-py3-none-any.whl"


def write_wheel(edition: Path, homework_id: str, needs: Iterable[str], wheel: Path) -> None:
    """Write the wheel of an edition that requires the packages ``needs``.

    The same files give the same bytes.
    """
    name, version = wheel_name(homework_id).split("-")[:2]
    about = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {package}\n" for package in needs)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}"
    paths = sorted(path for path in (edition / PACKAGE).rglob("*") if path.is_file())
    files = {path.relative_to(edition).as_posix(): path.read_bytes() for path in paths}
    files |= {f"{about}/METADATA": metadata.encode(), f"{about}/WHEEL": _WHEEL.encode()}
    record = [f"{file},sha256={_digest(data)},{len(data)}\n" for file, data in files.items()]
    files[f"{about}/RECORD"] = "".join([*record, f"{about}/RECORD,,\n"]).encode()
    # Not compressed: compression differs between Pythons, and would change the checksum.
    write_zip(wheel, files, zipfile.ZIP_STORED)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def write_zip(path: Path, files: Mapping[str, bytes], compression: int) -> None:
    """Write a zip of files by name; the same files give the same bytes."""
    with zipfile.ZipFile(path, "w") as out:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            out.writestr(entry, data, compression)
