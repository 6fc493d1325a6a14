"""The id of a homework that has been released is a link to its notebook."""

import json

from bs4 import BeautifulSoup

PAGE = "# Masks\n\nHomework 3, `hw03-masks`, and not `hw04-later`, `hw03` or `other`.\n"


def test_a_released_homework_is_linked(build_page, tmp_path):
    folder = tmp_path / "source" / "assignments" / "hw03-masks"
    folder.mkdir(parents=True)
    (folder / "hw03-masks.ipynb").write_text("{}")
    built = build_page(PAGE, left_out=["assignments"])
    assert built.warnings == ""
    (link,) = BeautifulSoup(built.html, "html.parser").select("p a.download")
    assert link.text == "hw03-masks"
    assert (tmp_path / "out" / "html" / link["href"]).read_text() == "{}"


BADGES = (
    "# Homework 3: Masks\n\n[![Open in Colab](https://colab.example/badge.svg)]"
    "(https://colab.example/hw03) [Open in JupyterHub](https://hub.example/pull?a=1&b=2)\n\n[x](y)"
)


def test_the_first_link_of_a_page_leads_also_to_where_the_notebook_can_be_opened(
    build_page, tmp_path
):
    folder = tmp_path / "source" / "assignments" / "hw03-masks"
    folder.mkdir(parents=True)
    notebook = {"cells": [{"cell_type": "markdown", "source": BADGES.splitlines(keepends=True)}]}
    (folder / "hw03-masks.ipynb").write_text(json.dumps(notebook))
    built = build_page(PAGE + "\nOnce more, `hw03-masks`.\n", left_out=["assignments"])
    assert built.warnings == ""
    first, second = BeautifulSoup(built.html, "html.parser").select("section > p")
    assert first.text.startswith("Homework 3, hw03-masks (open in Colab, JupyterHub), and not")
    assert [a["href"] for a in first.select("a.reference.external")] == [
        "https://colab.example/hw03",
        "https://hub.example/pull?a=1&b=2",
    ]
    assert "open in" not in second.text
    assert not BeautifulSoup(built.html, "html.parser").select('img[src^="http"]')
