"""Is the theme's search for what scrolls taken out of its script, and told where it isn't found?"""

from pathlib import Path

import pydata_sphinx_theme
import pytest
from course_book.site.lean_scripts import SCRIPT, without_search

from tests.book.small_book import depends_on_small_book

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"


def test_the_themes_script_looks_for_nothing_that_scrolls():
    script = (THEME / SCRIPT).read_text("utf-8")
    leaner = without_search(script)
    assert '["pre",' in script
    assert '["pre",' not in leaner
    assert len(script) - 200 < len(leaner) < len(script)
    assert without_search(leaner) == leaner


@depends_on_small_book
def test_a_built_book_has_the_leaner_script(published):
    script = (published / "_static" / SCRIPT).read_text("utf-8")
    assert script == without_search(script)


def test_another_script_is_told():
    with pytest.raises(ValueError, match="another way"):
        without_search("const found = [];")
