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
    """Return a function that makes a download of ``files``, contents by name, and collects it.

    ``listed`` is the text of a class list; ``made`` is ``make_zip`` or ``make_folder``; ``date``
    is that of files in a zip; ``target`` is the class's folder. It returns the ``Collection``.
    """
    numbers = itertools.count(1)

    def gather(files, listed="", *, made=make_zip, date=JULY, target=into, **options):
        source = tmp_path / f"download-{next(numbers)}"
        source = made(source, files) if made is make_folder else made(source, files, date)
        roster = class_list(tmp_path, listed) if listed else None
        return collect(source, HW, target, roster=roster, **options)

    return gather
