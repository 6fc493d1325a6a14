"""Submissions that arrive in a class's folder are reported when whole, and again after a change."""

import os
from pathlib import Path

import pytest

from autograder.cli import watch as arrivals
from autograder.cli.watch import Arrivals
from tests.autograder.conftest import DOUBLE, notebook

RIGHT = notebook(("double", "def double(x):\n    return x + x"))
WRONG = notebook(("double", "def double(x):\n    return x"))


class Folder:
    """A class's folder that is watched for arrivals while a test changes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def told(self, *happens) -> list[list[str]]:
        """Call the functions one by one; return the students reported at first and after each."""
        arrivals = Arrivals(self.path, DOUBLE)
        told = [list(arrivals.look())]
        for happen in happens:
            happen()
            told.append(list(arrivals.look()))
        assert not arrivals.look()
        return told

    def notebook(self, student: str) -> Path:
        return self.path / student / DOUBLE.id / f"{DOUBLE.id}.ipynb"

    def hand_in(self, student: str, data: bytes) -> None:
        self.notebook(student).parent.mkdir(parents=True, exist_ok=True)
        self.notebook(student).write_bytes(data)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(arrivals, "_PATIENCE_SECONDS", 1000.0)
    return Folder(tmp_path / "class")


def test_skipped_arrivals_are_reported_later(folder):
    folder.hand_in("ada", RIGHT)
    arrivals = Arrivals(folder.path, DOUBLE)
    assert [list(arrivals.look(but={"ada"})), list(arrivals.look())] == [[], ["ada"]]


def test_a_file_with_its_old_time_and_size_is_told_again(folder):
    folder.hand_in("ada", RIGHT)
    path = folder.notebook("ada")
    times = path.stat()

    def copy() -> None:
        while path.stat().st_ctime_ns == times.st_ctime_ns:  # clocks of files may tick slowly
            folder.hand_in("ada", RIGHT.replace(b"x + x", b"x * x"))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert folder.told(copy) == [["ada"], ["ada"]]


def test_half_written_submission_waits_until_it_is_whole(folder):
    parts = [RIGHT[:end] for end in (0, 1, len(RIGHT) // 2, len(RIGHT) - 1)]
    happens = [lambda part=part: folder.hand_in("ada", part) for part in parts]
    told = folder.told(*happens, lambda: folder.hand_in("ada", RIGHT))
    assert told == [[], [], [], [], [], ["ada"]]


def test_broken_or_missing_files_are_reported_when_arrivals_stop(folder, monkeypatch):
    folder.hand_in("ada", b"{broken")
    folder.notebook("bo").parent.mkdir(parents=True)

    def grow_old() -> None:
        monkeypatch.setattr(arrivals, "_PATIENCE_SECONDS", -1000.0)

    told = folder.told(grow_old, lambda: None, lambda: folder.hand_in("bo", RIGHT))
    assert told == [[], ["ada", "bo"], [], ["bo"]]
