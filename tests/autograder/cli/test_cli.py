"""The command line rejects wrong arguments, writes files and prints results."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from autograder.class_run import run as class_run
from autograder.class_run import similarity
from autograder.cli import grading
from autograder.cli.app import app
from autograder.cli.commands import doctor
from autograder.cli.errors import alone_in
from autograder.cli.terminal import print_grades
from autograder.gradebook import writer
from autograder.reports import class_outputs
from autograder.sandbox.zygote import SandboxError
from tests.autograder.command_line import contents, refused, run
from tests.autograder.graded_class import HOMEWORK, PATCHES, make_class, result, standings_of
from tests.daily import with_proofs

ROOT = Path(__file__).parents[3]
HW = "hw03-self-attention"


@pytest.fixture
def submissions(tmp_path):
    folder = tmp_path / "class"
    (folder / "ada" / HW).mkdir(parents=True)
    return folder


@pytest.fixture
def grade(submissions, tmp_path):
    """Return a function that runs ``grade hw03`` with more options, and returns its outcome."""

    def grade(*options, submissions=submissions, out=tmp_path / "out"):
        return run("grade", "hw03", "--submissions", submissions, "--out", out, *options)

    return grade


@pytest.mark.parametrize("command", ["grade hw99 --submissions . --out x", "release hw99"])
def test_an_unknown_homework_is_refused_and_the_known_are_named(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = refused(run(*command.split()))
    assert line.startswith("Error: no homework 'hw99'")
    assert HW in line
    assert list(tmp_path.iterdir()) == []


def test_a_homework_that_was_never_released_is_refused_before_anybody_is_graded(
    grade, tmp_path, monkeypatch
):
    course = tmp_path / "course"
    (course / "solutions").mkdir(parents=True)
    shutil.copyfile(ROOT / "solutions" / f"{HW}.py", course / "solutions" / f"{HW}.py")
    monkeypatch.setattr("autograder.cli.grading.ROOT", course)
    line = refused(grade())
    assert line == f"Error: {HW} was never released: first run make release HW=hw03"
    assert not (tmp_path / "out").exists()


def test_an_empty_class_is_refused(grade, tmp_path):
    (tmp_path / "empty").mkdir()
    line = refused(grade(submissions=tmp_path / "empty"))
    assert f"<student>/{HW}/{HW}.ipynb" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["file", "file/below", "class/out", "/proc/out"])
def test_an_out_that_can_be_no_folder_of_results_is_refused(grade, submissions, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    line = refused(grade(out=tmp_path / place))
    assert str(tmp_path / place) in line
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(p.name for p in submissions.iterdir()) == ["ada"]


def test_a_book_address_that_is_none_is_refused(grade, tmp_path):
    line = refused(grade("--book-url", "javascript:alert(1)"))
    assert "book_url" in line
    assert "--out" in refused(grade("--book-url", "é" * 300, out="/proc/out"))  # a long path is one
    assert not (tmp_path / "out").exists()


def test_a_gpu_is_the_workers_affair_where_a_scheduler_grades(graded, grade, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    elsewhere = ("--scheduler", "tcp://127.0.0.1:8786", "--trusted-network")
    outcome = grade("--device", "cuda", *elsewhere)
    assert outcome.exit_code == 0, outcome.output
    assert graded[0][1].device == "cuda"


def test_without_bubblewrap_nothing_starts(grade, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    line = refused(grade())
    assert "apt-get install bubblewrap" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--workers", "0"), ("--time-limit", "0"), ("--time-limit", "inf"), ("--device", "tpu"),
    ],
)  # fmt: skip
def test_an_option_out_of_range_is_refused(grade, tmp_path, wrong):
    outcome = grade(*wrong)
    assert outcome.exit_code == 2
    assert wrong[0] in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not (tmp_path / "out").exists()


COMMANDS = [command.name for command in app.registered_commands]


@pytest.mark.parametrize("command", with_proofs(COMMANDS, set(COMMANDS) - {"grade"}))
def test_help_shows_examples(command):
    outcome = run(command, "--help")
    assert outcome.exit_code == 0
    assert f"python -m autograder {command}" in outcome.stdout


@pytest.mark.parametrize(
    ("command", "said", "unsaid"),
    [
        ("regrade", "Where grading wrote.", "made if it is not there"),
        ("doctor", "[default: (what nbgrader_config.py says, else SQLite)]", "--out"),
    ],
)
def test_help_describes_only_options_of_its_command(command, said, unsaid):
    told = " ".join(run(command, "--help", env={"COLUMNS": "400"}).stdout.split())
    assert said in told
    assert unsaid not in told


class Recorder:
    """Replaces ``GradebookWriter``: keeps results in ``recorded``.

    At the end it raises a ``GradebookError`` with the message ``refusal``, unless that is empty.
    """

    refusal = ""

    def __init__(self, *places, **options):
        self.recorded = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.refusal and error is None:
            assert len(self.recorded) == 9
            raise writer.GradebookError(self.refusal)

    def record(self, made):
        self.recorded.append(made)


@pytest.fixture
def graded(monkeypatch):
    """Replace grading by nine finished results; return the list of its calls.

    Each call is a pair: the class's folder, and the grading options.
    """
    calls = []

    def grade_class(homework, submissions, options, *, on_start, on_result, **rest):
        calls.append((submissions, options))
        results = make_class()
        on_start(len(results))
        for made in results:
            on_result(made)
        return results

    monkeypatch.setattr(class_run, "grade_class", grade_class)
    monkeypatch.setattr(writer, "GradebookWriter", Recorder)
    monkeypatch.setattr(similarity, "flag_similar", lambda results, *rest: results)
    monkeypatch.setattr(grading, "load_homework", lambda *given: HOMEWORK)
    return calls


def test_a_scheduler_that_cannot_work_is_refused(graded, grade, tmp_path):
    assert "must begin with tcp://" in refused(grade("--scheduler", "localhost:8786"))
    assert not graded
    assert not (tmp_path / "out").exists()


def test_grades_writes_everything_and_says_where(graded, grade, submissions, tmp_path):
    out = tmp_path / "out"
    options = ("--workers", 3, "--time-limit", 900, "--no-sandbox", "--seed", 7)
    outcome = grade(*options, "--book-url", "https://example.org")
    assert outcome.exit_code == 0, outcome.output
    ((given, options),) = graded
    assert given == submissions
    assert (options.workers, options.isolated, options.seed) == (3, False, 7)
    assert options.device == "cpu"
    assert options.limits.check_seconds == 900
    assert options.limits.submission_seconds == 3600
    assert "TrustedJudge.root" in (out / "nbgrader" / "nbgrader_config.py").read_text()
    for name in ("grades.csv", "report.html", "feedback/ben/hw00-double.html"):
        assert (out / name).stat().st_size > 100
    assert (
        "https://example.org/doubling.html"
        in (out / "feedback" / "ben" / "hw00-double.html").read_text()
    )
    assert len(list((out / "feedback").iterdir())) == 9
    table, _, places = outcome.stdout.partition("Where to look")
    assert [line.split()[:3] for line in table.splitlines()[:3]] == [
        ["student", "score", "of"], ["ada", "3", "6"], ["ben", "1", "6"],
    ]  # fmt: skip
    assert "✓✗…" in table
    words = "9 submissions, 1 unreadable, median 1 of 3 points without written answers, 1 flagged"
    assert words in table
    for name in ("grades.csv", "report.html", "feedback", "nbgrader/gradebook.db"):
        assert str(out / name) in places
    assert "Grading 9/9: olu" in outcome.stderr  # plain lines, for no terminal reads them
    assert "\x1b" not in outcome.output


def test_a_gradebook_that_refuses_loses_nothing(graded, grade, tmp_path, monkeypatch):
    words = "Traceback (most recent call last):\n  x\nError: locked"
    monkeypatch.setattr(Recorder, "refusal", words)
    outcome = grade()
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1].endswith("not complete: Error: locked")
    assert "ada" in outcome.stdout
    assert (tmp_path / "out" / "grades.csv").exists()


def test_outputs_come_all_or_not_at_all(graded, grade, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert grade().exit_code == 0
    before = contents(out)

    def fail(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(class_outputs, "write_marks", fail)
    assert grade().exit_code != 0
    assert contents(out) == before


@pytest.mark.parametrize("command", ["grade", "regrade", "report", "feedback"])
def test_one_command_at_a_time_works_in_a_folder(graded, submissions, tmp_path, command):
    out = tmp_path / "out"
    arguments = [command, "hw03", "--out", out]
    arguments += ["--submissions", submissions] if "grade" in command else []
    with alone_in(out):
        (out / ".unfinished-x").write_text("the other's")
        line = refused(run(*arguments))
        assert line == f"Error: another command is working in {out}: wait until it has ended"
        assert (out / ".unfinished-x").read_text() == "the other's"
    assert not graded
    assert [path.name for path in out.iterdir()] == [".unfinished-x"]


def test_a_killed_command_keeps_nobody_out(tmp_path):
    out = tmp_path / "new" / "out"
    program = (
        "import os, sys; from pathlib import Path\n"
        "from autograder.cli.errors import alone_in\n"
        "with alone_in(Path(sys.argv[1])): os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, out], cwd=ROOT, timeout=600, check=False)
    assert [path.name for path in out.iterdir()] == [".lock"]
    with alone_in(out):
        pass
    assert list(out.iterdir()) == []
    with alone_in(tmp_path / "a" / "b"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_student_cannot_speak_to_the_terminal():
    told = io.StringIO()
    console = Console(file=told, markup=False, emoji=False, highlight=False, width=110)
    name = "[bold red]:boom:[/]\x1b]0;pwned\x07\x1b[2J\u202eevil\r"
    print_grades(
        standings_of([result(name, flags=(PATCHES,), error="[link=file:x]\x1b[31m")]), console
    )
    shown = told.getvalue()
    assert "[bold red]:boom:[/]" in shown
    assert "[link=file:x]" in shown
    assert not set("\x1b\x07\r\u202e") & set(shown)


def test_doctor_says_how_to_mend(monkeypatch):
    def missing():
        raise SandboxError("bubblewrap is not installed; install it with: sudo apt-get ...")

    monkeypatch.setattr("autograder.sandbox.sandbox.check_sandbox", missing)
    monkeypatch.setattr(doctor, "_PACKAGES", ("no-such-package",))
    outcome = run("doctor")
    assert outcome.exit_code == 1
    assert "sudo apt-get" in outcome.stdout
    assert "make install GROUPS=judge" in outcome.stdout
    assert "can't run here yet" in outcome.stdout


@pytest.mark.parametrize(
    ("version", "state"),
    [((3, 11, 1), "missing"), ((3, 11, 2), "ok"), ((3, 14, 9), "ok"), ((3, 15, 0), "missing")],
)
def test_doctor_looks_at_python(monkeypatch, version, state):
    monkeypatch.setattr(sys, "version_info", version)
    found = doctor._python()
    assert (found.state, found.found) == (state, ".".join(map(str, version)))
    assert bool(found.fix) == (state == "missing")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--db", "sqlite:////no/such/folder/x.db"], "unable to open database file"),
        (["--db", "sqlite:////etc/passwd"], "not a database"),
        (["--db", "postgresql://[::1"], "address is not valid"),
        (["--db", "sqlite:///\0"], "can't be used"),
        (["--scheduler", "localhost:8786"], "must begin with tcp://"),
    ],
)
def test_doctor_checks_the_named_requirements(monkeypatch, arguments, words):
    works = doctor.Finding(subject="sandbox", state="ok", found="")
    monkeypatch.setattr(doctor, "_sandbox", lambda: works)
    outcome = run("doctor", *arguments)
    assert outcome.exit_code == 1
    assert words in " ".join(outcome.stdout.split())


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        (None, None, ""),
        ("", "ok", "0 homeworks have a date"),
        ("[due]\nhw03-self-attention = tomorrow\n", "missing", "dates.toml"),
        ("[due]\nhw99-none = 2026-10-12T23:59:00\n", "missing", "hw99-none"),
    ],
)
def test_doctor_reads_the_dates(tmp_path, text, state, words):
    if text is not None:
        (tmp_path / "dates.toml").write_text(text)
    found = doctor._dates(tmp_path)
    assert [finding.state for finding in found] == ([state] if state else [])
    assert words in "".join(finding.found + finding.fix for finding in found)


def test_the_module_runs():
    command = [sys.executable, "-m", "autograder", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "python -m autograder" in done.stdout


def test_doctor_compares_versions_with_the_pins(tmp_path):
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "judge.txt").write_text("nbgrader==0.0.1 \\\n    --hash=x\n")
    found = {finding.subject: finding for finding in doctor._packages(tmp_path)}
    assert found["nbgrader"].state == "without"
    assert "tested with 0.0.1" in found["nbgrader"].fix
    assert found["torch"].state == "ok"
