"""Listings of code that students write are folded."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from course_book.markup.graded_listings import homework_of

SOLUTIONS = Path(__file__).parents[3] / "solutions"
PAGE = """# Masks

```{literalinclude} course_lib/layers/masks.py
:language: python
:pyobject: causal_mask
:caption: course_lib/layers/masks.py
```

```{literalinclude} course_lib/layers/masks.py
:language: python
:pyobject: check_mask
```
"""


@pytest.mark.parametrize(
    ("pyobject", "homework"),
    [
        ("causal_mask", "hw03-self-attention"),
        ("MultiHeadAttention.forward", "hw03-self-attention"),
        ("greedy", "hw01-recurrent-seq2seq"),  # under another name in the homework
        ("check_mask", None),
        ("", None),
    ],
)
def test_the_homework_of_a_definition_is_found(pyobject, homework):
    found = homework_of(pyobject, SOLUTIONS)
    assert (found and found.stem) == homework


def test_only_graded_code_is_folded(build_page, tmp_path):
    (tmp_path / "source" / "solutions").mkdir(parents=True)
    exercise = '# %% solution="causal_mask" of="course_lib.layers.masks"\n'
    (tmp_path / "source" / "solutions" / "hw03-attention.py").write_text(exercise)
    built = build_page(PAGE)
    assert built.warnings == ""
    page = BeautifulSoup(built.html, "lxml")
    (fold,) = page.select("details.course-listing")
    words = "You write causal_mask yourself in homework 3: show the library's"
    assert fold.summary.text == words
    assert "def causal_mask" in fold.pre.text
    assert len(page.select("pre:not(.course-contract pre)")) == 2
    assert not fold.has_attr("open")
