"""The students' branch: its files are at the addresses that they name, if there is an address."""

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml

from autograder.homework_source.homework import HomeworkError
from autograder.releasing.release import release
from autograder.releasing.students_branch import (
    doors,
    edition_address,
    edition_file,
    students_repository,
    write_students_folder,
)
from tests.autograder.releasing.test_release import small_root

ROOT = Path(__file__).parents[3]
GITHUB = "https://github.com/dept/course"


def settings(root, repository="", hub="", students=""):
    """Write ``_config.yml`` and pyproject.toml with these addresses into ``root``; return it."""
    launch = {"jupyterhub_url": hub, "notebook_interface": "jupyterlab"}
    config = {"repository": {"url": repository}, "launch_buttons": launch}
    (root / "_config.yml").write_text(yaml.safe_dump(config))
    urls = f'[project.urls]\nStudents = "{students}"\n' if students else ""
    (root / "pyproject.toml").write_text(f'[project]\ndependencies = ["torch>=2.11"]\n{urls}')
    return root


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return the release of hw01 in a course with a GitHub address, and the students' folder."""
    root = settings(small_root(tmp_path_factory.mktemp("course")), f"{GITHUB}.git")
    made = release("hw01", root)
    write_students_folder([made.homework.id], root, root / "students")
    return made, root / "students"


def fetch_cell_of(notebook):
    cells = nbformat.read(notebook, as_version=4).cells
    return next(cell.source for cell in cells if cell.id == "fetch-edition")


def test_notebook_fetches_the_wheel_of_the_branch(published):
    made, folder = published
    cell = fetch_cell_of(folder / "hw01-small" / "hw01-small.ipynb")
    ((address, sha256),) = re.findall(r"%pip install --quiet (\S+)#sha256=(\w+)", cell)
    begin = "https://raw.githubusercontent.com/dept/course/students/"
    assert address.startswith(begin)
    wheel = (folder / address.removeprefix(begin)).read_bytes()
    assert hashlib.sha256(wheel).hexdigest() == sha256
    assert wheel == made.wheel.read_bytes()
    with zipfile.ZipFile(made.wheel) as archive:
        names = archive.namelist()
        assert {name.split("/")[0] for name in names} == {"course_lib", "course_lib-1.dist-info"}
        needs = archive.read("course_lib-1.dist-info/METADATA").decode()
    assert "Requires-Dist: torch\n" in needs
    assert "jupyterlab" not in needs


def test_branch_holds_whole_folders_and_settings(published):
    made, folder = published
    whole = {p.relative_to(made.folder) for p in made.folder.rglob("*")}
    inside = folder / "hw01-small"
    assert {p.relative_to(inside) for p in inside.rglob("*")} == whole
    lines = (folder / "requirements.txt").read_text().splitlines()
    assert lines[0].startswith("--extra-index-url https://")
    assert lines[1:] == (inside / "requirements.txt").read_text().splitlines()
    container = json.loads((folder / ".devcontainer" / "devcontainer.json").read_text())
    assert "requirements.txt" in container["postCreateCommand"]
    assert (folder / "runtime.txt").read_text() == "python-3.12\n"


def test_badges_lead_to_the_notebook(published):
    _, folder = published
    text = nbformat.read(folder / "hw01-small" / "hw01-small.ipynb", as_version=4).cells[0].source
    line = text.splitlines()[2]
    assert text.startswith("# Small\n\n[![Open in Colab](")
    notebook = "hw01-small/hw01-small.ipynb"
    blob = f"dept/course/blob/students/{notebook}"
    assert re.findall(r"\]\(([^)]*)\)(?= |$)", line) == [
        f"https://colab.research.google.com/github/{blob}",
        f"https://kaggle.com/kernels/welcome?src=https://github.com/{blob}",
        "https://mybinder.org/v2/gh/dept/course/students?labpath=hw01-small%2Fhw01-small.ipynb",
    ]
    for page in (folder / "README.md", folder / "hw01-small" / "README.md"):
        assert line in page.read_text()


def test_hub_pulls_the_branch(tmp_path):
    found = doors("hw01-small", settings(tmp_path, GITHUB, hub="https://hub.example/"))
    assert found["JupyterHub"] == (
        "https://hub.example/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2Fdept%2F"
        "course&branch=students&urlpath=lab%2Ftree%2Fcourse%2Fhw01-small%2Fhw01-small.ipynb"
    )


def test_students_may_have_their_own_repository(tmp_path):
    settings(tmp_path, GITHUB, students="https://gitlab.example/dept/homework/")
    repository = students_repository(tmp_path)
    assert repository == "https://gitlab.example/dept/homework"
    assert doors("hw01-small", tmp_path) == {}  # these services know GitHub
    assert edition_address(repository, edition_file("a.whl", "0123456789abcdef")) == (
        f"{repository}/-/raw/students/editions/0123456789ab/a.whl"
    )


def test_address_without_https_is_rejected(tmp_path):
    root = settings(small_root(tmp_path), "http://example.org/course")
    with pytest.raises(HomeworkError, match=r"begins with https://, got: http://example\.org"):
        release("hw01", root)
    assert not (tmp_path / "dist").exists()


def test_notebooks_without_an_address_name_no_other_host():
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    if config["repository"]["url"]:
        pytest.skip("this course says where it lives")
    for notebook in (ROOT / "assignments").glob("*/*.ipynb"):
        assert "http" not in fetch_cell_of(notebook)
        texts = [cell.source for cell in nbformat.read(notebook, as_version=4).cells]
        (place,) = (number for number, text in enumerate(texts) if text.startswith("# @title"))
        assert "The folded cell comes first" in texts[place - 1]
        assert "http" not in nbformat.read(notebook, as_version=4).cells[0].source


def test_unreleased_homework_and_a_filled_folder_are_rejected(tmp_path):
    root = small_root(tmp_path)
    with pytest.raises(HomeworkError, match="hw01-small is not released: make release HW=hw01"):
        write_students_folder(["hw01-small"], root, root / "students")
    with pytest.raises(HomeworkError, match="solutions is not empty"):
        write_students_folder(["hw01-small"], root, root / "solutions")


# ---- the branch ----


def git(folder, *arguments):
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def clone(tmp_path):
    """Return a clone of a local repository, with the script that publishes the students' branch."""
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(tmp_path, "clone", "--quiet", "origin", "clone")
    clone = tmp_path / "clone"
    (clone / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "publish-branch", clone / ".ci")
    (clone / "secret.txt").write_text("a solution")
    git(clone, "add", ".")
    who = ["-c", "user.name=staff", "-c", "user.email=staff@example.org"]
    git(clone, *who, "commit", "--quiet", "--message", "The course")
    git(clone, "push", "--quiet", "origin", "HEAD")
    return clone


def publish(clone, files):
    folder = clone.parent / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    script = clone / ".ci" / "publish-branch"
    return subprocess.run(
        ["bash", script, "students", folder, "The homework"], capture_output=True, text=True
    )


def held(clone):
    return set(git(clone.parent / "origin", "ls-tree", "-r", "--name-only", "students").split())


def test_branch_keeps_old_editions_and_nothing_else(clone):
    first = {"hw01/a.ipynb", ".devcontainer/devcontainer.json", "editions/hw01-1.zip"}
    assert publish(clone, first).returncode == 0
    assert held(clone) == first
    assert "as it was" in publish(clone, first).stdout
    second = {"hw02/b.ipynb", "editions/hw01-2.zip"}
    assert publish(clone, second).returncode == 0
    assert held(clone) == second | {"editions/hw01-1.zip"}
    log = git(clone.parent / "origin", "log", "--format=%s", "students").splitlines()
    assert log == ["The homework"] * 2
    assert git(clone, "worktree", "list").count("\n") == 1
    assert git(clone, "branch").split() == ["*", git(clone, "branch", "--show-current").strip()]


def test_empty_folder_is_not_published(clone):
    (clone.parent / "folder").mkdir()
    script = clone / ".ci" / "publish-branch"
    command = ["bash", script, "students", clone.parent / "folder", "The homework"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "nothing was published" in done.stderr) == (2, True)
