"""Listings: condensed, with their contract and the whole file; folded if students write them."""

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
:start-at: if mask
```

```{literalinclude} course_lib/models/bert_heads.py
:language: python
:pyobject: MaskedLanguageModelHead
```
"""


def test_a_listing_is_condensed_and_the_rest_is_folded(build_page, tmp_path):
    built = build_page(PAGE)
    page = built.page
    shown = page.select_one(".literal-block-wrapper pre").text
    assert shown.startswith("def causal_mask(")
    assert "Args:" not in shown
    assert "raise" not in shown
    function, cls = page.select("details.course-contract")
    assert not function.has_attr("open")
    assert function.summary.text == "Contract and checks of arguments"
    terms = {dt.text.rstrip(":") for dt in function.select("dt")}
    assert {"Parameters", "Returns", "Raises"} <= terms
    assert function.select("code.literal")
    assert "``" not in function.text
    assert "raise ValueError" in function.select_one("pre").text
    assert "forward" in [name.text for name in cls.select(".sig-name")]
    assert not page.select(".course-listing-foot")[1].select("details")  # a part of a function
    links = {link["href"] for link in page.select(".course-listing-foot > a")}
    assert links == {"course_lib/layers/masks.html", "course_lib/models/bert_heads.html"}
    file = BeautifulSoup((built.folder / "course_lib/layers/masks.html").read_text(), "lxml")
    assert "def padding_mask" in file.pre.text
    assert '"""' in file.pre.text
    doctree = (tmp_path / "out" / "doctrees" / "index.doctree").read_bytes()
    assert b"BuildEnvironment" not in doctree


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
    page = build_page(PAGE).page
    (fold,) = page.select("details.course-listing")
    words = "You write causal_mask yourself in homework 3: show the library's"
    assert fold.summary.text == words
    assert "def causal_mask" in fold.pre.text
    assert len(page.select("pre:not(.course-contract pre)")) == 3
    assert not fold.has_attr("open")
