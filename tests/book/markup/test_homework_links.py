"""The id of a released homework links to its notebook."""

import json

PAGE = (
    "# Masks\n\nHomework 3, `hw03-masks`, and not `hw04-later`, `hw03` or `other`.\n\n"
    "Once more, `hw03-masks`.\n"
)
BADGES = (
    "# Homework 3: Masks\n\n[![Open in Colab](https://colab.example/badge.svg)]"
    "(https://colab.example/hw03) [Open in JupyterHub](https://hub.example/pull?a=1&b=2)\n\n[x](y)"
)


def test_a_released_homework_is_linked_with_its_services_at_first(build_page, tmp_path):
    folder = tmp_path / "source" / "assignments" / "hw03-masks"
    folder.mkdir(parents=True)
    notebook = {"cells": [{"cell_type": "markdown", "source": BADGES.splitlines(keepends=True)}]}
    (folder / "hw03-masks.ipynb").write_text(json.dumps(notebook))
    built = build_page(PAGE, left_out=["assignments"])
    links = built.page.select("p a.download")
    assert [link.text for link in links] == ["hw03-masks"] * 2
    assert json.loads((built.folder / links[0]["href"]).read_text()) == notebook
    first, second = built.page.select("section > p")
    assert first.text.startswith("Homework 3, hw03-masks (open in Colab, JupyterHub), and not")
    assert [a["href"] for a in first.select("a.reference.external")] == [
        "https://colab.example/hw03",
        "https://hub.example/pull?a=1&b=2",
    ]
    assert "open in" not in second.text
    assert not built.page.select('img[src^="http"]')
