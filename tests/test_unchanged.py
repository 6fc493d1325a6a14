"""The plugin deselects unchanged tests, and only those."""

import os
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = """
import pathlib, pytest

@pytest.mark.depends_on("read")
@pytest.mark.parametrize("word", ["one", "two"])
def test_words(word, pytestconfig):
    assert word in (pytestconfig.rootpath / "read" / "words.txt").read_text()

@pytest.mark.depends_on("read")
@pytest.mark.proof
def test_long():
    pass

def test_of_unknown_files():
    pass
"""


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def run(pytester):
    """A function that runs ``TESTS`` with options of pytest, and returns the counts of outcomes."""
    pytester.makeini("[pytest]\nmarkers = proof")
    pytester.makepyfile(test_words=TESTS)
    (pytester.path / "read").mkdir()
    (pytester.path / "read" / "words.txt").write_text("one, two")

    def counted(*options):
        result = pytester.runpytest("-p", "tests.unchanged", *options)
        return result.parseoutcomes()

    return counted


LEAVE_OUT = "--leave-out-unchanged"
ALL = {"passed": 4}
CHANGED_ALONE = {"passed": 2, "deselected": 2}


def test_passed_tests_are_left_out_with_the_option(run, pytester):
    assert run(LEAVE_OUT) == ALL
    again = pytester.runpytest("-p", "tests.unchanged", LEAVE_OUT)
    assert again.parseoutcomes() == CHANGED_ALONE
    again.stdout.fnmatch_lines(["2 tests left out,*make test ALL=1"])
    assert run() == ALL


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "read" / "words.txt").write_text("two, one"),
        lambda root: (root / "read" / "new.txt").write_text(""),
        lambda root: (root / "read" / "words.txt").rename(root / "read" / "moved.txt"),
        lambda root: (root / "test_words.py").write_text(TESTS + "# edited"),
        lambda root: (root / "conftest.py").write_text("# new"),
        lambda root: (root / "pyproject.toml").write_text("# new"),
    ],
    ids=["edited", "new", "moved", "the tests", "conftest.py", "settings"],
)
def test_changed_dependency_runs_the_test_again(run, pytester, change):
    run()
    change(pytester.path)
    assert "deselected" not in run(LEAVE_OUT)


def test_other_change_does_not_run_the_test_again(run, pytester):
    run()
    (pytester.path / "elsewhere.txt").write_text("")
    assert run(LEAVE_OUT) == CHANGED_ALONE


def test_other_machine_runs_the_test_again(run, monkeypatch):
    run()
    monkeypatch.setattr("tests.unchanged.surroundings", lambda: "another Python")
    assert run(LEAVE_OUT) == ALL


def test_only_passed_tests_are_left_out(run, pytester):
    run("-k", "one")
    assert run(LEAVE_OUT) == {"passed": 3, "deselected": 1}


def test_failure_removes_the_stamp_of_its_group(run, pytester):
    run()
    words = pytester.path / "read" / "words.txt"
    words.write_text("one")
    assert run(LEAVE_OUT) == {"passed": 3, "failed": 1}
    assert run(LEAVE_OUT) == {"passed": 3, "failed": 1}
    words.write_text("one, two")
    assert run(LEAVE_OUT) == CHANGED_ALONE


@pytest.mark.parametrize("body", ["pytest.skip()", "pytest.xfail()"])
def test_skipped_test_has_not_passed(pytester, body):
    pytester.makepyfile(
        f"import pytest\n@pytest.mark.depends_on('*.py')\ndef test_it():\n    {body}"
    )
    before = pytester.runpytest("-p", "tests.unchanged", LEAVE_OUT).parseoutcomes()
    again = pytester.runpytest("-p", "tests.unchanged", LEAVE_OUT).parseoutcomes()
    assert before == again


def test_failure_without_a_change_removes_the_stamp(pytester):
    pytester.makepyfile(
        "import os, pytest\n@pytest.mark.depends_on('*.py')\n"
        "def test_it():\n    assert not os.path.exists('not-named')"
    )
    for is_there in (False, True, False):
        (pytester.path / "not-named").touch() if is_there else None
        pytester.runpytest("-p", "tests.unchanged")
        (pytester.path / "not-named").unlink(missing_ok=True)
        stamps = list((pytester.path / "build" / "stamps" / "tests").iterdir())
        assert bool(stamps) != is_there


def test_test_that_reads_an_unnamed_file_is_not_stamped(run, pytester):
    (pytester.path / "read" / "words.txt").rename(pytester.path / "words.txt")
    (pytester.path / "read" / "other.txt").touch()
    pytester.makepyfile(test_words=TESTS.replace('"read" / "words.txt"', '"words.txt"'))
    run()
    assert run(LEAVE_OUT) == ALL


def test_dependency_changed_during_the_run_is_not_stamped(run, pytester):
    touch = "import pathlib\npathlib.Path('read', 'words.txt').touch()\n"
    pytester.makepyfile(test_touch=f"def test_touch():\n    exec({touch!r})")
    run()
    assert run(LEAVE_OUT) == {"passed": 5}


def test_missing_dependency_is_an_error(pytester):
    pytester.makepyfile(
        "import pytest\n@pytest.mark.depends_on('red/*.txt')\ndef test_it():\n    pass"
    )
    result = pytester.runpytest("-p", "tests.unchanged")
    result.stdout.fnmatch_lines(["*test_it depends on {'red/[*].txt'}*"])


def test_test_that_depends_on_an_unbuilt_page_runs(pytester):
    pytester.makepyfile(
        "import pytest\n@pytest.mark.depends_on('build/*.html')\ndef test_it():\n    pass"
    )
    for _ in range(2):
        ran = pytester.runpytest("-p", "tests.unchanged", LEAVE_OUT)
        ran.assert_outcomes(passed=1)


@pytest.mark.proof
def test_summary_counts_left_out_tests_with_xdist(run, pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = ("-p", "tests.unchanged", "-p", "xdist", "-n", "2", LEAVE_OUT)
    pytester.runpytest_subprocess(*command).assert_outcomes(passed=4)
    again = pytester.runpytest_subprocess(*command)
    again.assert_outcomes(passed=2)
    again.stdout.fnmatch_lines(["2 tests left out,*make test ALL=1"])


def test_stamp_unread_for_a_month_is_removed(run, pytester):
    stamps = pytester.path / "build" / "stamps" / "tests"
    stamps.mkdir(parents=True)
    month_old = time.time() - 31 * 24 * 3600
    (stamps / "forgotten").touch()
    os.utime(stamps / "forgotten", (month_old, month_old))
    assert run(LEAVE_OUT) == ALL
    (used,) = stamps.iterdir()
    os.utime(used, (month_old, month_old))
    assert run(LEAVE_OUT) == CHANGED_ALONE
    assert used.exists()
