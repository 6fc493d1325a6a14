"""Interactive figures: their data is checked at build, and stands in the page as a table."""

import json

import pytest
from bs4 import BeautifulSoup
from course_book.figures.query_key_value.data import QueryKeyValue

from tests.book.conftest import build_tiny_book

DATA = {
    "words": ["a", "<b>"],
    "query": [[1.0, 0.0], [0.0, 1.0]],
    "key": [[2.0, 0.0], [0.0, 0.0]],
    "value": [[1.0], [-1.0]],
    "head_dim": 2,
    "note": "By hand.",
}
PAGE = """# Page

```{{raw}} html
<script type="application/json" id="vectors">{data}</script>
```

```{{interactive}} query-key-value
:data: vectors
:name: fig-live

Choose a **word**.
```
"""


def test_the_page_holds_a_table_of_the_weights(build_page):
    html, warnings, _ = build_page(PAGE.format(data=json.dumps(DATA)))
    assert warnings == ""
    figure = BeautifulSoup(html, "html.parser").find(id="fig-live")
    rows = [
        [cell.text for cell in row.find_all(["th", "td"])] for row in figure.table.find_all("tr")
    ]
    # softmax of (2, 0) / sqrt(2), and of (0, 0)
    assert rows == [["", "a", "<b>"], ["a", "0.80", "0.20"], ["<b>", "0.50", "0.50"]]
    assert figure.figcaption.strong.text == "word"
    assert "By hand." in figure.text


def test_only_pages_with_a_figure_load_its_scripts(build_page):
    html, _, folder = build_page(
        PAGE.format(data=json.dumps(DATA)), other="---\norphan: true\n---\n# Other"
    )
    assert "figures/query-key-value.js" in html
    assert "figures/" not in (folder / "other.html").read_text()


def test_a_figure_may_show_the_data_of_another_page_and_load_its_models(build_page, tmp_path):
    data = {"model": "m", "right": 0.9, "note": "", "examples": [
        {"src": ["a"], "tgt": ["un"], "written": ["un"], "alignment": [],
         "src_agreements": [], "tgt_agreements": []},
    ]}  # fmt: skip
    figure = "```{interactive} living-transformer\n:data: s\n:page: other\n\nThere.\n```\n"
    raw = '<script type="application/json" id="{}"{}>{}</script>'
    shown = raw.format("s", "", json.dumps(data)) + raw.format("m", " data-deferred", "[1]")
    unnamed = raw.format("n", " data-deferred", "[2]")
    other = f"---\norphan: true\n---\n# Other\n\n```{{raw}} html\n{shown}{unnamed}\n```\n"
    html, warnings, _ = build_page(f"# Page\n\n{figure}", other=other)
    assert warnings == ""
    scripts = BeautifulSoup(html, "html.parser").figure.find_all("script")
    (_, here), (_, place) = [(s["id"], json.loads(s.text)) for s in scripts]
    there = BeautifulSoup((tmp_path / "out" / "html" / "other.html").read_text(), "html.parser")
    assert here == data
    assert place == json.loads(there.find(id="m").text)


EMPTY = PAGE.format(data="{}")
MALFORMED = {
    "unknown": (EMPTY.replace("} query-key-value", "} nothing"), "no figure 'nothing'"),
    "bare": (EMPTY.replace(":data: vectors\n", ""), "':data:' must name"),
    "misnamed": (EMPTY.replace(":data: vectors", ":data: tensors"), 'id="tensors"'),
    "lost": (EMPTY.replace(":name:", ":page: nowhere\n:name:"), "must name a chapter"),
    "empty": (EMPTY, "expected an object with"),
    "broken": (PAGE.format(data="{"), "data 'vectors'"),
    "still": (
        PAGE.format(data=json.dumps(DATA)).replace(":name:", ":fallback: fig-none\n:name:"),
        "no static figure 'fig-none'",
    ),
}


@pytest.fixture(scope="module")
def warnings(tmp_path_factory):
    """What is said of a book with a page of each kind."""
    pages = {name: page.replace("fig-live", f"fig-{name}") for name, (page, _) in MALFORMED.items()}
    folder = tmp_path_factory.mktemp("malformed")
    return build_tiny_book(folder, "# Page", **pages).warnings.splitlines()


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_wrong_is_an_error_of_the_build(warnings, name):
    message = MALFORMED[name][1]
    assert any(f"{name}.md:7: ERROR:" in told and message in told for told in warnings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": ["a"]}, "words must hold at least 2"),
        ({"head_dim": 0}, "head_dim must be a whole number from 1"),
        ({"query": [[1.0, 0.0]]}, "query must hold 2 rows"),
        ({"key": [[1.0], [1.0]]}, "each row of key must hold 2 numbers"),
        ({"key": [[1.0, float("nan")], [1.0, 0.0]]}, "finite"),
        ({"value": [[0.0] * 7] * 2}, "width of value must be a whole number from 1 to 6"),
        ({"colour": "red"}, "expected an object"),
    ],
)
def test_data_of_the_wrong_form_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        QueryKeyValue.from_json(DATA | change)
