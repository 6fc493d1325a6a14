"""Collecting from the exchange follows no links and accepts no submission in another's name."""

import os
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.gradebook.exchange_collect import CollectNotebooks
from autograder.releasing.generated_assignment import create_tables

HW = "hw00-doubling"
NOON = "2026-10-01 12:00:00 UTC"
MADE_BY_NBGRADER = {"submission_secret.txt": "0123456789abcdef", "timestamp.txt": NOON}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@pytest.fixture
def course(tmp_path) -> Path:
    for folder in ("exchange/cs224/inbound", "course/source", "secret"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "exchange").chmod(0o1777)
    (tmp_path / "secret" / "solved.ipynb").write_text("the solution")
    return tmp_path


def hand_in(course: Path, student: str, time: str, files: dict[str, str | Path]) -> Path:
    folder = course / "exchange/cs224/inbound" / f"{student}+{HW}+{time} UTC+x9Y"
    folder.mkdir()
    for name, text in (MADE_BY_NBGRADER | files).items():
        if isinstance(text, Path):
            (folder / name).symlink_to(text)
        else:
            (folder / name).write_text(text)
    return folder


def collect(course: Path, coursedir=None, **settings) -> dict[str, str]:
    """Collect from the exchange; return the text of each notebook in ``submitted`` by path.

    ``coursedir`` and ``settings`` are configuration of ``CourseDirectory`` and ``ExchangeCollect``.
    """
    config = Config()
    config.CourseDirectory = Config(coursedir or {})
    config.Exchange.root = str(course / "exchange")
    config.ExchangeCollect = Config({"check_owner": False, "update": True} | settings)
    coursedir = CourseDirectory(config=config)
    coursedir.root, coursedir.course_id = str(course / "course"), "cs224"
    coursedir.assignment_id = HW
    create_tables(coursedir.db_url)
    CollectNotebooks(
        coursedir=coursedir, authenticator=Authenticator(config=config), config=config
    ).start()
    found = (course / "course" / "submitted").glob("*/*/*.ipynb")
    return {str(path.relative_to(course / "course/submitted")): path.read_text() for path in found}


def test_only_the_notebook_is_collected_with_the_time_of_its_folder(course):
    (hand_in(course, "ada", "2026-10-01 10:00:00", {
        f"{HW}.ipynb": "{}", "timestamp.txt": "2020-10-01 11:00:00 UTC", "page.html": "x"
    }) / "course_lib").mkdir()  # fmt: skip
    assert collect(course) == {f"ada/{HW}/{HW}.ipynb": "{}"}
    written = (course / "course/submitted/ada" / HW / "timestamp.txt").read_text()
    assert written == "2026-10-01 10:00:00 UTC\n"


def test_links_and_pipes_are_skipped(course):
    secret = course / "secret" / "solved.ipynb"
    hand_in(course, "eve", "2026-10-01 10:00:00", {f"{HW}.ipynb": secret, "a.txt": "mine"})
    pipe = hand_in(course, "mal", "2026-10-01 10:00:00", {"a.txt": "mine"})
    os.mkfifo(pipe / f"{HW}.ipynb")
    inbound = course / "exchange/cs224/inbound"
    (inbound / f"oz+{HW}+2026-10-01 10:00:00 UTC+x9Y").symlink_to(course / "secret")
    hand_in(course, "zoe", "2026-10-01 10:00:00", {f"{HW}.ipynb": "{}"})
    assert collect(course) == {f"zoe/{HW}/{HW}.ipynb": "{}"}


@AS_ROOT
def test_submission_in_another_students_name_is_skipped(course):
    own = hand_in(course, "daemon", "2026-10-01 10:00:00", {f"{HW}.ipynb": "own"})
    os.chown(own, 1, 1)  # daemon's ids, on every Unix
    hand_in(course, "daemon", "2026-10-02 10:00:00", {f"{HW}.ipynb": "forged"})
    hand_in(course, "nobody", "2026-10-02 10:00:00", {f"{HW}.ipynb": "forged"})
    hand_in(course, "no-such-account", "2026-10-02 10:00:00", {f"{HW}.ipynb": "forged"})
    expected = {f"daemon/{HW}/{HW}.ipynb": "own"}
    assert collect(course, check_owner=True) == expected
    assert collect(course, check_owner=True) == expected  # nor takes it away later
    assert os.listdir(course / "course" / "submitted") == ["daemon"]  # others handed nothing in


def test_newest_submission_is_collected(course):
    hand_in(course, "ada", "2026-10-01 10:00:00", {f"{HW}.ipynb": "first"})
    hand_in(course, "ada", "2026-10-02 10:00:00", {f"{HW}.ipynb": "second"})
    assert collect(course) == {f"ada/{HW}/{HW}.ipynb": "second"}


@pytest.mark.parametrize(
    "name",
    [
        f"eve+{HW}+garbage+x", f"eve+{HW}+", f"eve+{HW}+99999999999999999999+x",
        f"..+{HW}+{NOON}+x", f"+{HW}+{NOON}+x", f".hidden+{HW}+{NOON}+x",
        f"e\x1b[2Jve+{HW}+{NOON}+x", f"e\nve+{HW}+{NOON}+x", f"e\u202eve+{HW}+{NOON}+x",
        os.fsdecode(b"e\xffve") + f"+{HW}+{NOON}+x",
    ],
)  # fmt: skip
def test_malformed_folder_name_is_skipped(course, name, caplog):
    folder = course / "exchange/cs224/inbound" / name
    folder.mkdir()
    (folder / f"{HW}.ipynb").write_text("evil")
    hand_in(course, "zoe", "2026-10-01 10:00:00", {f"{HW}.ipynb": "{}"})
    assert collect(course) == {f"zoe/{HW}/{HW}.ipynb": "{}"}
    assert not (course / "course" / HW).exists()
    words = ("malformed folder name", "an id must be visible text on one line", "for a pattern")
    assert name[0] == "." or any(why in caplog.text for why in words)
    assert not {"\x1b", "\u202e", "\udcff"} & set(caplog.text)


def test_file_with_control_characters_in_its_name_is_skipped(course):
    files = {f"{HW}.ipynb": "{}", "a\n[W] bob: flag\n.ipynb": "{}", "\x1b]0;x\x07.txt": "x"}
    hand_in(course, "eve", "2026-10-01 10:00:00", files)
    assert collect(course) == {f"eve/{HW}/{HW}.ipynb": "{}"}


@pytest.mark.parametrize(
    "student",
    [
        "eve<img src=x onerror=alert(document.domain)>", '";eval(atob(1))', "e&ve", "e'v", "e`v",
        "e\\v", "*", "[a-z]*", "zo?", "zo[e]", "zoe+1", "=1+1", "@zoe", "zoe,22",
    ],
)  # fmt: skip
def test_unsafe_student_id_is_skipped(course, student, caplog):
    hand_in(course, student, "2026-10-01 10:00:00", {f"{HW}.ipynb": "evil"})
    hand_in(course, "zoe", "2026-10-01 10:00:00", {f"{HW}.ipynb": "{}"})
    assert collect(course) == {f"zoe/{HW}/{HW}.ipynb": "{}"}
    assert [path.name for path in (course / "course/submitted").iterdir()] == ["zoe"]
    (told,) = {r.getMessage() for r in caplog.records if "Not collected" in r.getMessage()}
    assert student in told
    assert any(word in told for word in ("pattern", "HTML", "formula"))


@pytest.mark.parametrize("secret", [None, b"", b"\xff\xfe\0"])
def test_malformed_secret_is_replaced_so_that_feedback_can_be_released(course, secret):
    """nbgrader's own command stops at the first submission without one."""
    folder = hand_in(course, "eve", "2026-10-01 10:00:00", {f"{HW}.ipynb": "mine"})
    (folder / "submission_secret.txt").unlink()
    if secret is not None:
        (folder / "submission_secret.txt").write_bytes(secret)
    hand_in(course, "zoe", "2026-10-01 10:00:00", {f"{HW}.ipynb": "{}"})
    collect(course)
    submitted = course / "course" / "submitted"
    assert len((submitted / "eve" / HW / "submission_secret.txt").read_text()) == 64
    assert (submitted / "zoe" / HW / "submission_secret.txt").read_text() == "0123456789abcdef"


def test_size_and_number_of_files_are_limited(course):
    folder = hand_in(course, "eve", "2026-10-01 10:00:00", {f"{HW}.ipynb": "mine"})
    for number in range(4):
        for suffix in (".ipynb", ".txt"):  # sparse: they take no place where they lie
            with (folder / f"{number}{suffix}").open("wb") as file:
                file.truncate(40_000)
    for number in range(2_000):
        (folder / f"z{number}.txt").touch()
    collect(course, coursedir={"max_file_size": 50, "max_dir_size": 100})
    copied = list((course / "course/submitted/eve" / HW).iterdir())
    assert sum(path.stat().st_size for path in copied) <= 100_000
    assert len(copied) <= 1_000
