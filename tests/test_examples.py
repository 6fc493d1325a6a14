"""Examples and workflows, as far as they run without GitHub, Gradescope and clusters."""

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from autograder.cli.app import app
from tests.homework.tables import solved_notebook

ROOT = Path(__file__).parent.parent
GITHUB = ROOT / "examples" / "github"
GRADESCOPE = ROOT / "examples" / "gradescope"
HOMEWORK = "hw03-self-attention"
WORKFLOWS = sorted([*ROOT.glob(".github/workflows/*.yml"), *GITHUB.rglob("*.yml")])
SCRIPTS = sorted(
    [*ROOT.glob(".ci/*"), GITHUB / "staff" / "clone-class", *GRADESCOPE.glob("[rs]*[!d]")]
)

pytestmark = pytest.mark.depends_on(
    ".ci", ".devcontainer", ".github", "autograder", "examples", "requirements", "Makefile"
)


def commands_of(workflow):
    """Return the shell commands of a workflow's file."""
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_is_valid_bash_and_executable(script):
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script]).returncode == 0


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_commands_are_valid_bash_and_name_existing_targets(workflow):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, flags=re.MULTILINE)) | {"install"}
    here = workflow.parents[2] if workflow.is_relative_to(GITHUB / "student") else ROOT
    for command in commands_of(workflow):
        assert subprocess.run(["bash", "-n", "-c", command]).returncode == 0, command
        assert set(re.findall(r"(?:^|&& )make ([a-z-]+)", command, re.M)) <= targets
        for name in re.findall(
            r"(?:bash |python |^)((?:\.ci|examples)/\S+|\S+\.py)", command, re.M
        ):
            assert (here / name).is_file(), name
        commands = {known.name for known in app.registered_commands}
        assert set(re.findall(r"-m autograder ([\w-]+)", command)) <= commands


def test_student_workflow_has_no_secret_and_only_reads():
    (workflow,) = (path for path in WORKFLOWS if path.is_relative_to(GITHUB / "student"))
    text = workflow.read_text(encoding="utf-8")
    assert "secrets" not in text
    assert "autograder" not in text
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


def test_staff_workflow_gives_its_secret_only_to_git():
    steps = yaml.safe_load((GITHUB / "staff" / "grade.yml").read_text())["jobs"]["grade"]["steps"]
    with_secret = [step for step in steps if "secrets." in json.dumps(step)]
    assert len(with_secret) == 1
    assert "autograder" not in with_secret[0]["run"]
    assert "${{" not in "".join(step.get("run", "") for step in steps)  # inputs are no code
    assert not [step for step in steps if "--no-sandbox" in step.get("run", "")]


def test_vs_code_container_runs_make_install():
    lines = (ROOT / ".devcontainer" / "devcontainer.json").read_text().splitlines()
    container = json.loads("\n".join(x for x in lines if not x.strip().startswith("//")))
    assert container["runArgs"] == ["--privileged"]
    assert shlex.split(container["postCreateCommand"])[-2:] == ["make", "install"]


# ---- GitHub: the student's side ----


def notebook_of(*tests):
    """Return a notebook that defines ``x = 1``, with these sources as test cells of 2 points."""
    cells = [nbformat.v4.new_code_cell(source) for source in tests]
    for cell in cells:
        cell.metadata["nbgrader"] = {"grade": True, "points": 2}
        cell.execution_count = 7  # as if saved after a pass
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1"), *cells])


@pytest.fixture
def visible_tests(tmp_path, monkeypatch):
    """The main function of the program ``visible_tests``, which runs in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(GITHUB / "student")
    module = importlib.import_module("visible_tests")
    yield module.main
    del sys.modules["visible_tests"]


def test_summary_has_the_result_of_each_visible_test(visible_tests, tmp_path, monkeypatch):
    tests = (
        "# It is one\nassert x == 1",
        "# It is | two\nraise AssertionError('a < b | c\\nmore')",
        "# It is written\nraise NotImplementedError('your code goes here')",
    )
    nbformat.write(notebook_of(*tests), tmp_path / "hw01-small.ipynb")
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert visible_tests([]) == 1
    assert summary.read_text().splitlines() == [
        "**1 of 3 visible tests pass.** Grading has hidden ones too.",
        "",
        "| | test | points | message |",
        "|---|---|---|---|",
        "| ✅ | It is one | 2 |  |",
        "| ❌ | It is \\| two | 2 | a &lt; b \\| c |",
        "| ❌ | It is written | 2 | not written yet |",
    ]


def test_missing_and_unreadable_notebooks_are_reported(visible_tests, tmp_path, capsys):
    assert visible_tests([]) == 2
    assert capsys.readouterr().err == "Expected one notebook hw*.ipynb here, found 0.\n"
    (tmp_path / "hw01-small.ipynb").write_text("{")
    assert visible_tests([]) == 2
    assert "can't be read as a notebook" in capsys.readouterr().err


# ---- GitHub: the staff's side ----


ALL = {f"{HOMEWORK}-{student}" for student in ("ada", "bo", "cy")}


def git(folder, *arguments):
    """Run git in a folder, and return its output."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def classroom(tmp_path):
    """A folder with repositories of three students, and a class list that also names a fourth."""
    for student in ("ada", "bo"):
        push(tmp_path, student, {f"{HOMEWORK}.ipynb": f'"{student}"'})
    git(tmp_path, "init", "--quiet", "--bare", f"{HOMEWORK}-cy.git")  # nothing pushed yet
    students = ("ada", "gone", "cy", "bo")
    names = [f"file://{tmp_path}/{HOMEWORK}-{student}.git" for student in students]
    (tmp_path / "list.txt").write_text("# the class\n\n" + "\n".join(names) + "\n")
    return tmp_path


def push(place, student, files):
    """Commit files (texts by name) and push them to a student's repository, made if missing."""
    repository, work = place / f"{HOMEWORK}-{student}.git", place / f"work-{student}"
    if not repository.exists():
        git(place, "init", "--quiet", "--bare", repository.name)
        git(place, "clone", "--quiet", repository.name, work.name)
    for name, text in files.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (work / "secret").unlink(missing_ok=True)
    (work / "secret").symlink_to("/etc/passwd")
    git(work, "add", ".")
    who = ["-c", "user.name=student", "-c", "user.email=student@example.org"]
    git(work, *who, "commit", "--quiet", "--message", "More")
    git(work, "push", "--quiet", "origin", "HEAD")


def clone_class(place, *edits):
    """Run the script ``clone-class`` in a folder; each edit replaces a text (old, new) in it."""
    script = (GITHUB / "staff" / "clone-class").read_text()
    for old, new in edits:
        assert old in script
        script = script.replace(old, new)
    return subprocess.run(
        ["bash", "-c", script, "clone-class", "list.txt", "clones"],
        cwd=place, capture_output=True, text=True,
    )  # fmt: skip


def test_class_is_cloned_and_fetched_again(classroom):
    done = clone_class(classroom)
    assert done.returncode == 1
    assert f"{HOMEWORK}-gone could not be fetched" in done.stderr
    clones = classroom / "clones"
    assert {path.name for path in clones.iterdir()} == ALL
    assert not (clones / f"{HOMEWORK}-ada" / "secret").is_symlink()
    push(classroom, "ada", {f"{HOMEWORK}.ipynb": '"ada, once more"'})
    done = clone_class(classroom)
    assert [line.split()[0] for line in done.stderr.splitlines() if HOMEWORK in line][-1:] == [
        f"{HOMEWORK}-gone"
    ]
    assert f"{HOMEWORK}-cy could" not in done.stderr  # nothing pushed yet
    for student, text in (("ada", '"ada, once more"'), ("bo", '"bo"')):
        assert (clones / f"{HOMEWORK}-{student}" / f"{HOMEWORK}.ipynb").read_text() == text


@pytest.mark.parametrize("first", [True, False], ids=["cloned", "fetched"])
def test_repository_that_unpacks_to_too_many_bytes_is_rejected(classroom, first):
    if not first:
        clone_class(classroom)
    push(classroom, "ada", {f"{number}.ipynb": "a" * (20 << 20) for number in range(12)})
    done = clone_class(classroom)
    assert f"{HOMEWORK}-ada could not be fetched, or is too large" in done.stderr
    clones = classroom / "clones"
    assert (clones / f"{HOMEWORK}-bo" / f"{HOMEWORK}.ipynb").is_file()
    assert not (clones / f"{HOMEWORK}-ada" / "1.ipynb").exists()
    kept = clones / f"{HOMEWORK}-ada"
    assert (kept / f"{HOMEWORK}.ipynb").exists() == kept.exists() == (not first)
    if not first:  # the rejected commit takes no disk space
        refused = git(classroom / "work-ada", "rev-parse", "HEAD").strip()
        assert refused not in git(kept, "cat-file", "--batch-all-objects", "--batch-check")
    assert clone_class(classroom).returncode == 1  # the next call fails too


@pytest.mark.parametrize("first", [True, False], ids=["cloned", "fetched"])
def test_git_attributes_do_not_enlarge_files(classroom, first):
    """Built-in attributes of git can turn one byte into twelve."""
    text = "$Id$\n" * 1000
    if not first:
        clone_class(classroom)
    attributes = "*.txt text ident eol=crlf working-tree-encoding=UTF-32\n"
    push(classroom, "ada", {".gitattributes": attributes, "a.txt": text.encode("utf-32")})
    assert f"{HOMEWORK}-ada" not in clone_class(classroom).stderr
    clone = classroom / "clones" / f"{HOMEWORK}-ada"
    assert (clone / ".gitattributes").read_text() == attributes
    assert (clone / "a.txt").read_bytes() == text.encode()


def test_long_paths_count_as_size(classroom):
    """git stores each file's whole path, while all files may have the same content."""
    folder = "/".join(["f" * 200] * 18)
    index = "".join(f"100644 {{}} 0\t{folder}/{number}\n" for number in range(4_000))
    repository = classroom / f"{HOMEWORK}-ada.git"
    names = {"GIT_INDEX_FILE": str(classroom / "index")} | os.environ
    who = ["-c", "user.name=student", "-c", "user.email=student@example.org"]

    def write(*arguments, said=""):
        done = subprocess.run(
            ["git", *arguments], cwd=repository, input=said, capture_output=True, text=True,
            env=names, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    text = write("hash-object", "-w", "--stdin")
    write("update-index", "--index-info", said=index.format(*[text] * 4_000))
    commit = write(*who, "commit-tree", write("write-tree"), "-m", "names")
    write("update-ref", "HEAD", commit)
    done = clone_class(classroom, ("most_bytes=200000000", "most_bytes=20000000"))
    assert f"{HOMEWORK}-ada could not be fetched, or is too large" in done.stderr


@pytest.mark.proof
def test_repository_that_unpacks_slowly_is_rejected(classroom):
    """Similar files of zeros make a tiny pack that takes long to unpack."""
    push(
        classroom,
        "ada",
        {f"{number}.ipynb": bytes(90 << 20) + b"%d" % number for number in range(6)},
    )
    git(classroom / f"{HOMEWORK}-ada.git", "repack", "-adq")
    most = ("most_bytes=200000000", "most_bytes=2000000000")
    done = clone_class(classroom, most, ("ulimit -t 60", "ulimit -t 1"))
    assert f"{HOMEWORK}-ada could not be fetched, or is too large" in done.stderr
    assert {path.name for path in (classroom / "clones").iterdir()} == ALL - {f"{HOMEWORK}-ada"}


def test_nested_trees_without_end_are_rejected(classroom):
    """Nested trees make a tiny pack with more files than can be counted."""
    repository = classroom / f"{HOMEWORK}-ada.git"

    def write(tree):
        return subprocess.run(
            ["git", "mktree"], cwd=repository, input=tree, capture_output=True, text=True
        ).stdout.strip()

    tree = write("")
    for _ in range(12):
        tree = write("".join(f"040000 tree {tree}\td{number}\n" for number in range(10)))
    who = ["-c", "user.name=student", "-c", "user.email=student@example.org"]
    commit = git(repository, *who, "commit-tree", tree, "-m", "trees").strip()
    git(repository, "update-ref", "HEAD", commit)
    done = clone_class(classroom)
    assert f"{HOMEWORK}-ada could not be fetched, or is too large" in done.stderr
    assert (classroom / "clones" / f"{HOMEWORK}-bo" / f"{HOMEWORK}.ipynb").is_file()


def test_each_line_of_the_list_is_cloned_or_reported(classroom):
    first, _, empty, last = (classroom / "list.txt").read_text().split()[3:]
    other = f"{classroom}/elsewhere/{HOMEWORK}-bo.git"
    (classroom / "list.txt").write_text(f"{first}\r\n{last}\n{other}\n{empty}")  # no end of line
    done = clone_class(classroom)
    assert (done.returncode, done.stderr.count("has the same name as another")) == (1, 1)
    assert {path.name for path in (classroom / "clones").iterdir()} == ALL


def test_invalid_address_does_not_stop_other_clones(classroom):
    addresses = (classroom / "list.txt").read_text()
    (classroom / "list.txt").write_text(f"--upload-pack=x\next::sh -c touch%x\n{addresses}")
    assert clone_class(classroom).returncode == 1
    assert {path.name for path in (classroom / "clones").iterdir()} == ALL


@pytest.mark.proof
@pytest.mark.sandbox
def test_cloned_repositories_are_collected_and_graded(classroom):
    push(classroom, "ada", {f"{HOMEWORK}.ipynb": solved_notebook(HOMEWORK)})
    clone_class(classroom)
    commands = next(c for c in commands_of(GITHUB / "staff" / "grade.yml") if "collect" in c)
    for line in commands.strip().splitlines():
        arguments = shlex.split(line.partition("||")[0].replace("$HOMEWORK", HOMEWORK))[1:]
        places = {"clones", "class", "out"}
        here = [str(classroom / word) if word in places else word for word in arguments]
        done = subprocess.run([sys.executable, *here], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stdout + done.stderr
    marks = (classroom / "out" / "grades.csv").read_text()
    assert {line.split(",")[0] for line in marks.splitlines()[1:]} == {"ada", "bo"}
    assert (classroom / "out" / "feedback" / "ada" / f"{HOMEWORK}.html").is_file()


# ---- Gradescope ----

STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $*" in
    "python3 --version") echo "Python 3.10.12" ;;
    "python3 -c "*) exit "$TOO_OLD" ;;
    *"venv"*" .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/pip && cp "$0" .venv/bin/python ;;
esac
"""


@pytest.mark.parametrize("too_old", [False, True], ids=["24.04", "22.04"])
def test_gradescope_image_gets_a_supported_python(tmp_path, too_old):
    """Run ``setup.sh`` with stubs of its programs that record their calls."""
    course, programs = tmp_path / "source" / "course", tmp_path / "bin"
    course.mkdir(parents=True)
    programs.mkdir()
    for name in ("apt-get", "python3"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["bash", GRADESCOPE / "setup.sh"],
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "AUTOGRADER": str(tmp_path),
            "CALLS": str(tmp_path / "calls"),
            "TOO_OLD": str(int(too_old)),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text()
    assert ("python3 -m venv .venv\n" in calls) is not too_old
    assert ("uv venv --quiet --seed --python 3.12 .venv\n" in calls) is too_old
    assert ("Python 3.10.12 is too old for the judge" in done.stdout) is too_old
    for name in re.findall(r"--requirement (\S+)", calls):
        assert (ROOT / name).is_file()
    assert calls.splitlines()[-1] == "python -m autograder doctor"
    assert shutil.which("bash")
