"""Interactive figures: the build checks their data and puts them into the page as a table."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from course_book.figures import assets

from tests.book.conftest import build_tiny_book
from tests.book.contents import ROOT

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
    figure = build_page(PAGE.format(data=json.dumps(DATA))).page.find(id="fig-live")
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
    assert "figures/query-key-value/query-key-value.js" in html
    assert "figures/" not in (folder / "other.html").read_text()
    served = folder / "_static" / "figures"
    lying = {f for k in ("js", "css") for f in Path(assets.__file__).parent.rglob(f"*.{k}")}
    copied = {f.relative_to(served).as_posix() for f in served.rglob("*") if f.is_file()}
    assert copied == assets.figure_assets().keys()
    assert lying == set(assets.figure_assets().values())


DEFERRED = """# Page

```{raw} html
<p>before</p>
<script type="application/json" id="a-model" data-deferred>{"a": "\\u00e9t\\u00e9"}</script>
<script type="application/json" id="small">{"stays": 1}</script>
```
"""


def test_deferred_data_leave_the_page_for_a_script(build_page):
    built = build_page(DEFERRED)
    script = (built.folder / "_static" / "models" / "a-model.js").read_bytes()
    name, written = re.fullmatch(
        rb'\(window\.courseModels \?\?= \{\}\)\["(.*?)"\] = (.*);\n', script
    ).groups()
    assert (name, json.loads(written)) == (b"a-model", {"a": "été"})
    [place] = re.findall(r'<script type="application/json" id="a-model">(.*?)</script>', built.html)
    digest = hashlib.sha256(script).hexdigest()[:8]
    expected = {"file": f"_static/models/a-model.js?v={digest}", "bytes": len(script)}
    assert json.loads(place) == expected
    assert "<p>before</p>" in built.html
    assert '<script type="application/json" id="small">{"stays": 1}</script>' in built.html


def test_a_figure_shows_the_data_of_another_page_and_loads_its_models(build_page, tmp_path):
    opening = {"src": ["a"], "written": ["un"], "looks": [[1.0]]}
    data = {"model": "m", "right": 0.9, "note": "", "kinds": {}, "opening": opening, "examples": [
        {"src": ["a"], "tgt": ["un"], "written": ["un"], "alignment": [],
         "src_agreements": [], "tgt_agreements": []},
    ]}  # fmt: skip
    figure = "```{interactive} living-transformer\n:data: s\n:page: other\n\nThere.\n```\n"
    raw = '<script type="application/json" id="{}"{}>{}</script>'
    shown = raw.format("s", "", json.dumps(data)) + raw.format("m", " data-deferred", "[1]")
    unnamed = raw.format("n", " data-deferred", "[2]")
    other = f"---\norphan: true\n---\n# Other\n\n```{{raw}} html\n{shown}{unnamed}\n```\n"
    scripts = build_page(f"# Page\n\n{figure}", other=other).page.figure.find_all("script")
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
    "empty": (EMPTY, "6 validation errors for QueryKeyValue"),
    "broken": (PAGE.format(data="{"), "Invalid JSON"),
    "short": (PAGE.format(data=json.dumps(DATA | {"words": ["a"]})), "data 'vectors': zip()"),
    "infinite": (PAGE.format(data=json.dumps(DATA | {"key": [[1e999]]})), "1 validation error"),
}


@pytest.fixture(scope="module")
def warnings(tmp_path_factory):
    """The lines of warnings from a build with every page of ``MALFORMED``."""
    pages = {name: page.replace("fig-live", f"fig-{name}") for name, (page, _) in MALFORMED.items()}
    folder = tmp_path_factory.mktemp("malformed")
    return build_tiny_book(folder, "# Page", warns=True, **pages).warnings.splitlines()


@pytest.mark.parametrize("name", MALFORMED)
def test_a_wrong_figure_is_an_error_of_the_build(warnings, name):
    message = MALFORMED[name][1]
    start = f"{name}.md:7: ERROR:"
    (place,) = (number for number, line in enumerate(warnings) if start in line)
    assert message in " ".join(warnings[place : place + 3])


def test_no_two_scripts_set_the_same_global_name():
    files = [file for kind in ("js", "py") for file in (ROOT / "book").rglob(f"*.{kind}")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    names = [name for text in texts for name in {*re.findall(r"window\.(course\w+) = ", text)}]
    assert len(names) > 30
    assert sorted(names) == sorted(set(names))
