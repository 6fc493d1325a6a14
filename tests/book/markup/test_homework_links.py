"""The id of a homework that has been released is a link to its notebook."""

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
