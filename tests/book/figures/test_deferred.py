"""Deferred data leave the page for a script of their own; the page says where they lie."""

import hashlib
import json
import re

PAGE = """# Page

```{raw} html
<p>before</p>
<script type="application/json" id="a-model" data-deferred>{"a": "\\u00e9t\\u00e9"}</script>
```

```{raw} html
<script type="application/json" id="small">{"stays": 1}</script>
```
"""


def test_the_page_keeps_the_place_and_the_script_holds_the_data(build_page, tmp_path):
    built = build_page(PAGE)
    assert not built.warnings
    script = (tmp_path / "out" / "html" / "_static" / "models" / "a-model.js").read_bytes()
    name, written = re.fullmatch(
        rb'\(window\.courseModels \?\?= \{\}\)\["(.*?)"\] = (.*);\n', script
    ).groups()
    assert (name, json.loads(written)) == (b"a-model", {"a": "été"})
    [place] = re.findall(r'<script type="application/json" id="a-model">(.*?)</script>', built.html)
    digest = hashlib.sha256(script).hexdigest()[:8]
    expected = {"file": f"_static/models/a-model.js?v={digest}", "bytes": len(script)}
    assert json.loads(place) == expected
    assert "été" not in built.html
    assert "<p>before</p>" in built.html
    assert '<script type="application/json" id="small">{"stays": 1}</script>' in built.html
