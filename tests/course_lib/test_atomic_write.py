"""A file is there whole or not at all."""

import errno
from pathlib import Path

import pytest

from course_lib.atomic_write import atomic_write


def test_two_who_write_one_file_do_not_mix_their_bytes(tmp_path):
    file = tmp_path / "new" / "file"
    with atomic_write(file) as first:
        first.write_text("first")
        with atomic_write(file) as second:
            second.write_text("second")
        assert file.read_text() == "second"
    assert file.read_text() == "first"
    assert list(file.parent.iterdir()) == [file]


def test_a_full_disk_names_the_file_that_people_know(tmp_path):
    place = tmp_path / "grades.csv"
    told = pytest.raises(OSError, match=r"No space left on device: '.*grades\.csv'")
    with told, atomic_write(place):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/", "", "."])
def test_path_that_is_no_file_is_rejected(place):
    with pytest.raises(IsADirectoryError), atomic_write(Path(place)):
        pass
