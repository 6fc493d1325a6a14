"""Where students find the released folders on the web, if the project names a repository for them.

A workflow puts them into a branch, ``students``. The repository is the course's own, ``repository:
url`` in ``_config.yml``, or, where that one is private, ``Students`` under ``[project.urls]`` in
``pyproject.toml``. Without either nothing of students names another host.
"""

import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from autograder.homework_source.homework import HomeworkError

BRANCH = "students"

_BADGES = {
    "Colab": "https://colab.research.google.com/assets/colab-badge.svg",
    "Kaggle": "https://kaggle.com/static/images/open-in-kaggle.svg",
    "Binder": "https://mybinder.org/badge_logo.svg",
}
_FOLDERS = {"jupyterlab": "lab/tree", "classic": "tree"}


def students_repository(root: Path) -> str:
    """Return the address of the repository with the students' branch; empty if there is none."""
    course = _book_settings(root).get("repository") or {}
    address = _named_in_project(root) or str(course.get("url") or "")
    address = address.rstrip("/").removesuffix(".git")
    if address and not address.startswith("https://"):
        raise HomeworkError(
            "the repository for students must have an address that begins with https://, got: "
            f"{address} ([project.urls] Students in pyproject.toml, or repository: url in "
            "_config.yml)"
        )
    return address


def edition_file(wheel: str, sha256: str) -> str:
    """Return where in the branch the wheel with a homework's library lies.

    Its folder is named by its contents, and stays when a newer one comes: an older notebook still
    finds the one that it was released with.
    """
    return f"editions/{sha256[:12]}/{wheel}"


def edition_address(repository: str, file: str) -> str:
    """Return the address of a file of the branch, as GitHub gives it out, or else GitLab."""
    place = urlsplit(repository)
    if place.netloc == "github.com":
        return f"https://raw.githubusercontent.com{place.path}/{BRANCH}/{file}"
    return f"{repository}/-/raw/{BRANCH}/{file}"


def doors(homework_id: str, root: Path) -> dict[str, str]:
    """Return where a homework's notebook can be opened."""
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
    """Return a line of Markdown with a badge, or a link, for each door; empty if there is none."""
    links = []
    for name, address in doors(homework_id, root).items():
        words = f"Open in {name}"
        picture = f"![{words}]({_BADGES[name]})" if name in _BADGES else words
        links.append(f"[{picture}]({address})")
    return " ".join(links)


def _named_in_project(root: Path) -> str:
    try:
        settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    return str(settings.get("project", {}).get("urls", {}).get("Students", ""))


def _book_settings(root: Path) -> dict[str, Any]:
    try:
        settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return settings if isinstance(settings, dict) else {}
