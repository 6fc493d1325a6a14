"""A file is there whole or not at all."""

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
