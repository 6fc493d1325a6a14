"""Run every chapter's notebook:  python -m tests.book.run_notebooks [CHAPTER ...]

By hand and once a week: together they take as long as a build from scratch. The book is built.
"""

import sys
import time

from tests.book.conftest import SITE
from tests.book.contents import pages_with_code
from tests.book.notebooks.test_chapter_notebooks import run_notebook

if __name__ == "__main__":
    for chapter in sys.argv[1:] or pages_with_code():
        begun = time.perf_counter()
        run_notebook(SITE / "_sources" / "book" / f"{chapter}.ipynb")
        print(f"{chapter:24s}{time.perf_counter() - begun:6.1f} s", flush=True)
