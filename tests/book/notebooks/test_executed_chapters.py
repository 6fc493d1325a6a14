"""Chapters with stable outputs show the same outputs when nbval runs them again."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_cache import get_cache

from tests.book.contents import in_book

ROOT = Path(__file__).parents[3]
STABLE = [pytest.param(name, marks=in_book(name)) for name in ("bleu", "masking", "self-attention")]
NBVAL = ("-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "--nbval-current-env")


def executed(site: Path, chapter: str) -> nbformat.NotebookNode:
    """Return the notebook that the last build ran, with its outputs."""
    (folder,) = (site.parent / "chapter-outputs" / "book" / chapter).iterdir()
    cache = get_cache(folder)
    newest = max(cache.list_cache_records(), key=lambda record: record.created)
    return cache.get_cache_bundle(newest.pk).nb


@pytest.mark.proof
@pytest.mark.parametrize("chapter", STABLE)
def test_a_chapter_shows_the_same_again(site, tmp_path, chapter):
    notebook = tmp_path / f"{chapter}.ipynb"
    nbformat.write(executed(site, chapter), notebook)
    command = [sys.executable, *NBVAL, "--nbval", "--nbval-cell-timeout", "1800", str(notebook)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
