"""Below a listing: the contract, set as in the library's reference, checks, and the whole file."""

import pytest
from bs4 import BeautifulSoup

from tests.book.conftest import build_tiny_book

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


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    built = build_tiny_book(tmp_path_factory.mktemp("listings"), PAGE)
    assert built.warnings == ""
    return built


@pytest.fixture(scope="module")
def page(built):
    return BeautifulSoup(built.html, "lxml")


def test_a_listing_is_short_and_its_contract_one_press_away(page):
    shown = page.select_one(".literal-block-wrapper pre").text
    assert shown.startswith("def causal_mask(")
    assert "Args:" not in shown
    assert "raise" not in shown
    fold = page.select_one("details.course-contract")
    assert not fold.has_attr("open")
    assert fold.summary.text == "Contract and checks of arguments"
    assert {"Parameters", "Returns", "Raises"} <= {dt.text.rstrip(":") for dt in fold.select("dt")}
    assert fold.select("code.literal")
    assert "``" not in fold.text
    assert "raise ValueError" in fold.select_one("pre").text


def test_a_class_has_the_contracts_of_its_methods(page):
    fold = page.select("details.course-contract")[-1]
    assert "forward" in [name.text for name in fold.select(".sig-name")]


def test_a_part_of_a_function_stays_as_it_is(page):
    foot = page.select(".course-listing-foot")[1]
    assert not foot.select("details")
    assert foot.a.text == "Whole file"


def test_the_whole_file_has_a_page(page, built):
    links = {link["href"] for link in page.select(".course-listing-foot > a")}
    assert links == {"course_lib/layers/masks.html", "course_lib/models/bert_heads.html"}
    file = BeautifulSoup((built.folder / "course_lib/layers/masks.html").read_text(), "lxml")
    assert "def padding_mask" in file.pre.text
    assert '"""' in file.pre.text


def test_the_file_of_a_page_holds_nothing_of_the_book(build_page, tmp_path):
    build_page(PAGE)
    assert b"BuildEnvironment" not in (tmp_path / "out" / "doctrees" / "index.doctree").read_bytes()
