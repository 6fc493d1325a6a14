"""Collecting a made download into a class's folder."""

import itertools
from pathlib import Path

import pytest

from autograder.collecting.collect import collect
from tests.autograder.collecting.downloads import HW, JULY, class_list, make_folder, make_zip


@pytest.fixture
def into(tmp_path) -> Path:
    return tmp_path / "class"


@pytest.fixture
def gather(tmp_path, into):
    """Return a function that collects a download, files by name, into a class's folder.

    ``listed`` are the rows of a class list; ``made`` makes the download, a folder or a zip.
    """
    numbers = itertools.count(1)

    def gather(files, listed="", *, made=make_zip, date=JULY, target=into, **options):
        source = tmp_path / f"download-{next(numbers)}"
        source = made(source, files) if made is make_folder else made(source, files, date)
        roster = class_list(tmp_path, listed) if listed else None
        return collect(source, HW, target, roster=roster, **options)

    return gather
