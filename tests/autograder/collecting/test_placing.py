"""Putting notebooks into the class's folder: nothing newer is lost, and no link is followed."""

import os
from datetime import UTC

import pytest

from autograder.class_run.submissions import is_marked_late, read_handed_in
from autograder.collecting import placing
from autograder.collecting.collect import Outcome, collect
from autograder.files import write_atomically
from tests.autograder.collecting.downloads import (
    AUGUST,
    HW,
    JULY,
    collected,
    make_folder,
    make_zip,
    problems,
)
from tests.autograder.command_line import refused, run

IPYNB = f"{HW}.ipynb"
NO_TIME = (1980, 1, 1, 0, 0, 0)  # a zip that knows no time


def test_newer_notebook_is_replaced_only_by_force(gather, into):
    def step(content, date, **options):
        (line,) = gather({f"a_1_1_{IPYNB}": content}, date=date, **options).lines
        return line.outcome, collected(into)["a_1"]

    assert step("old", JULY) == (Outcome.COLLECTED, "old")
    assert step("old", JULY) == (Outcome.SAME, "old")
    assert step("new", AUGUST) == (Outcome.REPLACED, "new")
    assert step("old", JULY) == (Outcome.KEPT, "new")
    assert step("when?", NO_TIME) == (Outcome.KEPT, "new")
    assert step("old", JULY, force=True) == (Outcome.REPLACED, "old")


def test_newer_clone_replaces_an_older_one(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"ada/{IPYNB}": "first", "ada/.git": "gitdir: x"})
    collect(source, HW, into)
    (source / "ada" / IPYNB).write_text("second")
    later = (into / "ada" / HW / IPYNB).stat().st_mtime + 60
    os.utime(source / "ada" / IPYNB, (later, later))
    assert collect(source, HW, into).lines[0].outcome is Outcome.REPLACED
    assert collected(into) == {"ada": "second"}


@pytest.mark.parametrize("kind", ["pipe", "link", "sparse"])
def test_other_file_in_the_notebooks_place_is_replaced(gather, tmp_path, into, kind):
    there = into / "a_1" / HW / IPYNB
    there.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("another's")
    if kind == "pipe":
        os.mkfifo(there)
    elif kind == "link":
        there.symlink_to(elsewhere)
    else:
        with there.open("wb") as file:
            file.truncate(1 << 50)
        os.utime(there, (0, 0))
    lines = gather({f"a_1_1_{IPYNB}": "ada", f"b_2_2_{IPYNB}": "bo"}).lines
    assert [line.outcome for line in lines] == [Outcome.REPLACED, Outcome.COLLECTED]
    assert collected(into) == {"a_1": "ada", "b_2": "bo"}
    assert elsewhere.read_text() == "another's"


@pytest.mark.parametrize("place", ["a_1", f"a_1/{HW}"])
def test_link_in_the_class_is_not_followed(gather, tmp_path, into, place):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (into / place).parent.mkdir(parents=True)
    (into / place).symlink_to(elsewhere)
    ada, bo = gather({f"a_1_1_{IPYNB}": "ada", f"b_2_2_{IPYNB}": "bo"}, force=True).lines
    assert (ada.outcome, bo.outcome) == (Outcome.PROBLEM, Outcome.COLLECTED)
    assert "is a link" in ada.remark
    assert not list(elsewhere.iterdir())


def test_place_that_cannot_be_written_costs_one_student(gather, into):
    into.mkdir()
    (into / "bo").write_text("a file")
    (into / "cy" / HW / IPYNB).mkdir(parents=True)
    told = gather({f"{s}/{IPYNB}": s for s in ("ada", "bo", "cy", "di")})
    assert set(problems(told)) == {"bo", "cy"}
    assert {line.student for line in told.lines} == {"ada", "bo", "cy", "di"}


def test_unchanged_notebook_keeps_its_first_time(gather, into):
    def step(date, content="same", **options):
        gather({f"ada/{IPYNB}": content}, date=date, zone=UTC, **options)
        moment = read_handed_in(into / "ada" / HW)
        return moment and (moment.month, moment.day)

    assert step(AUGUST) == (8, 1)
    assert step(JULY) == (7, 1)
    assert step(AUGUST) == (7, 1)
    assert step(NO_TIME) == (7, 1)
    assert step(AUGUST, force=True) == (8, 1)
    assert step((2026, 8, 2, 12, 0, 0), "changed") == (8, 2)
    (into / "ada" / HW / "timestamp.txt").write_text("no time")
    assert step(JULY, "changed") == (7, 1)


def test_unchanged_notebook_in_time_does_not_become_late(gather, into):
    def step(name):
        gather({f"{name}_{IPYNB}": "same"})
        return is_marked_late(into / "ada_1" / HW)

    assert [step("ada_1_2"), step("ada_LATE_1_3")] == [False, False]
    (into / "ada_1" / HW / IPYNB).unlink()
    assert [step("ada_LATE_1_3"), step("ada_LATE_1_3"), step("ada_1_3")] == [True, True, False]


@pytest.mark.parametrize("name", ["ada/{}", "ada_LATE_1_3_{}"])
@pytest.mark.parametrize("writes", [0, 1])
def test_interrupted_run_leaves_no_new_notebook_with_an_old_time(
    gather, into, monkeypatch, name, writes
):
    gather({name.replace("_LATE", "").format(IPYNB): "old"}, zone=UTC)
    new = {name.format(IPYNB): "new"}
    left = writes

    def write(path, data):
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        write_atomically(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(placing, "write_atomically", write)
        with pytest.raises(KeyboardInterrupt):
            gather(new, date=AUGUST, zone=UTC)
    gather(new, date=AUGUST, zone=UTC)
    ((student, text),) = collected(into).items()
    assert text == "new"
    moment = read_handed_in(into / student / HW)
    assert (moment and moment.month, is_marked_late(into / student / HW)) in [
        (8, False), (None, True),
    ]  # fmt: skip


# ---- the command ----


def test_command_shows_problems_first_and_exits_with_1(tmp_path, into):
    files = {f"s{number}_{number}_{number}_{IPYNB}": "x" for number in range(80)}
    path = make_zip(tmp_path / "s.zip", files | {"zed\x1b[2J_99_99_notes.txt": "x"})
    outcome = run("collect", "hw03", path, "--into", into)
    assert outcome.exit_code == 1
    assert "no notebook of this homework, only notes.txt" in outcome.stdout.splitlines()[1]
    assert "... and 20 more without trouble" in outcome.stdout
    assert "Names as of canvas: 80 collected, 1 problem" in outcome.stdout
    assert "\x1b" not in outcome.output
    assert len(collected(into)) == 80
    good = make_zip(tmp_path / "good.zip", {f"s_100_1_{IPYNB}": "y"})
    assert run("collect", "hw03", good, "--into", into).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hw99", ".", "--into", "x"], "no homework 'hw99'"),
        (["hw03", "no-such.zip", "--into", "x"], "there is no no-such.zip"),
        (["hw03", "text.zip", "--into", "x"], "is neither a folder nor a zip file"),
        (["hw03", "empty", "--into", "x"], "is empty"),
        (["hw03", ".", "--into", "./x"], "which is collected from"),
        (["hw03", ".", "--into", "/proc/x", "--roster", "no.csv"], "no.csv can't be read"),
        (["hw03", "in", "--into", "x", "--worksheet", "w.csv"], "a worksheet is Moodle's"),
    ],
)
def test_command_rejects_unusable_arguments_in_one_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.zip").write_text("no zip")
    (tmp_path / "empty").mkdir()
    make_folder(tmp_path / "in", {f"ada/{IPYNB}": "a"})
    (tmp_path / "w.csv").write_text('Identifier,"Full name","Last modified (submission)"\n')
    assert words in refused(run("collect", *arguments))
