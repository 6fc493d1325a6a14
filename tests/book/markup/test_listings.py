"""The foot of a listing: its contract, its checks, and the whole file."""

from bs4 import BeautifulSoup

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
    assert built.warnings == ""
    page = BeautifulSoup(built.html, "lxml")
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
