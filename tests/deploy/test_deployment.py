"""The configuration in deploy/ for JupyterHub, npm, Docker and Helm; the hub's checks at start."""

import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
import yaml
from traitlets.config import Config

from deploy import hub
from deploy.course_service import add_course, write_student_settings

DEPLOY = Path(__file__).parents[2] / "deploy"
pytestmark = pytest.mark.depends_on(
    "deploy", "autograder/homework_source/*.py", "course_lib", "solutions"
)


def test_student_settings_have_the_exchange_and_no_staff_extensions(tmp_path):
    folder = tmp_path / "students"
    for one_account in (True, False):
        write_student_settings(
            folder, course_id="cs224", exchange=Path("/srv/exchange"), one_account=one_account
        )
        c = Config()
        exec((folder / "nbgrader_config.py").read_text(), {"get_config": lambda c=c: c})
        assert (c.CourseDirectory.course_id, c.Exchange.root) == ("cs224", "/srv/exchange")
        assert ("student_id" in c.CourseDirectory) == one_account
    page = json.loads((folder / "labconfig" / "page_config.json").read_text())
    assert page["disabledExtensions"]["@jupyter/nbgrader:formgrader"]
    (file,) = (folder / "jupyter_server_config.d").iterdir()
    server = json.loads(file.read_text())["ServerApp"]["jpserver_extensions"]
    assert server["nbgrader.server_extensions.formgrader"] is False
    assert "nbgrader.server_extensions.assignment_list" not in server


@pytest.mark.parametrize("account", ["grader", ""])
def test_staff_server_is_open_only_to_staff(account):
    c = Config()
    c.JupyterHub.services = []
    add_course(
        c, course_folder=Path("/srv/cs224"), instructors={"ada"}, programs=Path("/opt/bin"),
        port=1, account=account,
    )  # fmt: skip
    (role,) = c.JupyterHub.load_roles
    assert role["scopes"] == ["access:services!service=cs224"]
    assert {group: c.JupyterHub.load_groups[group] for group in role["groups"]} == {
        "formgrade-cs224": {"users": ["ada"]}
    }
    (service,) = c.JupyterHub.services
    assert (service["name"], service["cwd"]) == ("cs224", "/srv/cs224")
    assert service.get("user", "") == account


def refusal(monkeypatch, *arguments: str) -> str:
    """Return the message with which the hub's command ends instead of starting a hub."""
    monkeypatch.setattr(sys, "argv", ["hub", *arguments])
    monkeypatch.setattr(hub, "prepare", lambda place, homework: pytest.fail("it began"))
    with pytest.raises(SystemExit) as stopped:
        hub.main()
    return str(stopped.value)


def test_hub_does_not_start_if_students_could_read_solutions(monkeypatch, tmp_path):
    me = hub.pwd.getpwuid(os.geteuid()).pw_name
    assert "known: hw01" in refusal(monkeypatch, "--homework", "hw77")
    monkeypatch.setattr(hub.os, "geteuid", lambda: 1000)
    assert "run it as root" in refusal(monkeypatch, "--grader", me)
    monkeypatch.setattr(hub.os, "geteuid", lambda: 0)
    assert "useradd --create-home nobody-is-so" in refusal(monkeypatch, "--grader", "nobody-is-so")
    assert "who grades?" in refusal(monkeypatch, "--grader", me)
    named = ("--grader", me, "--instructor", "ada")
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "hw03-x.py").touch()
    tmp_path.chmod(0o751)
    monkeypatch.setattr(hub, "ROOT", tmp_path)
    assert f"chmod 750 {tmp_path}" in refusal(monkeypatch, *named)
    tmp_path.chmod(0o750)
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    monkeypatch.setattr(hub.pwd, "getpwnam", lambda name: types.SimpleNamespace(pw_dir=str(home)))
    assert f"chmod 700 {home}" in refusal(monkeypatch, *named)
    home.chmod(0o700)
    with pytest.raises(pytest.fail.Exception, match="it began"):
        refusal(monkeypatch, *named)


def test_hub_records_are_private(monkeypatch, tmp_path):
    place = hub.Place(
        folder=str(tmp_path / "hub"), instructors=("ada",), grader="", password="x", port=1, book=""
    )
    monkeypatch.setattr(hub, "_install_proxy", lambda folder: None)
    monkeypatch.setattr(hub, "_as_grader", lambda *_, **__: place.course.mkdir(exist_ok=True))
    hub.prepare(place, "hw03-self-attention")
    assert place.records.stat().st_mode & 0o777 == 0o700


def test_proxy_has_an_exact_version_with_hashes():
    asked = json.loads((DEPLOY / "package.json").read_text())["dependencies"]
    locked = json.loads((DEPLOY / "package-lock.json").read_text())["packages"]
    assert locked.pop("")["dependencies"] == asked
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in asked.values())
    assert all(package["integrity"].startswith("sha512-") for package in locked.values())
    assert not [name for name, package in locked.items() if "resolved" in package]  # no host


def test_containers_use_existing_stages_and_valid_code():
    stages = re.findall(r"^FROM \S+ AS (\w+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["hub"]
    assert compose["build"]["target"] in stages
    assert (DEPLOY / compose["build"]["context"] / compose["build"]["dockerfile"]).is_file()
    readme = (DEPLOY / "README.md").read_text()
    assert set(re.findall(r"--target (\w+)", readme)) <= set(stages)
    values = yaml.safe_load((DEPLOY / "zero-to-jupyterhub.yaml").read_text())
    for name, text in values["hub"]["extraConfig"].items():
        compile(text, name, "exec")
    settings = types.SimpleNamespace(Authenticator=types.SimpleNamespace())
    exec(values["hub"]["extraConfig"]["reserved"], {"c": settings})
    hook = settings.Authenticator.post_auth_hook
    assert [hook(None, None, {"name": name}) for name in ("grader", "ada")] == [
        None,
        {"name": "ada"},
    ]
    compile((DEPLOY / "tljh_config.py").read_text(), "tljh_config.py", "exec")


@pytest.mark.parametrize(("mode", "goes_on"), [(0o600, True), (0o640, False), (0o604, False)])
def test_container_does_not_start_with_readable_passwords(tmp_path, mode, goes_on):
    accounts = tmp_path / "accounts"
    accounts.touch(mode=0o600)
    accounts.chmod(mode)
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["hub"]
    *shell, script = compose["command"]
    guard, _ = script.split("newusers")
    guard = guard.replace("$$", "$").replace("/run/secrets/accounts", str(accounts))
    done = subprocess.run([*shell, f"{guard} echo on"], capture_output=True, text=True, check=False)
    assert (done.stdout == "on\n", "chmod 600" in done.stderr) == (goes_on, not goes_on)
